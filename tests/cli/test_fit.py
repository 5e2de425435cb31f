"""`planner fit`: the contract of DESIGN §8, exit codes, and clear errors."""

import csv
import io
import json
from pathlib import Path

import pytest

ASKED = ("fit", "--model", "llama-3.3-70b", "--accelerator", "H100-80GB", "--precision", "fp8",
         "--gpu-memory-utilization", "0.95")  # fmt: skip


def test_what_fits_exits_0_with_the_contract(planner) -> None:
    ran = planner(
        *ASKED, "--tensor-parallel", "2", "--max-model-len", "8192", "--engine", "vllm@0.19", "--format", "json"
    )
    assert (ran.code, ran.err) == (0, "")
    tree = json.loads(ran.out)
    assert tree["fits"] is True
    assert tree["weights_gib_per_gpu"] == pytest.approx(33.89, rel=0.01)
    assert tree["overhead_gib_per_gpu"] == pytest.approx(4.06, rel=0.05)
    assert tree["kv_pool_gib_per_gpu"] == pytest.approx(37.28, abs=0.3)
    assert tree["kv_cache_tokens"] == pytest.approx(244318, rel=0.01)
    assert tree["max_concurrency"] == pytest.approx(244318 / 8192, rel=0.01)
    assert sum(tree["overhead_parts_gib"].values()) == pytest.approx(tree["overhead_gib_per_gpu"], rel=1e-4)
    assert {limit["kind"] for limit in tree["limits"]} == {"bounds"}
    assert tree["suggestions"] == []
    assert (tree["model"], tree["accelerator"]) == ("llama-3.3-70b-instruct", "H100-SXM")
    assert (tree["engine_version"], tree["max_num_seqs"], tree["accelerators"]) == ("0.19", 1024, 2)


def test_what_does_not_fit_exits_3_with_limits_and_verified_suggestions(planner) -> None:
    ran = planner(*ASKED, "--tensor-parallel", "1", "--max-model-len", "65536", "--format", "json")
    tree = json.loads(ran.out)
    assert (ran.code, tree["fits"]) == (3, False)
    assert [limit["limit"] for limit in tree["limits"]] == ["memory"]
    assert tree["limits"][0]["needed"] > tree["limits"][0]["had"]
    assert tree["suggestions"]
    for suggestion in tree["suggestions"]:
        change = {f"--{k.replace('_', '-')}": str(v) for k, v in suggestion["change"].items()}
        asked = {"--tensor-parallel": "1", "--max-model-len": "65536", **change}
        again = planner(*ASKED, *(x for pair in asked.items() for x in pair), "--format", "json")
        assert again.code == 0, suggestion
        assert json.loads(again.out)["max_concurrency"] == suggestion["max_concurrency"]


def test_the_table_says_what_limits_and_what_to_change(planner) -> None:
    ran = planner(*ASKED, "--tensor-parallel", "1", "--max-model-len", "65536")
    assert ran.code == 3
    for words in ("does not fit", "weights", "KV cache", "unused", "What fails", "What to change", "TP2"):
        assert words in ran.out
    assert all(len(line) <= 100 for line in ran.out.splitlines())


def test_without_a_split_the_fewest_accelerators_are_sought(planner) -> None:
    ran = planner(*ASKED, "--max-model-len", "32768", "--format", "json")
    assert (ran.code, json.loads(ran.out)["accelerators"]) == (0, 2)


def test_a_model_is_read_from_its_config(planner, tmp_path: Path) -> None:
    config = {
        "model_type": "llama", "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32,
        "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 128256, "max_position_embeddings": 131072,
    }  # fmt: skip
    (tmp_path / "config.json").write_text(json.dumps(config))
    common = ("--accelerator", "H100", "--tensor-parallel", "1", "--precision", "bf16", "--max-model-len", "8192",
              "--format", "json")  # fmt: skip
    ran = planner("fit", "--config", str(tmp_path / "config.json"), *common)
    listed = planner("fit", "--model", "llama-3.1-8b", *common)
    assert (ran.code, listed.code) == (0, 0)
    mine, theirs = json.loads(ran.out), json.loads(listed.out)
    for key in ("weights_gib_per_gpu", "kv_pool_gib_per_gpu", "kv_cache_tokens", "max_concurrency"):
        assert mine[key] == theirs[key]
    assert mine["model"] == tmp_path.name


