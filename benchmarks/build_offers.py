"""Make `catalogs/offers/<file>.csv` and `catalogs/instance_types/listed.csv` from a folder of collected price lists.

    python benchmarks/build_offers.py FOLDER [CATALOGS]

FOLDER holds `offers_unified.csv` (one row per instance type and region, several prices in columns). Every price becomes
one row under its purchase option. Rules, in order: prices that are zero, negative or no number are rejected; spot equal
to on-demand is no market and is dropped; spot above on-demand is kept and flagged when the catalog is loaded; an
undated row gets the end of its year (or the start of 2026) with confidence `assumed`; GCP's small A3 machines are sold
as spot only; where a provider takes commitments but publishes no price, 1 and 3 years cost 35 % and 55 % less
(confidence `assumed`: the range of seed article 001 is 30–40 % and 50–60 %).
"""

from __future__ import annotations

import csv
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

OPTIONS = ("on_demand", "spot", "reserved_1y", "reserved_3y")
COLUMNS = dict(zip(OPTIONS, (
    "price_ondemand_instance_hr", "price_spot_instance_hr", "price_1y_instance_hr", "price_3y_instance_hr",
), strict=True))  # fmt: skip
SEED_DISCOUNT = {"reserved_1y": 0.35, "reserved_3y": 0.55}
GCP_DISCOUNT = {
    "a2": {"reserved_1y": 0.37, "reserved_3y": 0.65},
    "a3": {"reserved_1y": 0.306, "reserved_3y": 0.561},
}
"""Read from GCP's price data for A2 and A3; used for machines of the family whose own price is not published."""
COMMITMENT_PROVIDERS = (
    "aws", "azure", "gcp", "coreweave", "lambda", "nebius", "ovhcloud", "scaleway", "verda", "hyperstack",
    "digitalocean", "vultr",
)  # fmt: skip
MULTIPLES = {"verda": (1, 2, 4, 8), "hyperstack": (1, 2, 4, 8), "runpod": (1, 2, 4, 8), "vast-ai": (1, 2, 4, 8)}
"""Providers that rent several of a card in one machine at so many times the price of one."""
REGIONS = {
    ("lambda", "us-*"): ("us",),
    ("lambda", "us-*/europe-*/asia-*"): ("us", "europe-central-1", "europe-south-1", "asia-northeast-1"),
    ("verda", "any"): ("FIN-01", "ICE-01"),
    ("hyperstack", "any"): ("NORWAY-1", "CANADA-1", "US-1"),
}
"""Price lists that hold for all of an operator's own sites, written out per site."""
SAME_PRICE_RATIO = {("aws", "us-east-1"): {"eu-central-1": 1.249, "eu-north-1": 1.08}}
"""Regions a price list leaves out: ratio of their p4d price to the listed region's."""
SAME_PRICE_FAMILIES = r"^g(5|6|6e)\."
SINGLE_SITES = {"ICE-01", "CANADA-1", "US-1"}
"""Sites for which only single cards are listed, to keep the catalog small."""
ACCELERATORS = {
    "A100-40GB-PCIe": "A100-PCIe-40GB", "A100-40GB-SXM": "A100-SXM-40GB", "A100-80GB-PCIe": "A100-PCIe-80GB",
    "A100-80GB-SXM": "A100-SXM-80GB", "A100-80GB": "A100-PCIe-80GB", "RTX-PRO-6000-SE": "RTX-PRO-6000-BSE",
    "V100": "V100-SXM2-16GB", "V100-32GB": "V100-SXM2-32GB", "P100": "P100-16GB",
}  # fmt: skip
CORRECTIONS = (
    (r"^NVIDIA GH200", "GH200-96GB"),
    (r"^NVIDIA A100 80GB PCIe", "A100-PCIe-80GB"),
    (r"^(coreweave|qubrid)\|NVIDIA A100 PCIe", "A100-PCIe-40GB"),
    (r"^t2-(le-)?45", "V100S-32GB"),
)
"""Names that say another card than the collected column does."""
REJECTED_NAMES = (
    (r"48 GB mod", "a modified card"),
    (r"RTX PRO-A6000 SE", "the name fits two different cards"),
    (r"^vast-ai\|NVIDIA A100 PCIe", "40 or 80 GB is not stated"),
)
NETWORK_GB_PER_S = {
    "p4d.24xlarge": 6.25, "p4de.24xlarge": 6.25, "p5.48xlarge": 50, "p5en.48xlarge": 50, "p6-b200.48xlarge": 50,
    "p6-b300.48xlarge": 100, "a3-highgpu-8g": 12.5, "a3-megagpu-8g": 25, "Standard_ND96amsr_A100_v4": 25,
    "Standard_ND96asr_v4": 25, "Standard_ND96isr_H100_v5": 50, "Standard_ND96isr_H200_v5": 50,
    "Standard_ND96isr_MI300X_v5": 50, "Standard_ND128isr_NDR_GB200_v6": 900, "HGX-H100": 50, "HGX-B200": 50,
    "GB200-NVL72-4-GPU": 900, "gpu-h100-sxm_8gpu-128vcpu-1600gb": 50, "gpu-h200-sxm_8gpu-128vcpu-1600gb": 50,
    "gpu-b200-sxm_8gpu-160vcpu-1792gb": 50,
}  # fmt: skip
"""Between machines, per accelerator, one direction (EFA, GPUDirect, InfiniBand; NVLink inside an NVL72 rack)."""
OVERRIDES = {("nebius", "H100-SXM"): (3.85, "2026-09-25", "nebius.com/prices")}
"""On-demand per accelerator-hour read later than the collected row."""
FAR_BELOW = 0.15


