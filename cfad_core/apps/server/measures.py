"""What is measured of a running server, for Prometheus."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from prometheus_client import CollectorRegistry, Counter, ProcessCollector, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from cfad_core.core.errors import CfadError
from cfad_core.runs.store import Store


class Measures:
    """Counts of this process, and those of the store at the moment they are asked for."""

    def __init__(self, store: Callable[[], Store]) -> None:
        self._registry = CollectorRegistry()
        self._answers = Counter(
            "cfad_requests", "Requests answered, by the first digit of the status", ["status"], registry=self._registry
        )
        self._errors = Counter(
            "cfad_errors", "Errors nobody foresaw, of pages and of requests", ["of"], registry=self._registry
        )
        for of in ("page", "request"):
            self._errors.labels(of)
        ProcessCollector(registry=self._registry)
        self._registry.register(_OfStore(store))

    def answered(self, status: int) -> None:
        self._answers.labels(f"{status // 100}xx").inc()
        if status == 500:
            self._errors.labels("request").inc()

    def page_broke(self, _: Exception) -> None:
        """A page ended with an error; Streamlit writes it down and says so to who looks."""
        self._errors.labels("page").inc()

    def text(self) -> bytes:
        """All of them, as Prometheus reads them."""
        return generate_latest(self._registry)


class _OfStore(Collector):
    """How many audits there are, how long the queue is, how long stages take; whether the store answers at all."""

    def __init__(self, store: Callable[[], Store]) -> None:
        self._store = store

    def describe(self) -> list[Metric]:
        """Nothing: registering is not to ask the store."""
        return []

    def collect(self) -> Iterator[Metric]:
        try:
            counts = self._store().counts()
        except CfadError:
            yield GaugeMetricFamily("cfad_store_up", "Whether the store answers", 0.0)
            return
        yield GaugeMetricFamily("cfad_store_up", "Whether the store answers", 1.0)
        audits = GaugeMetricFamily("cfad_audits", "Audits by status", labels=["status"])
        for status, count in counts.audits.items():
            audits.add_metric([status], count)
        yield audits
        yield GaugeMetricFamily("cfad_queue_length", "Audits that wait to be run", counts.audits["queued"])
        oldest = counts.oldest_queued or 0.0
        yield GaugeMetricFamily("cfad_queue_oldest_seconds", "How long the first of the queue has waited", oldest)
        yield from _stages({stage: (time.seconds, time.count) for stage, time in counts.stages.items()})


def _stages(stages: dict[str, tuple[float, int]]) -> Iterator[Metric]:
    """Gauges, for they fall when audits are deleted."""
    seconds = GaugeMetricFamily("cfad_stage_seconds", "Seconds that audits spent in a stage", labels=["stage"])
    runs = GaugeMetricFamily("cfad_stage_runs", "Finished audits that had a stage", labels=["stage"])
    for stage, (total, count) in stages.items():
        seconds.add_metric([stage], total)
        runs.add_metric([stage], count)
    yield seconds
    yield runs
