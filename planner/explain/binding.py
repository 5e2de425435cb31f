"""What binds: limits without slack in the verified plan, each as a sentence."""

from __future__ import annotations

from planner.explain.types import Binding
from planner.verify.types import Slack, Verification

SENTENCES: dict[str, str] = {
    "serve_demand": "all demand is served and no more",
    "replica_capacity": "with one replica less the rest could not serve at the sizing rate",
    "instance_packing": "with one instance less the replicas would not fit",
    "spot_limit": "no more of the demand may stand on spot",
    "spare": "there is not one spare replica too many",
    "survive_loss": "what remains after the loss just serves the promised share",
    "quota": "the quota is used up",
    "budget": "the budget is used up",
    "api_limits": "the API is at its rate limit",
    "provider_limits": "no further provider may be used",
    "configurations": "no further configuration may be used",
    "commitment_window": "the commitments fill their window",
    "batch_deadline": "the batch work ends just in time",
}
"""What it means for a person that a family binds."""


def binding_limits(verification: Verification) -> tuple[Binding, ...]:
    """The binding limits, equal families and keys once (a limit that binds in several slices and bands is one)."""
    found: dict[tuple[str, tuple[str, ...]], Binding] = {}
    for slack in verification.binding:
        keys = tuple(k for k in slack.key if isinstance(k, str))
        found.setdefault((slack.family, keys), _binding(slack, keys))
    return tuple(found.values())


def _binding(slack: Slack, keys: tuple[str, ...]) -> Binding:
    sentence = SENTENCES.get(slack.family, f"{slack.family} has no slack")
    where = f": {', '.join(keys)}" if keys else ""
    amount = f" ({slack.needed:.4g} of {slack.had:.4g} {slack.unit}".rstrip() + ")"
    return Binding(
        family=slack.family, keys=keys, used=slack.needed, limit=slack.had, unit=slack.unit,
        text=f"{sentence}{where}{amount}",
    )  # fmt: skip