@dataclass(frozen=True, slots=True)
class Machine:
    """One collected row as it will be written: prices per instance-hour by option."""

    provider: str
    region: str
    name: str
    accelerator: str
    accelerators: int
    interconnect: str
    vcpus: str
    memory_gib: str
    prices: dict[str, float]
    source: str
    as_of: str
    confidence: str
    note: str = ""
    confidences: dict[str, tuple[str, str, str, str]] = field(default_factory=dict)
    """Option → (confidence, source, as_of, note) where it differs."""


def main(arguments: list[str]) -> int:
    """Read the folder, write the files, say what was rejected and why."""
    folder = Path(arguments[0])
    catalogs = Path(arguments[1]) if len(arguments) > 1 else Path(__file__).resolve().parents[1] / "catalogs"
    rejected: Counter[str] = Counter()
    with (folder / "offers_unified.csv").open(encoding="utf-8") as f:
        rows = list(csv.DictReader(f))
    machines = merge(m for row in rows for m in read_row(row, rejected))
    machines = [with_commitments(m) for m in machines]
    write_offers(machines, catalogs / "offers", rejected)
    write_instance_types(machines, catalogs / "instance_types" / "listed.csv")
    for why, count in sorted(rejected.items()):
        print(f"{count:4d}  {why}", file=sys.stderr)
    print(f"{len(machines)} machines in regions from {len(rows)} rows", file=sys.stderr)
    return 0


def read_row(row: dict[str, str], rejected: Counter[str]) -> Iterator[Machine]:
    """The machines of one collected row: one per region and size that it stands for."""
    name, provider = row["instance_type"], row["provider"]
    if name.startswith("seed:"):
        return
    for pattern, why in REJECTED_NAMES:
        if re.search(pattern, f"{provider}|{name}") or re.search(pattern, name):
            rejected[f"row: {why} ({provider} {name})"] += 1
            return
    prices = clean_prices(row, rejected)
    if not prices:
        rejected["row: no price left"] += 1
        return
    as_of, confidence, note = dated(row["as_of"])
    one = Machine(
        provider=provider,
        region=row["region"],
        name=name,
        accelerator=accelerator_of(row),
        accelerators=int(row["gpu_count"]),
        interconnect=row["interconnect"],
        vcpus=plain(row["vcpus"]),
        memory_gib=plain(row["memory_gib"]),
        prices=prices,
        source=short_source(row["source"]),
        as_of=as_of,
        confidence=confidence,
        note=note,
    )
    for region in REGIONS.get((provider, one.region), (one.region,)):
        for count in MULTIPLES.get(provider, (1,)) if region not in SINGLE_SITES else (1,):
            yield resized(override(replace(one, region=region)), count, derived=region != one.region)
    if re.match(SAME_PRICE_FAMILIES, one.name):
        yield from elsewhere(one)


