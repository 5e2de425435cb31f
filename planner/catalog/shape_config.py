"""Reading a published model config: typed fields, class defaults, and errors that name the field.

A config on a model hub omits what equals its class default, so a reader carries the defaults of the family it reads
for. A field that has neither a value nor a default is an error, never a guess.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NoReturn

from planner.errors import Fault, InputError

NOT_A_CONFIG = "C201"
UNKNOWN_ARCHITECTURE = "C202"
MISSING_FIELD = "C203"
BAD_VALUE = "C204"
UNSUPPORTED_VALUE = "C205"

WRAPPED = ("text_config", "llm_config", "language_config", "thinker_config")
"""Keys under which a multimodal config keeps its language model."""


def fault(code: str, message: str, field: str, help_text: str | None = None) -> InputError:
    """An InputError with one fault at `field`, to be raised."""
    return InputError([Fault(code=code, message=message, path=field, help=help_text)])


def is_whole(value: object) -> bool:
    """Whether a JSON value is a finite whole number."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return math.isfinite(value) and value == int(value)


class ConfigReader:
    """Fields of one config with the class defaults of its family.

    `config` is the language model's part; `outer` the whole file where the two differ. Every reading method takes
    alternative spellings of one field, of which the first that is present and not null counts. They raise InputError
    (C203 missing, C204 wrong type or range) naming the first spelling.
    """

    def __init__(
        self,
        config: Mapping[str, object],
        *,
        outer: Mapping[str, object] | None = None,
        defaults: Mapping[str, object] | None = None,
        name: str = "config",
    ) -> None:
        self.config, self.outer, self.defaults, self.name = config, outer or config, defaults or {}, name

    def renamed(self, names: Mapping[str, str], **more: object) -> ConfigReader:
        """The same config with fields under other names (`names` maps old to new), and `more` fields on top."""
        config = {names.get(key, key): value for key, value in self.config.items()} | more
        defaults = {names.get(key, key): value for key, value in self.defaults.items()}
        return ConfigReader(config, outer=self.outer, defaults=defaults, name=self.name)

    def part(self, key: str) -> ConfigReader | None:
        """A nested mapping of the whole config as a reader of its own, None where absent."""
        value = self.config.get(key, self.outer.get(key))
        if not isinstance(value, Mapping):
            return None
        return ConfigReader(value, name=f"{self.name}.{key}")

    def raw(self, *keys: str) -> object:
        """The value under the first spelling that is present and not null, else its class default, else None."""
        for key in keys:
            if self.config.get(key) is not None:
                return self.config[key]
        for key in keys:
            if self.defaults.get(key) is not None:
                return self.defaults[key]
        return None

    def has(self, *keys: str) -> bool:
        """Whether any spelling has a value or a class default."""
        return self.raw(*keys) is not None

    def number(self, *keys: str, default: int | None = None, minimum: int = 0) -> int:
        """A whole number of at least `minimum`."""
        value = self.raw(*keys)
        if value is None:
            if default is None:
                self._missing(*keys)
            return default
        if not is_whole(value):
            raise fault(BAD_VALUE, f"{self.name}: {keys[0]} must be a whole number, got {value!r}", keys[0])
        assert isinstance(value, int | float)
        if not minimum <= value < 1e12:
            bound = f"at least {minimum}" if value < minimum else "less than 1e12"
            raise fault(BAD_VALUE, f"{self.name}: {keys[0]} must be {bound}, got {value!r}", keys[0])
        return int(value)

    def positive(self, *keys: str, default: int | None = None) -> int:
        """A whole number of at least 1."""
        return self.number(*keys, default=default, minimum=1)

    def ratio(self, *keys: str) -> float:
        """A positive real number."""
        value = self.raw(*keys)
        if value is None:
            self._missing(*keys)
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1e6:
            raise fault(BAD_VALUE, f"{self.name}: {keys[0]} must be a positive number, got {value!r}", keys[0])
        return float(value)

    def flag(self, *keys: str, default: bool = False) -> bool:
        """A boolean; `default` is the class default where the family states none."""
        value = self.raw(*keys)
        if value is None:
            return default
        if not isinstance(value, bool):
            raise fault(BAD_VALUE, f"{self.name}: {keys[0]} must be true or false, got {value!r}", keys[0])
        return value

    def text(self, *keys: str, default: str | None = None) -> str:
        """A string."""
        value = self.raw(*keys)
        if value is None:
            if default is None:
                self._missing(*keys)
            return default
        if not isinstance(value, str):
            raise fault(BAD_VALUE, f"{self.name}: {keys[0]} must be text, got {value!r}", keys[0])
        return value

    def items(self, *keys: str, length: int | None = None) -> list[object] | None:
        """A list, None where absent; at least `length` long (further entries belong to draft layers)."""
        value = self.raw(*keys)
        if value is None:
            return None
        if isinstance(value, str) or not isinstance(value, Sequence):
            raise fault(BAD_VALUE, f"{self.name}: {keys[0]} must be a list, got {value!r}", keys[0])
        if length is not None and len(value) < length:
            raise fault(BAD_VALUE, f"{self.name}: {keys[0]} has {len(value)} entries for {length} layers", keys[0])
        return list(value)

    def listed(self, *keys: str, length: int | None = None) -> list[object]:
        """A list that has to be there; at least `length` long."""
        found = self.items(*keys, length=length)
        if found is None:
            self._missing(*keys)
        return found

    def whole_numbers(self, key: str, *, length: int | None = None) -> list[int]:
        """A list of whole numbers that has to be there; at least `length` long."""
        found = []
        for value in self.listed(key, length=length):
            if not is_whole(value):
                raise fault(BAD_VALUE, f"{self.name}: {key} must hold whole numbers, got {value!r}", key)
            assert isinstance(value, int | float)
            found.append(int(value))
        return found

    def unsupported(self, key: str, value: object, known: Sequence[str]) -> NoReturn:
        """Refuse a value whose meaning is not known."""
        raise fault(
            UNSUPPORTED_VALUE, f"{self.name}: {key} {value!r} is not supported", key, f"known: {', '.join(known)}"
        )

    def _missing(self, *keys: str) -> NoReturn:
        also = f" (or {', '.join(keys[1:])})" if len(keys) > 1 else ""
        raise fault(MISSING_FIELD, f"{self.name}: {keys[0]}{also} is missing and has no class default", keys[0])
