"""Tables of points: every row keeps its place, whatever is in it."""

import csv
import io
import math
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.catalog.load import load_catalog
from planner.errors import InputError
from planner.performance.parameters import load_parameters
from planner.predict.configure import Configurator
from planner.predict.table import PredictedTable, predict_table, read_table, table_text
from planner.predict.types import COLUMNS, RESULTS, Prediction

HEAD = ",".join(COLUMNS)
GOOD = "qwen3-32b,H100-SXM,2,2,1,1,vllm,fp8,bf16,1024,256,32,online"


@cache
def configurator() -> Configurator:
    return Configurator(load_catalog())


def predict(text: str | bytes) -> PredictedTable:
    data = text if isinstance(text, bytes) else text.encode()
    return predict_table(read_table(data, "in.csv"), configurator(), load_parameters())


def written(found: PredictedTable) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(table_text(found))))


def test_predictions_stand_beside_the_columns_in_the_same_order() -> None:
    rows = written(predict(f'{HEAD},note\n{GOOD},a\n{GOOD.replace("32,online", "1,online")},"b, c"\n'))
    assert list(rows[0]) == [*COLUMNS, "note", *RESULTS]
    assert [r["note"] for r in rows] == ["a", "b, c"]
    assert [r["error"] for r in rows] == ["", ""]
    assert float(rows[0]["output_tok_per_s"]) > float(rows[1]["output_tok_per_s"]) > 0
    assert float(rows[0]["tpot_ms"]) > float(rows[1]["tpot_ms"]) > 0


@pytest.mark.parametrize(
    ("row", "said"),
    [
        (GOOD.replace("qwen3-32b", "qwen9"), "unknown model"),
        (GOOD.replace(",1024,", ",,"), "input_tokens is not stated"),
        (GOOD.replace(",1024,", ",x,"), "input_tokens must be a number, not 'x'"),
        (GOOD.replace(",1024,", ",-1,"), "input_tokens must be from 0"),
        (GOOD.replace(",256,", ",nan,"), "output_tokens must be from 1"),
        (GOOD.replace(",256,", ",inf,"), "output_tokens must be from 1"),
        (GOOD.replace(",32,", ",0,"), "concurrency must be from 1"),
        (GOOD.replace("online", "sometimes"), "kind must be one of"),
        ("qwen3-32b,H100-SXM", "the row has 2 cells, the head 13"),
        (GOOD + ",x", "the row has 14 cells, the head 13"),
        ("", "the row is empty"),
    ],
)
def test_a_row_that_cannot_be_predicted_keeps_its_place(row: str, said: str) -> None:
    found = predict(f"{HEAD}\n{GOOD}\n{row}\n{GOOD}\n")
    rows = written(found)
    assert found.failed == 1
    assert said in rows[1]["error"]
    assert rows[1]["tpot_ms"] == rows[1]["provenance"] == ""
    assert rows[0]["tpot_ms"] == rows[2]["tpot_ms"] != ""


def test_blank_is_unknown_and_said() -> None:
    (row,) = written(predict("model,accelerator,input_tokens,output_tokens\nQwen/Qwen3-32B-FP8,h100,1000,100\n"))
    assert row["provenance"].startswith("analytic (engine vllm; precision fp8 (from the name); tensor_parallel 1")


def test_columns_of_the_measurements_are_understood() -> None:
    names = "model,gpu,num_gpus,tp,pp,engine,precision,isl,osl,concurrency_or_batch,metric_kind"
    measured = predict(f"{names}\nqwen3-32b,H100-SXM,2,2.0,1.0,vllm 0.12.0,fp8,1024.0,256.0,32,online\n")
    assert measured.answers[0] == predict(f"{HEAD}\n{GOOD.replace('vllm', 'vllm 0.12.0')}\n").answers[0]


def test_max_is_full_load() -> None:
    full = predict(f"{HEAD}\n{GOOD.replace('32,online', 'max,')}\n{GOOD.replace('32,online', ',offline_throughput')}\n")
    assert full.answers[0] == full.answers[1]
    sent = predict(f"{HEAD}\n{GOOD.replace('32,online', 'max(100),')}\n").answers[0]
    assert isinstance(sent, Prediction) and isinstance(full.answers[0], Prediction)
    assert sent.req_per_s < full.answers[0].req_per_s


