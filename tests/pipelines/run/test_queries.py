"""What a pipeline may return, and under which names it runs."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from headrace.pipelines.run.queries import WrongPipeline, start_queries
from tests.pipelines.run.scripted_spark import Session, Writer


def names(result: Any) -> list[str]:
    return [named.name for named in start_queries(result, only_name="orders", once=False)]


def test_queries_writers_and_lists_of_them() -> None:
    """One or many, started or not; None is a batch that is done."""
    session = Session()
    assert names(None) == []
    assert names(session.start("a")) == ["a"]
    assert names(Writer(session, "b")) == ["b"]
    assert names((session.start("c"), Writer(session, "d"))) == ["c", "d"]
    assert names(writer for writer in [Writer(session, "e")]) == ["e"]


def test_a_single_writer_is_named_after_the_function() -> None:
    """The name is the same at every start, so its checkpoint is found again."""
    session = Session()
    assert names(Writer(session)) == ["orders"]
    assert names([Writer(session, "a"), Writer(session)]) == ["a", "orders"]


def test_a_writer_with_a_folder_of_its_own_needs_no_name() -> None:
    """It is shown by its place."""
    session = Session()
    assert names([Writer(session, checkpointLocation="/x"), Writer(session)]) == [
        "query-1",
        "orders",
    ]


def test_several_writers_without_a_name_are_refused() -> None:
    """A place in a list is no name: it changes with the next edit."""
    session = Session()
    with pytest.raises(WrongPipeline, match="returns 2 writers without a name"):
        names([Writer(session), Writer(session)])
    assert session.queries == []


@pytest.mark.parametrize("wrong", ["orders", 3, [1], {"a": 1}, [None]])
def test_other_things_are_refused(wrong: Any) -> None:
    """The text says what to return."""
    with pytest.raises(WrongPipeline, match="return a streaming query, a writer"):
        names(wrong)


def test_a_data_frame_is_refused_with_a_hint() -> None:
    """The most common slip."""
    with pytest.raises(WrongPipeline, match=r"returns a DataFrame; return df\.writeStream"):
        names(SimpleNamespace(writeStream=None))
