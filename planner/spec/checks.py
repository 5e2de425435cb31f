"""Rules over several fields of a mapping. Each notes its faults; none stops the reading."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from functools import cache
from types import MappingProxyType

from planner.base import Frozen
from planner.spec import support
from planner.spec.names import is_file_name, name_help
from planner.spec.nodes import Mapping as MappingNode
from planner.spec.nodes import Scalar
from planner.spec.nodes import Sequence as SequenceNode
from planner.spec.reader import Check, Reading
from planner.spec.traces import FileFault, read_profile, read_trace
from planner.spec.types import (
    Horizon,
    Measured,
    Policy,
    ProviderPolicy,
    Resilience,
    Slo,
    Spare,
    Spec,
    TokenDistribution,
    TokenVolume,
    Traffic,
    Window,
    Workload,
    WorkloadKind,
)
from planner.units import SECONDS_PER_MONTH

RATES = ("peak_req_per_s", "mean_req_per_s", "requests_per_month")
VOLUMES = ("tokens_per_month", "tokens_per_day")
WAYS = (*RATES, *VOLUMES, "trace")
LENGTHS = ("input_tokens", "output_tokens")
LARGEST_REQ_PER_S = 1e6
"""More than the whole world asks for today: taken for a slip in the unit."""
LARGEST_TOKENS = 1e16
"""The same for a volume of tokens."""
VOLUME_TOLERANCE = 0.01
"""How far the request rates that follow from the input and from the output volume may differ."""
LARGEST_P95_TO_MEAN = 19.0
"""At most one request in 20 is longer than the p95, so the p95 cannot reach 20 × the mean."""


def check_traffic(reading: Reading) -> None:
    """One way to say how much, one to say how long, and the two agree."""
    ways = reading.given(*WAYS)
    if not ways and not reading.meant(*WAYS):
        help_ = f"give one of {', '.join(WAYS[:-1])}"
        reading.fault("S205", "traffic does not say how much", reading.owner, help_)
    for extra in ways[1:]:
        help_ = f"keep one of {' and '.join(ways)}; peak_to_mean shapes a mean rate into a peak"
        message = f"{extra} and {ways[0]} both say how much"
        reading.fault("S206", message, reading.key_place(extra), help_)
    _check_amount(reading)
    _check_lengths(reading, ways)
    if len(ways) == 1 and ways[0] in VOLUMES:
        _check_agreement(reading, ways[0])
    _read_profile(reading)
    _check_profile(reading)
    _read_trace(reading)
    _check_timezone(reading)
    if len(reading.given("growth_per_quarter", "quarter_factors")) == 2:
        message = "growth_per_quarter and quarter_factors both say how the rate changes"
        reading.fault("S206", message, reading.key_place("quarter_factors"), "keep one of them")


def _check_amount(reading: Reading) -> None:
    for key in RATES:
        value = reading.number(key)
        if value is None:
            continue
        rate = value / SECONDS_PER_MONTH if key == "requests_per_month" else value
        place = reading.value_place(key)
        if rate == 0.0:
            reading.fault("S211", f"{key} is 0, so there is nothing to plan", place)
        elif rate * SECONDS_PER_MONTH < 1.0 - 1e-9:
            message = f"{key} is less than one request a month, so there is nothing to plan"
            reading.fault("S211", message, place, "is the unit right?")
        elif rate > LARGEST_REQ_PER_S:
            help_ = "is the unit right? requests_per_month takes a monthly figure"
            reading.fault("S204", f"{key} is more than {LARGEST_REQ_PER_S:,.0f} requests per second", place, help_)


def check_volume(reading: Reading) -> None:
    """A volume of nothing is no workload; neither is one side alone."""
    sides = {key: reading.number(key) for key in ("input", "output")}
    if sides["input"] == 0.0 and sides["output"] == 0.0:
        reading.fault("S211", f"{reading.what} is 0, so there is nothing to plan", reading.owner)
        return
    for key, value in sides.items():
        if value is not None and value < 1.0:
            help_ = "every request reads a prompt and generates at least one token"
            reading.fault("S204", f"{key} must be at least 1", reading.value_place(key), help_)
        elif value is not None and value > LARGEST_TOKENS:
            message = f"{key} is more than {LARGEST_TOKENS:g} tokens"
            reading.fault("S204", message, reading.value_place(key), "is the unit right? B and G are 10⁹, T is 10¹²")


def _check_lengths(reading: Reading, ways: tuple[str, ...]) -> None:
    lengths = reading.given(*LENGTHS)
    if reading.given("classes"):
        for key in lengths:
            help_ = "keep classes, or input_tokens and output_tokens"
            reading.fault("S206", f"{key} and classes both say how long requests are", reading.key_place(key), help_)
        _check_shares(reading)
    elif len(lengths) < 2 and ways and not set(ways) & {*VOLUMES, "trace"}:
        missing = " and ".join(k for k in LENGTHS if k not in lengths)
        if reading.meant(*LENGTHS, "classes"):
            return
        help_ = "give input_tokens and output_tokens, or classes"
        reading.fault("S205", f"traffic does not say how long requests are: {missing} is missing", reading.owner, help_)


def _check_shares(reading: Reading) -> None:
    classes = reading.values.get("classes")
    if not isinstance(classes, tuple):
        return
    if not classes:
        reading.fault("S202", "classes must not be an empty list", reading.value_place("classes"))
        return
    total = math.fsum(c.share for c in classes)
    if abs(total - 1.0) > 1e-6:
        change = "smaller" if total > 1.0 else "larger"
        help_ = f"the shares add up to {total:.6g}; make one of them {change} by {abs(total - 1.0):.6g}"
        reading.fault("S209", "the shares of classes must add up to 1", reading.key_place("classes"), help_)
    _unique(reading, "classes", "class")


def _mean_length(reading: Reading, side: str) -> float | None:
    """Mean tokens per request as far as the lengths tell."""
    classes = reading.values.get("classes")
    if isinstance(classes, tuple) and classes:
        return math.fsum(c.share * getattr(c, side) for c in classes)
    value = reading.values.get(side)
    if isinstance(value, TokenDistribution):
        return value.mean
    return float(value) if isinstance(value, int | float) else None


def _check_agreement(reading: Reading, way: str) -> None:
    """Requests = input volume ÷ input tokens = output volume ÷ output tokens."""
    volume = reading.values.get(way)
    inputs, outputs = _mean_length(reading, "input_tokens"), _mean_length(reading, "output_tokens")
    if not isinstance(volume, TokenVolume) or inputs is None or outputs is None:
        return
    by_input, by_output = volume.input / inputs, volume.output / outputs
    if abs(by_input - by_output) > VOLUME_TOLERANCE * max(by_input, by_output):
        message = (
            f"{way} and the lengths contradict each other: the input volume makes {by_input:.6g} requests, "
            f"the output volume {by_output:.6g}"
        )
        ratio = volume.input / volume.output
        help_ = f"the volumes are {ratio:.4g} input tokens per output token, the lengths {inputs / outputs:.4g}"
        reading.fault("S208", message, reading.value_place(way), f"{help_}; leave one of the lengths out")


def check_distribution(reading: Reading) -> None:
    """p95 between the mean and what a mean allows."""
    mean, p95 = reading.number("mean"), reading.number("p95")
    if mean is None or p95 is None:
        return
    if p95 < mean:
        reading.fault("S208", f"p95 ({p95:g}) is below the mean ({mean:g})", reading.value_place("p95"))
    elif p95 > LARGEST_P95_TO_MEAN * mean:
        help_ = "one request in 20 of that length would alone exceed the mean"
        message = f"p95 ({p95:g}) is more than {LARGEST_P95_TO_MEAN:g} × the mean ({mean:g})"
        reading.fault("S208", message, reading.value_place("p95"), help_)


def _read_profile(reading: Reading) -> None:
    """A CSV in place of its weights."""
    profile, column = reading.values.get("profile"), reading.values.get("profile_column")
    if isinstance(profile, str) and is_file_name(profile):
        try:
            weights = read_profile(reading.reader.base_dir / profile, column if isinstance(column, str) else None)
            reading.values["profile"] = weights
        except FileFault as error:
            help_ = "a CSV with a row an hour, 24 or whole weeks of 168; its path is relative to the workload file"
            reading.fault("S215", str(error), reading.value_place("profile"), help_)
            reading.values.pop("profile")
    elif column is not None:
        help_ = "leave it out, or name a CSV in profile"
        reading.fault("S208", "profile_column without a CSV", reading.key_place("profile_column"), help_)


def _read_trace(reading: Reading) -> None:
    """A file of requests in place of its summary."""
    shown = reading.values.get("trace")
    if not isinstance(shown, str):
        return
    place = reading.value_place("trace")
    try:
        trace = read_trace(reading.reader.base_dir / shown, shown)
    except FileFault as error:
        help_ = (
            "a CSV or .jsonl with a time, and input and output tokens of every request, relative to the workload file"
        )
        reading.fault("S215", str(error), place, help_)
        reading.values.pop("trace")
        return
    reading.values["trace"] = trace
    if trace.weights and reading.given("profile", "peak_to_mean"):
        key = reading.given("profile", "peak_to_mean")[0]
        message = f"{key} and a trace of {trace.span_h:.0f} h both say when requests come"
        reading.fault("S206", message, reading.key_place(key), "keep one of them")
    for key in LENGTHS if not reading.given("classes") else ():
        if getattr(trace, key) is None and not reading.given(key):
            reading.fault("S205", f"{shown} has no {key.replace('_', ' ')}", place, f"give {key} in traffic")


def _check_profile(reading: Reading) -> None:
    profile = reading.values.get("profile")
    place = reading.value_place("profile")
    ratio = reading.number("peak_to_mean")
    if isinstance(profile, tuple):
        if len(profile) not in (24, 168):
            reading.fault("S210", f"profile has {len(profile)} weights, not 24 or 168", place)
        elif sum(profile) == 0.0:
            reading.fault("S210", "every weight of profile is 0", place)
        elif ratio is not None and max(profile) > min(profile):
            most = len(profile) / profile.count(max(profile))
            if ratio > most:
                message = f"peak_to_mean must be at most {most:g}: the profile's busiest level lasts that share of time"
                reading.fault("S208", message, reading.value_place("peak_to_mean"), "give a narrower peak in profile")
    elif ratio is not None and ratio > 24.0 and not isinstance(profile, str):
        message = "peak_to_mean must be at most 24: a day has 24 hours"
        reading.fault("S204", message, reading.value_place("peak_to_mean"))


def _check_timezone(reading: Reading) -> None:
    zone = reading.values.get("timezone")
    if not isinstance(zone, str):
        return
    known = time_zones()
    found = known.get(zone.lower())
    if found:
        reading.values["timezone"] = found
        return
    reading.fault("S302", f"unknown time zone '{zone}'", reading.value_place("timezone"), name_help(zone, known))


@cache
def time_zones() -> Mapping[str, str]:
    """Lower-cased name → name of every zone of the tz database."""
    import zoneinfo

    return MappingProxyType({name.lower(): name for name in sorted(zoneinfo.available_timezones())})


def check_resilience(reading: Reading) -> None:
    """A fraction goes with something to survive."""
    if reading.given("serve_fraction") and not reading.given("survive_loss_of"):
        help_ = "add what may be lost, e.g. survive_loss_of: [zone], or leave serve_fraction out"
        if reading.number("serve_fraction") not in (None, 1.0):
            reading.fault("S205", "serve_fraction says how much survives, but not what", reading.owner, help_)


CLOCK = re.compile(r"([01]?[0-9]|2[0-3]):([0-5][0-9])")
"""A time of day; 24:00 is the start of the next day, 00:00."""


def check_window(reading: Reading) -> None:
    """Two times of day in a known time zone."""
    _check_timezone(reading)
    for key in ("start", "end"):
        text = reading.values.get(key)
        if not isinstance(text, str):
            continue
        found = CLOCK.fullmatch("00:00" if text == "24:00" else text)
        if found:
            reading.values[key] = f"{int(found[1]):02d}:{found[2]}"
        else:
            help_ = 'write hours and minutes, e.g. "20:00"'
            reading.fault("S203", f"{key} is not a time of day: '{text}'", reading.value_place(key), help_)


def check_slo(reading: Reading) -> None:
    """One percentile per metric, and a first token that can arrive in time."""
    for metric in ("ttft", "tpot"):
        keys = reading.given(*(k for k in reading.node.entries if k.startswith(f"{metric}_p")))
        for extra in keys[1:]:
            help_ = "keep the one that was promised"
            message = f"{extra} and {keys[0]} promise the same metric at two percentiles"
            reading.fault("S208", message, reading.key_place(extra), help_)
    _check_round_trip(reading)


def _check_round_trip(reading: Reading) -> None:
    """A first token cannot be there before the network has been crossed both ways."""
    names, region = reading.reader.names, reading.values.get("client_region")
    least = names.least_round_trip_ms.get(region) if names and isinstance(region, str) else None
    for key in reading.given(*(k for k in reading.node.entries if k.startswith("ttft_p"))):
        limit = reading.number(key)
        if least is not None and limit is not None and limit <= least:
            message = f"{key} ({limit:g} ms) is not above the shortest network round trip from {region}, {least:g} ms"
            reading.fault("S208", message, reading.value_place(key), "raise it, or leave client_region out")


def check_workload(reading: Reading) -> None:
    """Kind, and a context that admits the workload's own requests."""
    _check_kind(reading)
    options = reading.node.get("purchase")
    if isinstance(options, MappingNode):
        listed = options.get("options")
        if isinstance(listed, SequenceNode) and not listed.items:
            place = options.entries["options"].value.place
            reading.fault("S202", "options must not be an empty list", place, "leave it out to allow every option")
    limit, traffic = reading.number("max_context_tokens"), reading.values.get("traffic")
    if limit is None or not isinstance(traffic, Traffic):
        return
    for each in traffic.classes or ():
        if each.input_tokens + each.output_tokens > limit:
            message = (
                f"max_context_tokens ({limit:g}) does not admit a request of class {each.name} "
                f"({each.input_tokens + each.output_tokens:g} tokens)"
            )
            reading.fault("S208", message, reading.value_place("max_context_tokens"))
    longest = _longest(traffic.input_tokens) + _longest(traffic.output_tokens)
    if not traffic.classes and longest > limit:
        message = f"max_context_tokens ({limit:g}) does not admit a request of {longest:g} tokens"
        reading.fault("S208", message, reading.value_place("max_context_tokens"))


