"""A small catalog by hand, and specs around one workload."""

from collections.abc import Callable
from datetime import date

import pytest

from planner.base import Confidence
from planner.catalog.catalog import Catalog
from planner.catalog.types import TrafficProfile
from planner.spec.types import Spec

OFFICE = tuple([1.0] * 7 + [5.0] * 10 + [2.0] * 7)


@pytest.fixture(scope="session")
def catalog() -> Catalog:
    day = date(2026, 11, 30)
    office = TrafficProfile(
        id="office-hours", weights=OFFICE, description="a day", source="test", as_of=day, confidence=Confidence.ASSUMED
    )
    return Catalog("test", day, "0" * 64, (), (), (), (), (), (), (), (), (), (), (office,), (), (), ())


@pytest.fixture(scope="session")
def spec_of() -> Callable[..., Spec]:
    def make(*workloads: dict[str, object], **fields: object) -> Spec:
        filled = [{"name": f"w{i}", "models": ("m",), **w} for i, w in enumerate(workloads)]
        return Spec.model_validate({"schema_version": 1, "name": "test", "workloads": filled, **fields})

    return make