def test_fp32_weights_keep_an_fp32_cache_unless_told_otherwise(planner) -> None:
    base = ("fit", "--model", "llama-3.1-8b", "--accelerator", "H100", "--tensor-parallel", "1", "--max-model-len",
            "8192", "--precision", "fp32", "--format", "json")  # fmt: skip
    assert json.loads(planner(*base).out)["kv_precision"] == "fp32"
    assert json.loads(planner(*base, "--kv-precision", "bf16").out)["kv_precision"] == "bf16"


def test_a_table_over_all_accelerators(planner) -> None:
    base = ("fit", "--model", "llama-3.3-70b", "--precision", "fp8", "--max-model-len", "8192")
    tree = json.loads(planner(*base, "--format", "json").out)
    by_id = {row["accelerator"]: row for row in tree["rows"]}
    assert tree["fits"] and by_id["H100-SXM"]["accelerators"] == 2 and by_id["H200-SXM"]["accelerators"] == 1
    assert not by_id["M3-Ultra"]["fits"] and by_id["M3-Ultra"]["limits"]
    rows = list(csv.DictReader(io.StringIO(planner(*base, "--format", "csv").out)))
    assert [r["accelerator"] for r in rows] == [r["accelerator"] for r in tree["rows"]]
    assert "2 × H100-SXM" in planner(*base).out


def test_nothing_fits_nowhere_is_3(planner) -> None:
    ran = planner("fit", "--model", "kimi-k3", "--precision", "fp8", "--engine", "exllamav2")
    assert ran.code == 3
    assert "does not fit on" in ran.out


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ((), "give a model"),
        (("--model", "a", "--config", "b"), "give a model"),
        (("--model", "llama-3.1-8x"), "did you mean"),
        (("--model", "llama-3.1-8b", "--accelerator", "H1000"), "did you mean"),
        (("--model", "llama-3.1-8b", "--accelerator", "H100", "--precision", "fp9"), "fp8"),
        (("--model", "llama-3.1-8b", "--accelerator", "H100", "--kv-precision", "int4"), "U115"),
        (("--model", "llama-3.1-8b", "--accelerator", "H100", "--engine", "vlm"), "vllm"),
        (("--model", "llama-3.1-8b", "--accelerator", "H100", "--engine", "vllm@new"), "U113"),
        (("--model", "llama-3.1-8b", "--accelerator", "H100", "--tensor-parallel", "0"), "0"),
        (("--model", "llama-3.1-8b", "--accelerator", "H100", "--max-model-len", "-5"), "-5"),
        (("--model", "llama-3.1-8b", "--accelerator", "H100", "--gpu-memory-utilization", "1.2"), "1.2"),
        (("--model", "llama-3.1-8b", "--accelerator", "H100", "--gpu-memory-utilization", "nan"), "nan"),
        (("--model", "llama-3.1-8b", "--accelerator", "H100", "--pipeline-parallel", "2"), "--tensor-parallel"),
        (("--model", "llama-3.1-8b", "--tensor-parallel", "2"), "--accelerator"),
        (("--model", "llama-3.1-8b", "--accelerator", "H100", "--format", "csv"), "csv"),
        (
            ("--model", "qwen3-30b-a3b", "--accelerator", "H100", "--tensor-parallel", "4", "--expert-parallel", "3"),
            "U116",
        ),
        (("--config", "nowhere.json", "--accelerator", "H100"), "nowhere.json"),
    ],
)
def test_a_question_that_cannot_be_asked_is_a_clear_error(planner, options: tuple[str, ...], said: str) -> None:
    ran = planner("fit", *options)
    assert (ran.code, ran.out) == (2, "")
    assert said in ran.err


def test_all_unknown_names_come_at_once(planner) -> None:
    ran = planner("fit", "--model", "x1", "--accelerator", "y2", "--precision", "z3")
    assert ran.err.count("error[U114]") == 3