def elsewhere(machine: Machine) -> Iterator[Machine]:
    """The machine in regions whose price follows from the listed region's."""
    for region, ratio in SAME_PRICE_RATIO.get((machine.provider, machine.region), {}).items():
        prices = {o: round(p * ratio, 6) for o, p in machine.prices.items()}
        note = f"{machine.region} times {ratio:g} as for p4d in that region"
        moved = replace(machine, region=region, prices=prices, confidence="derived", note=note)
        yield resized(moved, 1, derived=False)


def clean_prices(row: dict[str, str], rejected: Counter[str]) -> dict[str, float]:
    """Prices by option that may stand."""
    prices: dict[str, float] = {}
    for option, column in COLUMNS.items():
        text = row[column].strip()
        if not text:
            continue
        try:
            value = float(text)
        except ValueError:
            value = float("nan")
        if not 0 < value < float("inf"):
            rejected[f"price: zero, negative or no number ({option})"] += 1
            continue
        prices[option] = value
    on_demand = prices.get("on_demand")
    if on_demand is not None and prices.get("spot") == on_demand:
        rejected["price: spot equal to on-demand is no market"] += 1
        del prices["spot"]
    if re.fullmatch(r"a3-highgpu-[124]g", row["instance_type"]):
        for option in ("on_demand", "reserved_1y", "reserved_3y"):
            if prices.pop(option, None) is not None:
                rejected["price: GCP sells a3-highgpu-1g/2g/4g as spot only"] += 1
    for option in ("reserved_1y", "reserved_3y"):
        if option in prices and on_demand is not None and prices[option] >= on_demand:
            rejected["price: a commitment that costs no less than on-demand"] += 1
            del prices[option]
    return prices


def dated(text: str) -> tuple[str, str, str]:
    """(as_of, confidence, note) of a collected date, which may be none."""
    found = re.match(r"\d{4}-\d{2}-\d{2}$", text)
    if found:
        return found[0], "list", ""
    day = "2025-12-31" if "2025" in text else "2026-01-01"
    return day, "assumed", f"undated: {text.split(';')[0]}".replace("undated: undated", "undated:")


def accelerator_of(row: dict[str, str]) -> str:
    """The catalog id of the row's card."""
    for pattern, accelerator in CORRECTIONS:
        if re.search(pattern, row["instance_type"]) or re.search(pattern, f"{row['provider']}|{row['instance_type']}"):
            return accelerator
    return ACCELERATORS.get(row["gpu"], row["gpu"])


def plain(number: str) -> str:
    """`16.0` as `16`."""
    return number.removesuffix(".0")


def short_source(text: str) -> str:
    """The source without decoration; commas would need quoting."""
    return text.replace("tardellirs/gpu-pricing (MIT) <- ", "gpu-pricing (MIT): ").replace(",", ";")


def override(machine: Machine) -> Machine:
    """The machine with a later on-demand price where one is known."""
    later = OVERRIDES.get((machine.provider, machine.accelerator))
    if later is None or "on_demand" not in machine.prices:
        return machine
    price, day, source = later
    prices = machine.prices | {"on_demand": round(price * machine.accelerators, 6)}
    return replace(machine, prices=prices, confidences={"on_demand": ("list", source, day, "")})


def resized(machine: Machine, count: int, *, derived: bool) -> Machine:
    """The machine with its catalog name, `count` cards of what the list prices singly."""
    name, single = machine.name, machine.interconnect in ("n/a(single)",)
    if single:
        suffix = next((s for s in ("secure", "community", "prototyping", "production") if f"({s})" in name), "")
        if machine.provider == "runpod" and "(spot)" in name:
            suffix = "secure"
        slug = re.sub(r"\s*\((on-demand|spot|marketplace|secure|community|prototyping|production)\)", "", name)
        slug = re.sub(r"^NVIDIA ", "", slug)
        parts = [f"{count}x", clean_name(slug), *([suffix] if suffix else [])]
        name = "-".join(parts)
    else:
        name = clean_name(name)
    total = machine.accelerators * count
    confidence, note = machine.confidence, machine.note
    if count > 1 or derived:
        confidence = "derived" if confidence == "list" else confidence
        why = "price of one card times the count" if count > 1 else "one price list for all of the operator's sites"
        note = "; ".join(n for n in (note, why) if n)
    return replace(
        machine,
        name=name,
        accelerators=total,
        interconnect=interconnect_of(machine, total),
        vcpus=str(int(machine.vcpus) * count) if machine.vcpus else "",
        memory_gib=str(int(machine.memory_gib) * count) if machine.memory_gib else "",
        prices={o: round(p * count, 6) for o, p in machine.prices.items()},
        confidence=confidence,
        note=note,
    )


