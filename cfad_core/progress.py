"""What long work reports to, and asks whether to stop."""

from __future__ import annotations

from collections.abc import Mapping

from cfad_core.errors import AuditCancelled


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
