"""What binds: limits without slack in the verified plan, each as a sentence."""

from __future__ import annotations

from planner.explain.types import Binding
from planner.verify.types import Slack, Verification

_SENTENCES: dict[str, str] = {
    "serve_demand": "all demand of {keys} is served and none of it is surplus",
    "replica_capacity": "the replicas of {keys} are full at the sizing rate",
    "instance_packing": "every accelerator of {keys} is occupied",
    "spot_limit": "no more of {keys} may stand on spot",
    "spare": "the spare replicas of {keys} are exactly those asked for",
    "survive_loss": "what remains of {keys} after the loss just serves the promised share",
    "quota": "the quota {keys} is used up",
    "budget": "the budget is used up",
    "api_limits": "the API {keys} is at its rate limit",
    "provider_limits": "no further provider may be used",
    "configurations": "no further configuration may be used",
    "commitment_window": "the commitments of {keys} fill their window",
    "batch_deadline": "the batch work of {keys} ends just in time",
    "offer_limit": "no more of {keys} is on offer",
    "max_instances": "no more of {keys} is on offer",
    "owned": "all owned machines {keys} are in use",
}


def binding_limits(verification: Verification) -> tuple[Binding, ...]:
    """The binding limits, equal families and keys once (a limit that binds in several slices and bands is one)."""
    found: dict[tuple[str, tuple[str, ...]], Binding] = {}
    for slack in verification.binding:
        keys = tuple(k for k in slack.key if isinstance(k, str))
        found.setdefault((slack.family, keys), _binding(slack, keys))
    return tuple(found.values())


def _binding(slack: Slack, keys: tuple[str, ...]) -> Binding:
    sentence = _SENTENCES.get(slack.family, "{family} of {keys} has no slack")
    text = sentence.format(keys=" at ".join(keys) if keys else "the plan", family=slack.family)
    return Binding(
        family=slack.family, keys=keys, used=slack.needed, limit=slack.had, unit=slack.unit,
        text=f"{text} ({slack.needed:.4g} of {slack.had:.4g} {slack.unit})".replace(" )", ")"),
    )  # fmt: skip
