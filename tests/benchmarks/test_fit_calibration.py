"""The benchmark of calibrations, on residuals that are known."""

import numpy as np
import pandas as pd

from benchmarks.fit_calibration import judge, search, subjects
from planner.performance.calibration import load_calibration_parameters

KERNEL = load_calibration_parameters().step


def frame(shift: float, noise: float) -> pd.DataFrame:
    """Six subjects of ten points, each off by ± `shift` throughout, and some noise."""
    random = np.random.default_rng(3)
    rows = [
        {
            "model": f"m{s}", "accelerator": "a", "engine": "e", "configuration": "c", "concurrency": 4.0 * (i + 1),
            "input_tokens": 1000.0, "output_tokens": 200.0,
            "tpot_log": shift * (-1) ** s + noise * random.normal(), "ttft_log": np.nan,
        }
        for s in range(6)
        for i in range(10)
    ]  # fmt: skip
    return pd.DataFrame(rows)


def test_points_take_away_what_all_points_of_a_subject_share() -> None:
    found = subjects(frame(0.3, 0.02), "tpot_log")
    assert len(found) == 6
    medians = [judge(found, KERNEL, count).median_ape for count in (0, 1, 3)]
    assert 0.2 < medians[0] < 0.4
    assert medians[1] < 0.4 * medians[0]
    assert medians[2] < medians[1]


def test_rows_without_a_measurement_and_small_subjects_are_left_out() -> None:
    assert subjects(frame(0.3, 0.02), "ttft_log") == []
    assert subjects(frame(0.3, 0.02).groupby("model").head(3), "tpot_log") == []


def test_a_search_does_not_return_a_worse_kernel() -> None:
    found = subjects(frame(0.3, 0.1), "tpot_log")
    better = search(found, KERNEL, 3)

    def cost(kernel: object) -> float:
        scores = [judge(found, kernel, k, 4) for k in (1, 2, 3)]
        return sum(s.median_ape for s in scores) + 0.25 * sum(abs(s.inside - 0.8) for s in scores)

    assert cost(better) <= cost(KERNEL)
