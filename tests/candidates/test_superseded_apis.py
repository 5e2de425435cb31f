"""A seed article's API price is planned with only where no current one is known."""

import pytest

from planner.base import Confidence
from planner.candidates.apis import api_checks
from planner.catalog.load import load_catalog
from planner.spec.types import Policy
from tests import builders as b


@pytest.mark.parametrize("newer", ["openai", "other"])
def test_a_seed_price_gives_way_to_a_current_one_of_the_same_provider(newer: str) -> None:
    catalog = b.make_catalog(
        apis=[b.api("openai", region="seed", confidence=Confidence.SEED), b.api(newer, input_usd_per_mtok=9.0)]
    )
    cls = b.request_class(((1.0,),), ((1.0,),), api_models=("tiny-api",))
    service = b.service([cls], ((1.0,),))
    failed = {a.id: [c.check for c in api_checks(a, cls, service, Policy(), catalog)] for a in catalog.apis}
    assert failed[f"{newer}/tiny-api"] == []
    assert failed["openai/tiny-api@seed"] == (["superseded"] if newer == "openai" else [])


def test_the_shipped_catalog_keeps_only_the_crossover_example_current() -> None:
    catalog = load_catalog()
    cls = b.request_class(((1.0,),), ((1.0,),))
    service = b.service([cls], ((1.0,),))
    seed = [a for a in catalog.apis if a.confidence is Confidence.SEED]
    kept = [a.id for a in seed if not api_checks(a, cls, service, Policy(), catalog)]
    assert kept == ["market/llama-4-maverick@seed"]
    assert len(seed) == 4
