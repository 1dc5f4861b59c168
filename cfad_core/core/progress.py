"""What long work reports to, and asks whether to stop."""

from __future__ import annotations

from collections.abc import Mapping

from cfad_core.core.errors import AuditCancelled


class Progress:
    """Hears every step of long work. This base class ignores what it hears and never stops the work.

    Listeners (a progress bar, a job, live curves) override ``report`` and ``stop_requested``. The work
    itself only calls ``tick``.
    """

    def report(self, stage: str, step: int, total: int, values: Mapping[str, float]) -> None:
        """Hear that ``step`` of ``total`` steps of ``stage`` are done.

        ``values`` holds what is worth a live curve: ``loss``, and in discovery ``h`` and ``edges``.
        """

    def stop_requested(self) -> bool:
        """Should the work end at the next step?"""
        return False

    def tick(self, stage: str, step: int, total: int, **values: float) -> None:
        """Report a step, then end the work if that was asked for.

        Raises
        ------
        AuditCancelled
            If ``stop_requested`` says so.
        """
        self.report(stage, step, total, values)
        self.check(stage)

    def check(self, stage: str) -> None:
        """End the work if that was asked for, without reporting a step."""
        if self.stop_requested():
            raise AuditCancelled(f"The audit was cancelled during '{stage}'. Nothing was saved.")


class Renamed(Progress):
    """Passes everything on, with another name for each stage."""

    def __init__(self, inner: Progress, prefix: str) -> None:
        self._inner, self._prefix = inner, prefix

    def report(self, stage: str, step: int, total: int, values: Mapping[str, float]) -> None:
        self._inner.report(f"{self._prefix}{stage}", step, total, values)

    def stop_requested(self) -> bool:
        return self._inner.stop_requested()

    def check(self, stage: str) -> None:
        self._inner.check(f"{self._prefix}{stage}")


class Silent(Progress):
    """Passes nothing on of work that is one step of a stage, but stops it when that is asked for."""

    def __init__(self, inner: Progress, stage: str) -> None:
        self._inner, self._stage = inner, stage

    def stop_requested(self) -> bool:
        return self._inner.stop_requested()

    def check(self, stage: str) -> None:  # noqa: ARG002 - people know the outer stage
        self._inner.check(self._stage)


class Only(Silent):
    """Passes on what one stage reports, and nothing of other work that is part of it."""

    def report(self, stage: str, step: int, total: int, values: Mapping[str, float]) -> None:
        if stage == self._stage:
            self._inner.report(stage, step, total, values)


class DoneShare:
    """How much of a piece of work is done, by its stages' usual shares of the time. Never falls.

    Parameters
    ----------
    weights : of the stages, in their order; stages that are not among them count nothing
    """

    def __init__(self, weights: Mapping[str, float]) -> None:
        self._weights, self._done = dict(weights), 0.0

    def after(self, stage: str, step: int, total: int) -> float:
        """The share, 0 to 1, when ``step`` of ``total`` of a stage are done."""
        if stage in self._weights:
            names = list(self._weights)
            before = sum(self._weights[name] for name in names[: names.index(stage)])
            here = self._weights[stage] * (step / total if total else 1.0)
            self._done = max(self._done, (before + here) / sum(self._weights.values()))
        return self._done