def clean_name(name: str) -> str:
    """An instance type's name without blanks, brackets and slashes."""
    return re.sub(r"-+", "-", re.sub(r"[^A-Za-z0-9._-]+", "-", name)).strip("-")


def interconnect_of(machine: Machine, total: int) -> str:
    """What joins the cards of the machine."""
    if machine.accelerator in ("GB200", "GB300") and machine.accelerators > 1:
        return "nvlink-nvl72"
    if total == 1:
        return "none"
    known = machine.interconnect.split(" ")[0]
    if known.startswith("nvlink-bridge"):
        return "nvlink-bridge"
    if known in ("nvlink", "infinity-fabric", "roce", "neuronlink", "pcie"):
        return known
    if "NVLink" in machine.name and "PCIe" not in machine.name and "SXM" not in machine.accelerator:
        return "nvlink-bridge"
    if "SXM" in machine.accelerator or machine.accelerator in ("GB200", "GB300"):
        return "nvlink"
    return "infinity-fabric" if machine.accelerator.startswith("MI3") else "pcie"


def domain_of(machine: Machine) -> int:
    """Largest tensor-parallel group."""
    if machine.interconnect == "nvlink-nvl72":
        return 72
    return min(2, machine.accelerators) if machine.interconnect == "nvlink-bridge" else machine.accelerators


def merge(machines: Iterable[Machine]) -> list[Machine]:
    """One machine per provider, region and name: options of the same shape together, other shapes by vCPU count."""
    found: dict[tuple[str, str, str], Machine] = {}
    for machine in machines:
        key = (machine.provider, machine.region, machine.name)
        other = found.get(key)
        if other is not None and (not same_shape(other, machine) or set(other.prices) & set(machine.prices)):
            label = f"{machine.name}-{machine.vcpus}c" if machine.vcpus else f"{machine.name}-basic"
            machine = replace(machine, name=label)
            key = (*key[:2], label)
            other = found.get(key)
        if other is None:
            found[key] = machine
        elif not set(other.prices) & set(machine.prices):
            found[key] = replace(other, prices=other.prices | machine.prices)
    return [found[k] for k in sorted(found)]


def same_shape(a: Machine, b: Machine) -> bool:
    """Whether two rows are the same machine under different purchase options."""
    return (a.accelerator, a.accelerators) == (b.accelerator, b.accelerators) and (
        (a.vcpus, a.memory_gib) == (b.vcpus, b.memory_gib) or not (a.vcpus and b.vcpus)
    )


def with_commitments(machine: Machine) -> Machine:
    """The machine with commitment prices derived where the provider sells them but publishes none.

    A spot price above on-demand stays (flagged) on the machine it was published for, not on its multiples.
    """
    on_demand = machine.prices.get("on_demand")
    if on_demand is None:
        return machine
    if machine.accelerators > 1 and machine.prices.get("spot", 0) >= on_demand:
        machine = replace(machine, prices={o: p for o, p in machine.prices.items() if o != "spot"})
    if machine.provider not in COMMITMENT_PROVIDERS:
        return machine
    family = machine.name[:2] if machine.provider == "gcp" else ""
    published = GCP_DISCOUNT.get(family)
    prices, confidences = dict(machine.prices), dict(machine.confidences)
    for option, seed in SEED_DISCOUNT.items():
        if option in prices:
            confidences[option] = ("derived", "GCP commitment ratios (public cost calculator)", machine.as_of, "")
            continue
        share = published[option] if published else seed
        prices[option] = round(on_demand * (1 - share), 6)
        source = "GCP price data for the machine family" if published else "seed article 001"
        confidence = "derived" if published else "assumed"
        confidences[option] = (confidence, source, machine.as_of, f"on-demand less {share:.1%}")
    return replace(machine, prices=prices, confidences=confidences)