def test_a_column_named_like_a_result_is_kept() -> None:
    (row,) = written(predict(f"{HEAD},tpot_ms\n{GOOD},17\n"))
    assert row["tpot_ms"] == "17"
    assert float(row["predicted_tpot_ms"]) > 0


@pytest.mark.parametrize(
    ("data", "code", "said"),
    [
        (b"", "P102", "empty"),
        (b"\xff\xfe\x00a", "P102", "UTF-8"),
        (b'model,accelerator\nx,"y', "P102", "not CSV"),
        (b"model,a\0b\n", "P102", "NUL"),
        (b"model,accelerator\nx,y\n", "P103", "input_tokens, output_tokens"),
        (b"model;accelerator;input_tokens;output_tokens\n", "P103", "model"),
        (b"model,accelerator,input_tokens,output_tokens,model\n", "P104", "model is given twice"),
    ],
)
def test_a_table_that_is_none_is_refused(data: bytes, code: str, said: str) -> None:
    with pytest.raises(InputError) as caught:
        read_table(data, "in.csv")
    assert [f.code for f in caught.value.faults] == [code]
    assert said in caught.value.faults[0].message
    assert caught.value.faults[0].help


def test_a_byte_order_mark_and_foreign_line_ends_do_not_matter() -> None:
    plain = predict(f"{HEAD}\n{GOOD}\n")
    assert predict(b"\xef\xbb\xbf" + f"{HEAD}\r\n{GOOD}\r\n".encode()).answers == plain.answers
    assert predict(f"{HEAD}\n{GOOD}").answers == plain.answers


cells = st.one_of(
    st.sampled_from(
        ["", "1", "8.0", "max", "max(10)", "inf", "nan", "-3", "1e400", "qwen3-32b", "H100-SXM", "fp8", "0"]
    ),
    st.text(st.characters(exclude_characters="\0\r\n", exclude_categories=["Cs"]), max_size=12),
)


@given(st.lists(st.lists(cells, min_size=0, max_size=15), max_size=8))
def test_any_cells_give_a_prediction_or_a_reason(rows: list[list[str]]) -> None:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows(rows)
    found = predict(out.getvalue())
    assert len(found.answers) == len(found.table.rows)
    for answer in found.answers:
        if isinstance(answer, str):
            assert answer
        else:
            assert math.isfinite(answer.req_per_s) and answer.req_per_s > 0
    assert len(list(csv.reader(io.StringIO(table_text(found))))) == len(found.answers) + 1


@given(st.permutations(range(4)))
def test_rows_do_not_depend_on_each_other(order: list[int]) -> None:
    rows = [
        GOOD,
        GOOD.replace("32,online", "4,static_batch"),
        GOOD.replace("32,online", "1,single_stream"),
        "deepseek-r1,B200-SXM,8,1,1,8,trtllm,fp4,,1024,1024,256,online",
    ]
    straight = predict("\n".join([HEAD, *rows])).answers
    mixed = predict("\n".join([HEAD, *(rows[i] for i in order)])).answers
    assert [mixed[order.index(i)] for i in range(4)] == list(straight)


@pytest.mark.shared
def test_nine_in_ten_measured_rows_are_predicted(shared_data) -> None:
    """Of those that name TP, lengths, concurrency and a device."""
    data = (shared_data / "perf/measured.csv").read_bytes()
    found = predict(data)
    at = {h: i for i, h in enumerate(found.table.heads)}
    stated = [
        answer
        for row, answer in zip(found.table.rows, found.answers, strict=True)
        if all(row[at[h]] for h in ("tp", "isl", "osl", "concurrency_or_batch")) and "unstated" not in row[at["gpu"]]
    ]
    assert len(stated) > 6000
    assert sum(isinstance(a, Prediction) for a in stated) >= 0.99 * len(stated)


def test_prefix_caches_and_drafts_are_what_a_row_declares() -> None:
    head = f"{HEAD},cached_input_tokens,tokens_per_step"
    plain, warm, drafted, wrong = (
        written(predict(f"{head}\n{GOOD},{x}\n"))[0] for x in (",", "1000,", ",2.5", "2000,")
    )
    assert float(warm["ttft_ms"]) < float(plain["ttft_ms"])
    assert float(drafted["tpot_ms"]) < float(plain["tpot_ms"]) < 2.5 * float(drafted["tpot_ms"])
    assert "more than input_tokens" in wrong["error"]
