"""The queries of `make demo`, on scripted ones: what is started again, and what is said."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from examples.ip_fraud.demo.queries import MAX_RESTARTS, Queries
from headrace.errors import HeadraceError

BUSY = RuntimeError(
    "[STREAM_FAILED] Query [id = 8f, runId = 2c] terminated with exception: "
    "Python worker failed to connect back.\n=== Streaming Query ===\nIdentifier: hits"
)


class Query:
    """Runs, or has failed with the error."""

    name = "hits"

    def __init__(self, error: Exception | None) -> None:
        self._error = error
        self.stopped = False

    @property
    def isActive(self) -> bool:  # noqa: N802
        return self._error is None

    def exception(self) -> Exception | None:
        return self._error

    def processAllAvailable(self) -> None:  # noqa: N802
        if self._error is not None:
            raise self._error

    def stop(self) -> None:
        self.stopped = True


class Writer:
    """Starts queries that fail with these errors, one after the other, and then one that runs."""

    def __init__(self, *errors: Exception) -> None:
        self._errors = list(errors)
        self.started: list[Query] = []

    def start(self) -> Query:
        self.started.append(Query(self._errors.pop(0) if self._errors else None))
        return self.started[-1]


def queries(*writers: Any) -> Queries:
    return Queries(writers, Path("spark.log"))


def test_a_query_that_spark_gave_up_is_started_again(capsys: pytest.CaptureFixture[str]) -> None:
    """While it is watched, and when all is to be finished."""
    calm, slow = Writer(), Writer(BUSY, BUSY)
    running = queries(calm, slow)
    running.restart_failed()
    running.finish()
    assert (len(calm.started), len(slow.started)) == (1, 3)
    assert all(query.isActive and query.stopped for query in running)
    said = "query hits failed: Python worker failed to connect back.; it is started again\n"
    assert capsys.readouterr().out == said * 2


@pytest.mark.parametrize(
    ("errors", "cause", "started"),
    [
        ([BUSY] * (MAX_RESTARTS + 1), "Python worker failed to connect back.", MAX_RESTARTS + 1),
        ([ModuleNotFoundError("No module named 'till'")], "No module named 'till'", 1),
    ],
)
def test_what_does_not_pass_is_said_with_the_log(
    errors: list[Exception], cause: str, started: int
) -> None:
    """Not for ever, and not at all if it would fail again."""
    writer = Writer(*errors)
    with pytest.raises(HeadraceError, match=f"{cause}; all that Spark said is in spark.log$"):
        queries(writer).finish()
    assert len(writer.started) == started
