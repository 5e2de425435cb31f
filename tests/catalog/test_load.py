"""The shipped catalog loads, is complete and dated, and never depends on the order or the cache it was read from."""

import random
from datetime import date
from pathlib import Path

import pytest

from planner.base import Confidence, PurchaseOption
from planner.catalog import cache, load
from planner.catalog.catalog import Catalog
from planner.catalog.load import load_catalog, shipped_directory
from planner.catalog.tables import TABLES
from planner.errors import InputError


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return load_catalog()


def small(directory: Path, offers: str, **tables: str) -> Path:
    """A catalog of one provider with the given offers (CSV lines) and extra tables."""
    dated = "# default: source = test\n# default: as_of = 2026-11-30\n# default: confidence = list\n"
    files = {
        "accelerators.csv": "id,vendor,kind,memory_gb,memory_gib_visible,memory_type,bandwidth_gb_per_s,bf16_tflops,"
        "link\n"
        "H100-SXM,nvidia,gpu,80,79.2,HBM3,3350,989,nvlink4\n",
        "providers.csv": "id,name,operator_jurisdiction\nacme,Acme,DE\n",
        "regions.csv": "provider,region,country\nacme,eu-1,DE\n",
        "instance_types.csv": "id,provider,name,accelerator,accelerators,interconnect,tensor_parallel_domain\n"
        "acme/8x,acme,8x,H100-SXM,8,nvlink,8\nacme/1x,acme,1x,H100-SXM,1,none,1\n",
        "offers.csv": "provider,region,instance_type,option,price_usd_per_hour,note\n" + offers,
    }
    for name, text in {**files, **{f"{k}.csv": v for k, v in tables.items()}}.items():
        (directory / name).write_text(dated + text, encoding="utf-8")
    (directory / "catalog.yaml").write_text("name: small\nas_of: 2026-11-30\n", encoding="utf-8")
    return directory


def faults_of(directory: Path) -> list[tuple[str, str | None, int | None]]:
    with pytest.raises(InputError) as caught:
        load_catalog(str(directory))
    return [(f.code, f.file, f.line) for f in caught.value.faults]


def test_every_row_says_where_it_is_from_when_and_how_sure(catalog: Catalog) -> None:
    for table in TABLES:
        rows = getattr(catalog, table)
        assert rows or table == "price_paths", table  # how prices will move is for whoever plans to say
        assert all(r.source and isinstance(r.as_of, date) and isinstance(r.confidence, Confidence) for r in rows), table
        assert all(r.as_of <= date(2026, 11, 30) for r in rows), table


def test_rows_come_in_canonical_order(catalog: Catalog) -> None:
    for table in TABLES.values():
        keys = [table.key(row) for row in getattr(catalog, table.name)]
        assert keys == sorted(keys)
        assert len(set(keys)) == len(keys)


def test_order_of_lines_changes_nothing(tmp_path: Path) -> None:
    lines = (shipped_directory() / "offers" / "others.csv").read_text(encoding="utf-8").splitlines()
    start = next(i for i, line in enumerate(lines) if not line.startswith("#")) + 1
    shuffled = lines[start:]
    random.Random(7).shuffle(shuffled)
    for path in shipped_directory().rglob("*"):
        if path.is_file():
            copy = tmp_path / path.relative_to(shipped_directory())
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(path.read_bytes())
    (tmp_path / "offers" / "others.csv").write_text("\n".join(lines[:start] + shuffled), encoding="utf-8")
    assert load_catalog(str(tmp_path)) == load_catalog()


