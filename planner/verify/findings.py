"""Where checks write down what is broken and what is tight."""

from __future__ import annotations

from dataclasses import dataclass, field

from planner.verify.types import Key, Slack, Violation

TOLERANCE = 1e-6
"""Relative to the limit (at least 1): what a solver's rounding may miss."""


def tolerance(scale: float) -> float:
    """How far a row of this size may be missed."""
    return TOLERANCE * max(1.0, abs(scale))


@dataclass(slots=True)
class Findings:
    """Violations and, per family and subject, the tightest satisfied limit."""

    violations: list[Violation] = field(default_factory=list)
    _tight: dict[tuple[str, Key], Slack] = field(default_factory=dict)

    def broken(
        self,
        family: str,
        key: Key,
        detail: str,
        needed: float | str | None = None,
        had: float | str | None = None,
        unit: str = "",
    ) -> None:
        """Record a violation."""
        self.violations.append(
            Violation(family=family, key=key, needed=needed, had=had, unit=unit, detail=detail)
        )  # fmt: skip

    def at_most(
        self,
        family: str,
        key: Key,
        needed: float,
        had: float,
        unit: str,
        *,
        step: float = 0.0,
        subject: Key | None = None,
        detail: str = "",
    ) -> None:
        """Check `needed ≤ had`.

        A satisfied limit binds when less than one `step` of `had` (a replica, an instance; 0: the tolerance) is left;
        of equal `subject`s (default: the key) only the tightest is kept.
        """
        if not needed <= had + tolerance(had):
            self.broken(family, key, detail, needed, had, unit)
        elif needed > 0 and had - needed < max(step, tolerance(had)) * (1 - TOLERANCE):
            slack = Slack(family=family, key=key, needed=needed, had=had, unit=unit)
            place = (family, key if subject is None else subject)
            before = self._tight.get(place)
            if before is None or slack.slack < before.slack:
                self._tight[place] = slack

    @property
    def binding(self) -> tuple[Slack, ...]:
        """Satisfied limits without slack, by family and key."""
        return tuple(sorted(self._tight.values(), key=lambda s: (s.family, tuple(map(str, s.key)))))
