"""The queries of the demo: started, started again when the machine was too busy, and ended.

A query is asked about its failure while its session lives: it does not know it afterwards.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from headrace.errors import HeadraceError
from headrace.pipelines.run.causes import cause_of, is_permanent

if TYPE_CHECKING:
    from pyspark.sql.streaming.readwriter import DataStreamWriter

MAX_RESTARTS: Final = 3  # of all queries together


class Queries:
    """Iterate over it for the queries as they are now."""

    def __init__(self, writers: Iterable[DataStreamWriter], log: Path) -> None:
        self._writers = list(writers)
        self._log = log
        self._restarts = 0
        self._queries: list[Any] = [writer.start() for writer in self._writers]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._queries)

    def restart_failed(self) -> None:
        """Start each query again that has failed; its checkpoint knows where it was."""
        for number, query in enumerate(self._queries):
            if not query.isActive:
                self._queries[number] = self._again(number, query)

    def finish(self) -> None:
        """Let the queries process what is there, and stop them."""
        for number in range(len(self._queries)):
            while True:
                query = self._queries[number]
                try:
                    query.processAllAvailable()
                    break
                except Exception:
                    self._queries[number] = self._again(number, query)
            query.stop()

    def _again(self, number: int, query: Any) -> Any:
        error = query.exception()
        cause = "it has ended by itself" if error is None else cause_of(error)
        gives_up = error is None or is_permanent(error) or self._restarts == MAX_RESTARTS
        if gives_up:
            raise HeadraceError(
                f"query {query.name} failed: {cause}; all that Spark said is in {self._log}"
            )
        self._restarts += 1
        print(f"query {query.name} failed: {cause}; it is started again")
        return self._writers[number].start()