def test_a_warm_load_parses_nothing(catalog: Catalog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLANNER_CACHE_DIR", str(tmp_path))
    load_catalog()

    def parse(*_: object) -> None:
        raise AssertionError("a warm load reads a table again")

    monkeypatch.setattr(load, "read_rows", parse)
    assert load_catalog() == catalog


def test_damaged_and_unwritable_caches_are_ignored(
    catalog: Catalog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PLANNER_CACHE_DIR", str(tmp_path))
    assert load_catalog() == catalog
    (cached,) = tmp_path.glob("catalog-*.pickle")
    cached.write_bytes(cached.read_bytes()[:-20] + b"x" * 20)
    assert load_catalog() == catalog
    cached.write_bytes(b"")
    assert load_catalog() == catalog
    monkeypatch.setenv("PLANNER_CACHE_DIR", "/dev/null/nowhere")
    assert load_catalog() == catalog


def test_a_cache_file_that_others_may_write_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLANNER_CACHE_DIR", str(tmp_path))
    cache.store("k" * 64, {"a": 1})
    assert cache.load("k" * 64) == {"a": 1}
    next(tmp_path.glob("catalog-*.pickle")).chmod(0o666)
    assert cache.load("k" * 64) is None


def test_a_small_directory_is_a_catalog(tmp_path: Path) -> None:
    found = load_catalog(str(small(tmp_path, "acme,eu-1,8x,on_demand,28.8,\nacme,eu-1,8x,reserved_1y,20,\n")))
    assert found.name == "small"
    assert [o.id for o in found.offers] == ["acme/eu-1/8x/on_demand", "acme/eu-1/8x/reserved_1y"]
    assert found.offers[1].term_months == 12


def test_all_faults_come_at_once_with_file_and_line(tmp_path: Path) -> None:
    lines = [
        "acme,eu-1,8x,on_demand,0,zero",
        "acme,eu-1,8x,spot,nan,no number",
        "acme,eu-1,8x,reserved_1y,-3,negative",
        "acme,eu-1,1x,on_demand,abc,text",
        "acme,eu-1,1x,spot,1.0,",
        "acme,eu-1,1x,spot,1.0,twice",
        "acme,eu-1,1x,api,1.0,no purchase of an instance",
    ]
    found = faults_of(small(tmp_path, "\n".join(lines)))
    assert found == [
        ("C108", "offers.csv", 5),
        ("C108", "offers.csv", 6),
        ("C108", "offers.csv", 7),
        ("C108", "offers.csv", 8),
        ("C106", "offers.csv", 10),
        ("C104", "offers.csv", 11),
    ]


def test_unknown_names_are_refused_with_the_nearest_ones(tmp_path: Path) -> None:
    directory = small(
        tmp_path,
        "acme,eu-1,9x,on_demand,3,\nacme,eu-2,8x,on_demand,3,\n",
        spot_markets="provider,accelerator,interruptions_per_up_hour,start_h,availability\nacne,H100-SXN,0.1,0.1,0.9\n",
    )
    with pytest.raises(InputError) as caught:
        load_catalog(str(directory))
    assert [f.code for f in caught.value.faults] == ["C107"] * 4
    text = " ".join(f"{f.message} {f.help}" for f in caught.value.faults)
    for expected in ("8x", "'9x'", "'eu-2'", "did you mean acme", "did you mean H100-SXM"):
        assert expected in text


def test_an_undated_row_is_refused(tmp_path: Path) -> None:
    directory = small(tmp_path, "acme,eu-1,8x,on_demand,3,\n")
    text = (directory / "offers.csv").read_text(encoding="utf-8").replace("# default: as_of = 2026-11-30\n", "")
    (directory / "offers.csv").write_text(text, encoding="utf-8")
    assert faults_of(directory) == [("C109", "offers.csv", 4)]


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (lambda d: (d / "catalog.yaml").unlink(), "C101"),
        (lambda d: (d / "catalog.yaml").write_text("- just\n- a list\n"), "C103"),
        (lambda d: (d / "offers.csv").write_bytes(b"\xff\xfe\x00"), "C101"),
        (lambda d: (d / "offers.csv").write_text(""), "C103"),
        (lambda d: (d / "engines.yaml").write_text("a: [1\n"), "C101"),
        (lambda d: (d / "engines.yaml").write_text("rows: nothing\n"), "C103"),
        (lambda d: (d / "models.json").write_text("{"), "C101"),
    ],
)
def test_files_that_cannot_be_read_are_faults(tmp_path: Path, change: object, code: str) -> None:
    directory = small(tmp_path, "acme,eu-1,8x,on_demand,3,\n")
    change(directory)  # type: ignore[operator]
    assert code in {c for c, _, _ in faults_of(directory)}