def _check_kind(reading: Reading) -> None:
    """A window goes with batch work, a daily course with online work."""
    traffic = reading.values.get("traffic")
    if reading.values.get("kind", WorkloadKind.ONLINE) is WorkloadKind.ONLINE:
        if reading.given("window"):
            help_ = "write kind: batch, or leave window out"
            reading.fault("S208", "only batch work has a window", reading.key_place("window"), help_)
        return
    given = traffic.model_fields_set if isinstance(traffic, Traffic) else frozenset()
    for key in ("peak_req_per_s", "peak_to_mean", "profile", "trace"):
        if key in given:
            help_ = "give tokens_per_day, requests_per_month or mean_req_per_s, and the window that it is done in"
            reading.fault("S208", f"batch work has a volume, no {key}", reading.key_place("traffic"), help_)


def _longest(value: float | TokenDistribution | None) -> float:
    return (value.p95 or value.mean) if isinstance(value, TokenDistribution) else value or 0.0


def check_providers(reading: Reading) -> None:
    """A provider is allowed or denied, not both."""
    allow, deny = reading.values.get("allow"), reading.values.get("deny")
    if isinstance(allow, tuple) and isinstance(deny, tuple):
        for name in sorted(set(allow) & set(deny)):
            reading.fault("S208", f"{name} is both allowed and denied", reading.value_place("deny"))


