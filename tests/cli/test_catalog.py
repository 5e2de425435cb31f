"""`planner catalog list | show | check` on the shipped catalog and with overlays."""

import csv
import io
import json
from pathlib import Path

import pytest


def test_list_without_a_table_counts_every_table(planner) -> None:
    tree = json.loads(planner("catalog", "list", "--format", "json").out)
    assert tree["tables"]["accelerators"] > 50
    assert tree["tables"]["offers"] > 1000
    assert "accelerators" in planner("catalog", "list").out


@pytest.mark.parametrize("format_", ["table", "json", "csv", "markdown"])
def test_every_table_can_be_listed(planner, format_: str) -> None:
    for table in json.loads(planner("catalog", "list", "--format", "json").out)["tables"]:
        ran = planner("catalog", "list", table, "--format", format_, "--where", f"{_some_field(table)}=no-such-value")
        assert ran.code == 0, (table, ran.err)


def _some_field(table: str) -> str:
    return {"spot_markets": "provider", "round_trips": "country", "regions": "provider", "offers": "provider"}.get(
        table, "source"
    )


def test_aliases_work_where_rows_are_filtered(planner) -> None:
    by_alias = planner("catalog", "list", "offers", "--where", "accelerator=H100-80GB", "--format", "csv").out
    by_id = planner("catalog", "list", "offers", "--where", "accelerator=H100-SXM", "--format", "csv").out
    assert by_alias == by_id
    rows = list(csv.DictReader(io.StringIO(by_id)))
    assert rows
    assert {r["accelerator"] for r in rows} == {"H100-SXM"}


def test_unknown_field_names_the_known_ones(planner) -> None:
    ran = planner("catalog", "list", "offers", "--where", "acelerator=H100")
    assert ran.code == 2
    assert "error[U105]" in ran.err
    assert "accelerator" in ran.err


def test_filter_without_a_value_is_bad_usage(planner) -> None:
    assert planner("catalog", "list", "offers", "--where", "accelerator").code == 2


@pytest.mark.parametrize(
    ("condition", "said"),
    [
        ("accelerator=H1OO", "did you mean H100"),
        ("accelerator=H100-SMX", "did you mean H100-SXM"),
        ("provider=exoscal", "did you mean exoscale?"),
        ("country=XX", "no row of offers has country=XX"),
    ],
)
def test_value_that_no_row_has_is_answered_with_near_ones(planner, condition: str, said: str) -> None:
    ran = planner("catalog", "list", "offers", "--where", condition)
    assert ran.code == 0
    assert ran.out.endswith("0 rows\n")
    assert said in ran.err


def test_values_that_no_row_has_together_are_told_from_unknown_ones(planner) -> None:
    ran = planner("catalog", "list", "offers", "--where", "provider=exoscale", "--where", "provider=aws")
    assert "no row has all of them" in ran.err
    assert planner("catalog", "list", "offers", "--where", "provider=exoscale").err == ""


def test_countries_are_listed_with_their_names_and_groups(planner) -> None:
    rows = {r["id"]: r for r in json.loads(planner("catalog", "list", "countries", "--format", "json").out)}
    assert rows["DE"]["name"] == "Germany"
    assert "EU" in rows["DE"]["groups"].split("; ")
    assert rows["DE"]["regions"] > 0
    assert rows["EU"]["name"].startswith("group of 27 countries")
    members = json.loads(planner("catalog", "list", "countries", "--where", "groups=DACH", "--format", "json").out)
    assert [r["id"] for r in members] == ["AT", "CH", "DE"]


@pytest.mark.parametrize("table", ["countries", "client_regions", "certifications"])
@pytest.mark.parametrize("format_", ["table", "json", "csv", "markdown"])
def test_lists_of_names_are_listed_in_every_format(planner, table: str, format_: str) -> None:
    assert len(planner("catalog", "list", table, "--format", format_).out.splitlines()) > 3
    assert planner("catalog", "list", table, "--format", format_, "--where", "id=nothing").code == 0
    assert table in planner("catalog", "list").out


