"""From benchmark files to a calibration, and back from its file."""

import json
import math
from functools import cache
from pathlib import Path

import pytest

from planner.catalog.catalog import Catalog
from planner.catalog.load import load_catalog
from planner.errors import InputError
from planner.performance.parameters import load_parameters
from planner.performance.residuals import calibration_of, compare
from planner.predict.batch import Load, predict_many
from planner.predict.calibration_file import calibration_text, read_calibration, with_calibrations
from planner.predict.configure import Configurator
from planner.predict.formats.detect import read_benchmark
from planner.predict.measure import Measurements, measure
from planner.predict.types import Place
from tests.predict.formats.test_formats import VLLM

STATED = {"accelerator": "H100-SXM", "tensor_parallel": "8", "precision": "fp8"}


@cache
def catalog() -> Catalog:
    return load_catalog()


def measured(*changes: dict[str, object], **stated: str) -> Measurements:
    text = "\n".join(json.dumps({**VLLM, **c}) for c in changes or ({},))
    return measure([read_benchmark(text.encode(), "bench.json")], {**STATED, **stated}, Configurator(catalog()))


def test_a_point_is_of_one_replica() -> None:
    (one,) = measured(num_gpus="16").points
    assert (one.concurrency, one.req_per_s, one.tensor_parallel) == (32.0, 0.34395, 8)
    assert (one.model, one.engine, one.source) == ("glm-4.7", "vllm", "bench.json")


def test_options_go_before_the_file() -> None:
    (point,) = measured(model="llama-3.3-70b-instruct", engine="sglang", output_tokens="100").points
    assert (point.model, point.engine, point.output_tokens) == ("llama-3.3-70b-instruct", "sglang", 100.0)


@pytest.mark.parametrize(
    ("change", "stated", "said"),
    [
        ({}, {"accelerator": ""}, "does not say accelerator: give --accelerator"),
        ({"model_id": "mock-8b"}, {}, "unknown model 'mock-8b'"),
        ({"model_id": None}, {}, "does not say model: give --model"),
        ({}, {"tensor_parallel": ""}, "does not say tensor_parallel: give --tensor-parallel"),
        ({"total_output_tokens": None}, {}, "does not say output_tokens: give --output-tokens"),
        ({"max_concurrency": None, "request_rate": 1.0, "request_throughput": None}, {}, "neither a concurrency"),
        ({"median_tpot_ms": None, "request_throughput": None}, {}, "neither a time per output token nor a rate"),
    ],
)
def test_what_a_file_does_not_say_is_asked_for(change: dict[str, object], stated: dict[str, str], said: str) -> None:
    with pytest.raises(InputError) as caught:
        measured(change, **stated)
    (fault,) = caught.value.faults
    assert said in fault.message
    assert (fault.code, fault.file) == ("B104", "bench.json")


def test_one_fault_is_said_once_for_all_points() -> None:
    with pytest.raises(InputError) as caught:
        measured({}, {"max_concurrency": 8}, accelerator="")
    assert len(caught.value.faults) == 1


def test_a_calibration_survives_its_file() -> None:
    points = measured({}, {"max_concurrency": 8, "median_tpot_ms": 30.0}).points
    for as_json in (False, True):
        text = calibration_text(points, as_json)
        assert tuple(read_calibration(text.encode(), "c.yaml", catalog())) == points


@pytest.mark.parametrize(
    ("text", "code", "said"),
    [
        ("a: 1\n", "B106", "no calibration"),
        ("planner_calibration: 2\npoints: []\n", "B106", "version 2"),
        ("planner_calibration: 1\npoints: []\n", "B106", "list of measured points"),
        ("planner_calibration: 1\npoints: [{model: x}]\n", "B106", "point 1: precision"),
        ("planner_calibration: [1\n", "B102", "neither YAML nor JSON"),
        ("planner_calibration: 1\nmore: 2\npoints: [1]\n", "B106", "unknown field more"),
    ],
)
def test_a_broken_calibration_is_refused(text: str, code: str, said: str) -> None:
    with pytest.raises(InputError) as caught:
        read_calibration(text.encode(), "c.yaml", catalog())
    assert {f.code for f in caught.value.faults} == {code}
    assert any(said in f.message for f in caught.value.faults)


def test_names_of_a_calibration_are_the_catalogs() -> None:
    text = calibration_text(measured().points, False).replace("H100-SXM", "H101")
    with pytest.raises(InputError) as caught:
        read_calibration(text.encode(), "c.yaml", catalog())
    assert "unknown accelerator 'H101'" in caught.value.faults[0].message


def test_predictions_at_a_measured_point_come_near_it(tmp_path: Path) -> None:
    file = tmp_path / "c.yaml"
    points = measured({"median_tpot_ms": 40.0}, {"max_concurrency": 16, "median_tpot_ms": 25.0}).points
    file.write_text(calibration_text(points, False), encoding="utf-8")
    rows, parameters = with_calibrations(catalog(), [str(file)]), load_parameters()
    place = Configurator(rows).configure(
        Place("glm-4.7", "H100-SXM", tensor_parallel="8", precision="fp8", engine="vllm")
    )
    load = [Load(p.input_tokens, p.output_tokens, p.concurrency or 1.0) for p in points]
    found = predict_many([place], [0, 0], load, parameters, calibration_of(rows, parameters))
    for answer, point in zip(found, points, strict=True):
        assert answer.tpot_ms == pytest.approx(point.tpot_ms, rel=0.1)
        assert answer.provenance.startswith("calibrated by 2 points")
        assert 0.7 < answer.error_band[0] < 1 < answer.error_band[1] < 1.4
    assert rows.sha256 != catalog().sha256


def test_another_subject_is_left_alone() -> None:
    rows, parameters = catalog().with_benchmarks(measured().points), load_parameters()
    place = Configurator(rows).configure(Place("glm-4.7", "H200-SXM", tensor_parallel="8", precision="fp8"))
    plain = predict_many([place], [0], [Load(1000, 100, 8)], parameters)
    assert predict_many([place], [0], [Load(1000, 100, 8)], parameters, calibration_of(rows, parameters)) == plain


def test_a_point_is_compared_with_the_estimate_of_its_own_configuration() -> None:
    (point,) = measured().points
    (found,) = compare([point], catalog(), load_parameters())
    place = Configurator(catalog()).configure(
        Place("glm-4.7", "H100-SXM", tensor_parallel="8", precision="fp8", engine="vllm")
    )
    load = Load(point.input_tokens, point.output_tokens, point.concurrency or 1.0)
    (plain,) = predict_many([place], [0], [load], load_parameters())
    assert plain.tpot_ms is not None
    assert found.step_log == pytest.approx(math.log(123.4 / plain.tpot_ms))