def check_measured(reading: Reading) -> None:
    """Exactly one of the three kinds of measurement, complete."""
    kinds = (
        ("prefill_tok_per_s", "decode_tok_per_s"),
        ("capacity_req_per_s",),
        ("idle_iteration_ms", "work_s_per_request"),
    )
    found = [kind for kind in kinds if reading.given(*kind)]
    if not found:
        help_ = "give " + ", or ".join(" and ".join(kind) for kind in kinds)
        reading.fault("S205", "a measured row without a measurement", reading.owner, help_)
    for kind in found[1:]:
        key = reading.given(*kind)[0]
        message = f"{key} and {reading.given(*found[0])[0]} are two kinds of measurement"
        reading.fault("S206", message, reading.key_place(key), "write one row for each")
    for kind in found[:1]:
        for key in kind:
            if key not in reading.given(*kind):
                reading.fault("S205", f"{reading.given(*kind)[0]} needs {key} beside it", reading.owner)


def check_policy(reading: Reading) -> None:
    """Estimators that are there."""
    support.check_estimators(reading)


def check_spec(reading: Reading) -> None:
    """Names of workloads are unique; a measured class exists, and nothing is measured twice."""
    _check_measured_twice(reading)
    _check_quarter_factors(reading)
    _unique(reading, "workloads", "workload")
    _check_measured_classes(reading)