def test_no_directory_and_an_empty_one_are_faults(tmp_path: Path) -> None:
    assert faults_of(tmp_path / "missing")[0][0] == "C101"
    directory = small(tmp_path, "")
    assert {c for c, _, _ in faults_of(directory)} == {"C103"}


def test_spot_that_is_no_discount_is_flagged_and_not_usable(tmp_path: Path) -> None:
    lines = "acme,eu-1,8x,on_demand,20,\nacme,eu-1,8x,spot,21,\nacme,eu-1,1x,on_demand,3,\nacme,eu-1,1x,spot,1,\n"
    offers = {o.id: o for o in load_catalog(str(small(tmp_path, lines))).offers}
    assert offers["acme/eu-1/8x/spot"].flags == ("spot_not_below_on_demand",)
    assert not offers["acme/eu-1/8x/spot"].usable
    assert offers["acme/eu-1/1x/spot"].usable


def test_seed_prices_stay_beside_current_ones_but_are_not_planned_with(catalog: Catalog) -> None:
    offers = {o.id: o for o in catalog.offers}
    seed = offers["lambda/seed/seed-1x-H100/on_demand"]
    assert seed.confidence is Confidence.SEED and seed.price_usd_per_hour == 2.49
    assert "superseded" in seed.flags and not seed.usable
    current = [o for o in catalog.offers if o.provider == "lambda" and o.region != "seed"]
    assert {o.confidence for o in current} <= {Confidence.LIST, Confidence.DERIVED, Confidence.ASSUMED}
    assert all(o.option is not PurchaseOption.SPOT for o in current)
    assert "not_sold" in offers["gcp/seed/seed-1x-L40S/on_demand"].flags


def test_api_prices_move_with_the_price_date(catalog: Catalog) -> None:
    before = load_catalog(price_date=date(2026, 7, 31))
    (old,) = (a for a in before.apis if a.id == "openai/gpt-5.6-sol")
    (new,) = (a for a in catalog.apis if a.id == "openai/gpt-5.6-sol")
    assert (old.input_usd_per_mtok, old.output_usd_per_mtok) == (5, 30)
    assert (new.input_usd_per_mtok, new.output_usd_per_mtok) == (4, 20)
    assert old.as_of == date(2026, 7, 31)
    assert before.sha256 != catalog.sha256


def test_names_resolve_in_any_spelling(catalog: Catalog) -> None:
    for name in ("h100", "H100-80GB", "H100 SXM", "h100_sxm"):
        assert catalog.accelerator(name).id == "H100-SXM"
    assert catalog.accelerator("RTX 4090").id == "RTX-4090"
    assert catalog.accelerator("M4 Ultra").id == "M3-Ultra"
    assert catalog.engine("TensorRT-LLM").id == "trtllm"
    assert catalog.precision("awq").id == "int4"
    assert catalog.provider("ovh").id == "ovhcloud"
    for name, expected in (("NVIDIA A100-SXM4-80GB", "A100-SXM-80GB"), ("NVIDIA L4", "L4"), ("Tesla T4", "T4"),
                           ("NVIDIA GeForce RTX 4090", "RTX-4090"), ("AMD Instinct MI300X", "MI300X"),
                           ("NVIDIA RTX 6000 Ada Generation", "RTX-6000-Ada"),
                           ("Apple M3 Ultra", "M3-Ultra")):  # fmt: skip
        assert catalog.accelerator(name).id == expected
    assert catalog.provider("Google Cloud").id == "gcp"
    assert catalog.known_names().accelerators["a100-80gb-sxm"] == "A100-SXM-80GB"
