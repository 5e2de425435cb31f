"""One point from option values."""

from __future__ import annotations

import math
from collections.abc import Mapping

from planner.errors import PREDICT_CODES, Fault, InputError
from planner.performance.calibration import NOTHING_MEASURED, Calibration
from planner.performance.parameters import PerformanceParameters
from planner.performance.points import LoadKind
from planner.predict.batch import Load, predict_many
from planner.predict.configure import Configurator, PlaceError
from planner.predict.silicon import SiliconTables
from planner.predict.types import Place, Prediction


def predict_one(
    asked: Mapping[str, object],
    configurator: Configurator,
    parameters: PerformanceParameters,
    calibration: Calibration = NOTHING_MEASURED,
    silicon: SiliconTables | None = None,
) -> Prediction:
    """The prediction of one point; keys of `asked` are those of `Place` and input_tokens, output_tokens, concurrency,
    rate, batch; None is unknown. Raises InputError (P105)."""
    kind = str(asked.get("kind") or (LoadKind.STATIC_BATCH if asked.get("batch") is not None else ""))
    stated = {f: "" if asked.get(f) is None else str(asked[f]) for f in Place.__slots__ if f != "kind"}
    try:
        place = configurator.configure(Place(**stated, kind=kind))
    except PlaceError as error:
        raise InputError([Fault("P105", str(error), help=PREDICT_CODES["P105"].help)]) from error
    at_once = asked.get("batch") if asked.get("batch") is not None else asked.get("concurrency")
    load = Load(
        input_tokens=_float(asked["input_tokens"]),
        output_tokens=_float(asked["output_tokens"]),
        concurrency=math.inf if at_once is None else _float(at_once),
        rate=math.nan if asked.get("rate") is None else _float(asked["rate"]),
        cached_input_tokens=_float(asked.get("cached_input_tokens") or 0.0),
        tokens_per_step=_float(asked.get("tokens_per_step") or 1.0),
    )
    if load.cached_input_tokens > load.input_tokens:
        message = "--cached-input-tokens are more than --input-tokens"
        raise InputError([Fault("P105", message, help=PREDICT_CODES["P105"].help)])
    return predict_many([place], [0], [load], parameters, calibration, silicon)[0]


def _float(value: object) -> float:
    return float(str(value))