@pytest.mark.parametrize("name", ["H100-SXM", "h100-80gb", "A100-80GB-SXM", "vllm", "fp8", "aws"])
def test_show_finds_ids_and_aliases(planner, name: str) -> None:
    tree = json.loads(planner("catalog", "show", name, "--format", "json").out)
    assert tree
    assert all(row["source"] and row["as_of"] and row["confidence"] for row in tree)
    assert planner("catalog", "show", name).out.startswith("[")


def test_show_suggests_near_names(planner) -> None:
    ran = planner("catalog", "show", "H100-SMX")
    assert ran.code == 2
    assert "error[U108]" in ran.err
    assert "h100-sxm" in ran.err.lower()


def test_shipped_catalog_has_no_errors(planner) -> None:
    ran = planner("catalog", "check")
    assert ran.code == 0
    assert "0 errors" in ran.out.splitlines()[-1]
    short, long = len(ran.out.splitlines()), len(planner("catalog", "check", "--all").out.splitlines())
    assert long > short


def test_bad_overlay_is_refused_with_a_code(planner, tmp_path: Path) -> None:
    overlay = tmp_path / "mine.yaml"
    overlay.write_text(
        "offers:\n"
        "  - {provider: aws, region: us-east-1, instance_type: p5.48xlarge, option: on_demand, "
        "price_usd_per_hour: 0, source: me, as_of: 2026-11-01, confidence: list}\n"
    )
    ran = planner("catalog", "check", "--overlay", str(overlay))
    assert ran.code == 2
    assert "error[C" in ran.err


def test_catalog_that_is_not_there_is_refused(planner) -> None:
    ran = planner("catalog", "list", "--catalog", "no/such/dir")
    assert ran.code == 2
    assert "error[C101]" in ran.err


LLAMA = {
    "model_type": "llama", "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32,
    "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 128256, "max_position_embeddings": 131072,
}  # fmt: skip


def test_a_model_config_is_counted(planner, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps(LLAMA))
    for given in (tmp_path, tmp_path / "config.json"):
        ran = planner("catalog", "model", str(given), "--format", "json")
        assert ran.code == 0, ran.err
        found = json.loads(ran.out)
        assert found["total_params_b"] == pytest.approx(8.03, rel=1e-3)
        assert found["active_params_without_embeddings_b"] == pytest.approx(6.98, rel=1e-3)
        assert (found["kv_bytes_per_token"], found["attention"], found["layers"]) == (131072, "gqa", 32)
        assert found["schema_version"] == "1"
    assert "32 × full" in planner("catalog", "model", str(tmp_path)).out


@pytest.mark.parametrize(
    ("text", "code", "said"),
    [
        ('{"model_type": "llama"', "C101", "complete"),
        ("[1, 2]", "C201", "mapping of fields"),
        ("{}", "C201", "mapping of fields"),
        ('{"model_type": "lama", "hidden_size": 64}', "C202", "llama"),
        ('{"model_type": "llama", "hidden_size": "wide"}', "C204", "hidden_size"),
        ('{"architectures": ["Xyz9"]}', "C202", "architectures"),
        ("[" * 100_000, "C101", "nested"),
        ("\x00\xff", "C101", ""),
    ],
)
def test_a_config_that_cannot_be_read_is_a_clear_error(
    planner, tmp_path: Path, text: str, code: str, said: str
) -> None:
    path = tmp_path / "config.json"
    path.write_text(text, encoding="latin-1")
    ran = planner("catalog", "model", str(path))
    assert ran.code == 2
    assert f"error[{code}]" in ran.err
    assert said in ran.err
    assert ran.out == ""


def test_a_folder_without_a_config_is_an_error(planner, tmp_path: Path) -> None:
    ran = planner("catalog", "model", str(tmp_path))
    assert (ran.code, "config.json" in ran.err) == (2, True)