def _check_quarter_factors(reading: Reading) -> None:
    """One factor for each quarter, and not all of them 0."""
    horizon = reading.values.get("horizon", Horizon())
    workloads = reading.node.get("workloads")
    if not isinstance(horizon, Horizon) or not isinstance(workloads, SequenceNode):
        return
    for item in workloads.items:
        traffic = item.get("traffic") if isinstance(item, MappingNode) else None
        factors = traffic.get("quarter_factors") if isinstance(traffic, MappingNode) else None
        if not isinstance(factors, SequenceNode):
            continue
        if len(factors.items) != horizon.quarters:
            message = f"quarter_factors has {len(factors.items)} values for {horizon.quarters} quarters"
            reading.fault("S208", message, factors.place, "give one for each of horizon.quarters")
        elif all(isinstance(f, Scalar) and set(f.text.strip()) <= set("0.") for f in factors.items):
            reading.fault("S211", "every one of quarter_factors is 0, so there is nothing to plan", factors.place)


def _unique(reading: Reading, key: str, noun: str) -> None:
    """Names of a list's mappings differ, in any case of letters."""
    node = reading.node.get(key)
    first: dict[str, Scalar] = {}
    for item in node.items if isinstance(node, SequenceNode) else ():
        name = item.get("name") if isinstance(item, MappingNode) else None
        if not isinstance(name, Scalar):
            continue
        same = first.setdefault(name.text.strip().casefold(), name)
        if same is not name:
            message = f"two {noun}{'es' if noun.endswith('s') else 's'} are named {name.text.strip()}"
            reading.fault("S212", message, name.place, f"the first is at line {same.place.line}")