def write_offers(machines: list[Machine], folder: Path, rejected: Counter[str]) -> None:
    """One file for each of the big providers, one for all others."""
    for file in ("aws", "azure", "gcp", "others"):
        chosen = [m for m in machines if (m.provider if m.provider in ("aws", "azure", "gcp") else "others") == file]
        lines = [offer for m in chosen for offer in offer_cells(m)]
        heads = ("provider", "region", "instance_type", "option", "price_usd_per_hour", "source", "as_of",
                 "confidence", "flags", "note")  # fmt: skip
        common = most_common(lines, heads, ("provider", "source", "as_of", "confidence"))
        comment = ["Made by benchmarks/build_offers.py; corrections belong there or in an overlay."]
        if file == "others":
            comment += [f"Rejected: {count} × {why}" for why, count in sorted(rejected.items())]
        write_csv(folder / f"{file}.csv", heads, lines, common, comment)


def offer_cells(machine: Machine) -> Iterator[dict[str, str]]:
    """The rows of one machine."""
    on_demand = machine.prices.get("on_demand")
    for option in OPTIONS:
        if option not in machine.prices:
            continue
        price = machine.prices[option]
        confidence, source, day, note = machine.confidences.get(
            option, (machine.confidence, machine.source, machine.as_of, machine.note)
        )
        far = option == "spot" and on_demand is not None and price < FAR_BELOW * on_demand
        yield {
            "provider": machine.provider,
            "region": machine.region,
            "instance_type": machine.name,
            "option": option,
            "price_usd_per_hour": f"{price:.6g}",
            "source": source,
            "as_of": day,
            "confidence": confidence,
            "flags": "spot_far_below_on_demand" if far else "",
            "note": note.replace(",", ";"),
        }


def write_instance_types(machines: list[Machine], path: Path) -> None:
    """Every machine once, whatever the region."""
    lines: dict[str, dict[str, str]] = {}
    for m in sorted(machines, key=lambda m: (m.provider, m.name, m.region)):
        network = NETWORK_GB_PER_S.get(m.name, 0)
        lines.setdefault(f"{m.provider}/{m.name}", {
            "id": f"{m.provider}/{m.name}", "provider": m.provider, "name": m.name, "accelerator": m.accelerator,
            "accelerators": str(m.accelerators), "interconnect": m.interconnect,
            "tensor_parallel_domain": str(domain_of(m)), "network_gb_per_s": f"{network:g}", "vcpus": m.vcpus,
            "memory_gib": m.memory_gib, "source": m.source, "as_of": m.as_of, "confidence": m.confidence,
        })  # fmt: skip
    heads = tuple(next(iter(lines.values())))
    common = most_common(list(lines.values()), heads, ("network_gb_per_s", "source", "as_of", "confidence"))
    comment = [
        "Made by benchmarks/build_offers.py.",
        "network_gb_per_s: between machines, per accelerator, one direction; 0 = a replica may not span machines.",
    ]
    write_csv(path, heads, list(lines.values()), common, comment)


def most_common(lines: list[dict[str, str]], heads: Iterable[str], columns: Iterable[str]) -> dict[str, str]:
    """The value of a column that may be left blank because most rows have it."""
    found = {c: Counter(line[c] for line in lines).most_common(1)[0] for c in columns if c in set(heads)}
    return {c: value for c, (value, count) in found.items() if count * 2 > len(lines)}


def write_csv(
    path: Path, heads: Iterable[str], lines: list[dict[str, str]], common: dict[str, str], comment: list[str]
) -> None:
    """A catalog CSV: comments, defaults, header, rows."""
    heads = [h for h in heads if any(line[h] for line in lines)]
    blank = {h for h in heads if h in common and all(line[h] == common[h] for line in lines)}
    heads = [h for h in heads if h not in blank]
    text = [f"# {c}" for c in comment] + [f"# default: {k} = {v}" for k, v in common.items()] + [",".join(heads)]
    text += [",".join("" if line[h] == common.get(h) else line[h] for h in heads) for line in lines]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(text) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
