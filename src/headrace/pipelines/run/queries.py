"""What a pipeline returned, as started queries with names under which their checkpoints stay.

Spark keeps the checkpoint of a query under its name; without a name it takes a new random folder at
each start and forgets all progress in silence. So a query is named, names its own folder, or is
refused. Only the shape of Spark's objects is used, because classic Spark and Spark Connect have
different classes.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple, Protocol

from headrace.errors import HeadraceError

_RANDOM_NAME: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


class WrongPipeline(HeadraceError):
    """The function returned something that cannot be run; the text shows what to return."""


class Query(Protocol):
    """The part of Spark's StreamingQuery that a supervisor needs."""

    @property
    def id(self) -> str: ...
    @property
    def name(self) -> str | None: ...
    @property
    def isActive(self) -> bool: ...  # noqa: N802
    @property
    def status(self) -> Mapping[str, Any]: ...
    @property
    def recentProgress(self) -> list[Any]: ...  # noqa: N802
    @property
    def lastProgress(self) -> Any: ...  # noqa: N802
    def exception(self) -> BaseException | None: ...
    def stop(self) -> None: ...


class NamedQuery(NamedTuple):
    """A query and the name that people see."""

    name: str
    query: Query


def start_queries(result: Any, *, only_name: str, once: bool) -> list[NamedQuery]:
    """Start what was returned and is not yet started; with `once`, up to the data of now.

    A single writer without a name is given `only_name`; it stays the same from run to run.
    """
    parts = _parts(result)
    nameless = [part for part in parts if _is_writer(part) and not _has_home(part)]
    if len(nameless) > 1:
        raise WrongPipeline(
            f"the pipeline returns {len(nameless)} writers without a name, and checkpoints are "
            'kept by name; add .queryName("…") to each'
        )
    queries: list[Query] = []
    for part in parts:
        if _is_writer(part):
            writer = part.queryName(only_name) if part in nameless else part
            part = (writer.trigger(availableNow=True) if once else writer).start()
        queries.append(part)
    return name_queries(queries)


def name_queries(queries: Iterable[Query]) -> list[NamedQuery]:
    """A query that has a checkpoint folder of its own may go without a name; it gets a number."""
    return [
        NamedQuery(query.name or f"query-{number}", query)
        for number, query in enumerate(queries, start=1)
    ]


def _parts(result: Any) -> list[Any]:
    if result is None:
        return []
    if _is_query(result) or _is_writer(result):
        return [result]
    if hasattr(result, "writeStream"):
        raise WrongPipeline(
            "the pipeline returns a DataFrame; return df.writeStream.format(…).queryName(…) "
            "or the query that its start() gives"
        )
    parts = list(result) if isinstance(result, Iterable) and not isinstance(result, str) else None
    if parts is None or not all(_is_query(part) or _is_writer(part) for part in parts):
        raise WrongPipeline(
            f"the pipeline returns a {type(result).__name__}; return a streaming query, "
            "a writer that is not yet started, a list of them, or None"
        )
    return parts


def _is_query(part: Any) -> bool:
    return hasattr(part, "isActive") and hasattr(part, "lastProgress")


def _is_writer(part: Any) -> bool:
    return hasattr(part, "queryName") and hasattr(part, "start")


def _has_home(writer: Any) -> bool:
    """Whether this writer has a name or a checkpoint folder of its own.

    Spark has no public way to ask; both of its classes are asked where they keep their options.
    """
    proto = getattr(writer, "_write_proto", None)
    if proto is not None:
        return bool(proto.query_name) or "checkpointlocation" in map(str.lower, proto.options)
    java = getattr(writer, "_jwrite", None)
    if java is None:
        return False
    options = java.getClass().getDeclaredField("extraOptions")
    options.setAccessible(True)
    kept = options.get(java)
    return bool(kept.contains("queryName") or kept.contains("checkpointLocation"))


def random_folders(checkpoints: Path | None) -> set[str]:
    """The folders that Spark has made for queries without a name."""
    if checkpoints is None or not checkpoints.is_dir():
        return set()
    return {each.name for each in checkpoints.iterdir() if _RANDOM_NAME.fullmatch(each.name)}


def remove_random_folders(checkpoints: Path | None) -> None:
    """No later start would ever look into them."""
    for name in random_folders(checkpoints):
        assert checkpoints is not None
        shutil.rmtree(checkpoints / name, ignore_errors=True)


def nameless_query() -> WrongPipeline:
    return WrongPipeline(
        "a query of the pipeline has no name, and checkpoints are kept by name; "
        'add .queryName("…") before .start(), or return the writer without .start()'
    )
