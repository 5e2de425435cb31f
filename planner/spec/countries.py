"""Names of countries, for a help that says the ISO code to write."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

_NAMES = """
AE United Arab Emirates, Emirates, UAE | AR Argentina | AT Austria, Österreich | AU Australia | BE Belgium | BG Bulgaria
BH Bahrain | BR Brazil, Brasil | CA Canada | CH Switzerland, Schweiz, Suisse | CL Chile | CN China | CO Colombia
CY Cyprus | CZ Czech Republic, Czechia | DE Germany, Deutschland, GER, DEU | DK Denmark, Danmark | EE Estonia | EG Egypt
ES Spain, España, ESP | FI Finland, Suomi | FR France, FRA | GB United Kingdom, Great Britain, England, GBR | GR Greece
HK Hong Kong | HR Croatia | HU Hungary | ID Indonesia | IE Ireland | IL Israel | IN India | IS Iceland
IT Italy, Italia, ITA | JP Japan, JPN | KE Kenya | KR South Korea, Korea | KZ Kazakhstan | LI Liechtenstein
LT Lithuania | LU Luxembourg | LV Latvia | MA Morocco | MT Malta | MX Mexico | MY Malaysia | NG Nigeria
NL Netherlands, The Netherlands, Holland, NLD | NO Norway, Norge | NZ New Zealand | PE Peru | PH Philippines
PL Poland, Polska | PT Portugal | QA Qatar | RO Romania | RS Serbia | SA Saudi Arabia, KSA | SE Sweden, Sverige
SG Singapore | SI Slovenia | SK Slovakia | TH Thailand | TR Turkey, Türkiye | TW Taiwan | UA Ukraine
US United States, United States of America, USA, America | UY Uruguay | VN Vietnam | ZA South Africa
EU European Union | EEA European Economic Area
"""


def _read(text: str) -> dict[str, str]:
    rows = (row.strip().partition(" ") for line in text.split("\n") for row in line.split("|") if row.strip())
    return {name.strip().lower(): code for code, _, names in rows for name in names.split(",")}


COUNTRY_CODES: Mapping[str, str] = MappingProxyType(_read(_NAMES))
"""Name (lower-cased) → ISO code or id of a group."""
