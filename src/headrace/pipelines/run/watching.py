"""Small questions to running queries: what is new, is it idle, and stop it between two batches.

Spark's `stop` interrupts whatever runs. Nothing is lost by that, since the next start repeats the
batch, but work is; so a query is stopped when it has just finished a batch or waits for data.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

from headrace.pipelines.run.queries import NamedQuery, Query

_LOOK_EVERY_S: Final = 0.05


def new_reports(query: Query, since: str, *, every: bool) -> Iterator[Mapping[str, Any]]:
    """What the query reported after the trigger at `since`: all of it, or the last only.

    Each report is a round trip to the JVM, and Spark keeps a hundred, so `every` has its price.
    """
    last = query.lastProgress
    if last is None:
        return
    newest = _as_report(last)
    if newest["timestamp"] <= since:
        return
    reports = map(_as_report, query.recentProgress) if every else iter((newest,))
    yield from (report for report in reports if report["timestamp"] > since)


def _as_report(progress: Any) -> dict[str, Any]:
    """The JSON text, because only it is the same in classic Spark and Spark Connect."""
    report: dict[str, Any] = json.loads(progress.json)
    return report


def is_idle(query: Query) -> bool:
    """Whether the query has looked for data and found none that it has not processed."""
    status = query.status
    return (
        not status["isTriggerActive"]
        and not status["isDataAvailable"]
        and query.lastProgress is not None
    )


def stop_between_batches(
    queries: Iterable[NamedQuery],
    timeout_s: float,
    sleep: Callable[[float], None],
    monotonic: Callable[[], float],
) -> None:
    """Stop each query when its current batch is done, and all that are left when time is up."""
    until = monotonic() + timeout_s
    waiting = [(named.query, _batch_id(named.query)) for named in queries]
    while waiting:
        late = monotonic() >= until
        left = []
        for query, batch_id in waiting:
            if late or _is_between(query, batch_id):
                query.stop()
            elif query.isActive:
                left.append((query, batch_id))
        waiting = left
        if waiting:
            sleep(_LOOK_EVERY_S)


def _is_between(query: Query, batch_id: int) -> bool:
    return not query.status["isTriggerActive"] or _batch_id(query) != batch_id


def _batch_id(query: Query) -> int:
    last = query.lastProgress
    return -1 if last is None else int(_as_report(last)["batchId"])