def _check_measured_classes(reading: Reading) -> None:
    known: dict[str, str] = {}
    workloads, rows = reading.node.get("workloads"), reading.node.get("measured")
    for workload in workloads.items if isinstance(workloads, SequenceNode) else ():
        traffic = workload.get("traffic") if isinstance(workload, MappingNode) else None
        classes = traffic.get("classes") if isinstance(traffic, MappingNode) else None
        if isinstance(traffic, MappingNode) and not isinstance(classes, SequenceNode):
            known |= {name: name for name in _implied_classes(traffic)}
        for item in classes.items if isinstance(classes, SequenceNode) else ():
            name = item.get("name") if isinstance(item, MappingNode) else None
            if isinstance(name, Scalar):
                known[name.text.strip()] = name.text.strip()
    for row in rows.items if isinstance(rows, SequenceNode) else ():
        name = row.get("class") if isinstance(row, MappingNode) else None
        if isinstance(name, Scalar) and name.text.strip() not in known:
            help_ = name_help(name.text, known)
            reading.fault("S303", f"no workload has a class named '{name.text}'", name.place, help_)


def _implied_classes(traffic: MappingNode) -> tuple[str, ...]:
    """Names of the classes of a workload that gives lengths: one, or those of a length distribution."""
    lengths = (traffic.get(side) for side in LENGTHS)
    return ("short", "middle", "long") if any(isinstance(x, MappingNode) for x in lengths) else ("all",)


def _check_measured_twice(reading: Reading) -> None:
    """Two rows about the same replica, of the same kind, with different figures."""
    rows, node = reading.values.get("measured"), reading.node.get("measured")
    if not isinstance(rows, tuple) or not isinstance(node, SequenceNode):
        return
    first: dict[tuple[object, ...], tuple[Measured, int]] = {}
    for row, item in zip(rows, node.items, strict=True):
        if not isinstance(row, Measured):
            continue
        subject = (row.model, row.accelerator, row.tensor_parallel, row.pipeline_parallel, row.precision, row.engine)
        key = (*subject, row.class_, row.capacity_req_per_s is None, row.idle_iteration_ms is None)
        known, line = first.setdefault(key, (row, item.place.line))
        if known != row:
            message = f"the same replica is measured at line {line} with other figures"
            reading.fault("S208", message, item.place, "keep one of the two rows")


CHECKS: Mapping[type[Frozen], Check] = MappingProxyType(
    {
        Traffic: check_traffic,
        TokenVolume: check_volume,
        TokenDistribution: check_distribution,
        Slo: check_slo,
        Window: check_window,
        Workload: check_workload,
        Resilience: check_resilience,
        Spare: support.check_spare,
        Policy: check_policy,
        ProviderPolicy: check_providers,
        Measured: check_measured,
        Spec: check_spec,
    }
)
"""The rule of each type that has one."""
