"""Whether a transform does what Apache Kafka's does, and its columnar form what its record form.

Alike are: the record that comes out, or that it was dropped, or the class of the fault. The words
of a fault are alike where they name no class of Java's. What Java reports by accident (a null
pointer, a class cast) has to be a fault here, of whatever class. A moment that Python's dates
cannot hold is a fault here only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from headrace.pipelines.connect.faults import java_class
from headrace.pipelines.connect.model.batch import of_records
from headrace.pipelines.connect.model.record import Record
from headrace.pipelines.connect.transforms.named import PREDICATES, TRANSFORMS
from headrace.pipelines.connect.transforms.transform import Predicate, Transform
from tests.pipelines.connect.transforms.oracle import Oracle, comparable, shown_record

ACCIDENTS = (
    "java.lang.NullPointerException",
    "java.lang.ClassCastException",
    "java.lang.IndexOutOfBoundsException",
)
NULL = "null used for required field"
YEARS = "is outside of the years 1 to 9999"
BUILDERS: dict[str, Callable[[Mapping[str, object]], Transform | Predicate]] = {
    **{plugin.name: plugin.build for plugin in TRANSFORMS},
    **{plugin.name: plugin.build for plugin in PREDICATES},
}


@dataclass
class Tally:
    """What was compared."""

    settings: int = 0
    rows: int = 0
    faults: int = 0
    columnar_rows: int = 0


def compare(
    oracle: Oracle,
    name: str,
    config: Mapping[str, str],
    records: Sequence[Record],
    *,
    for_sink: bool,
    tally: Tally,
) -> None:
    """Compare one configured transform on these records; raises AssertionError if not alike."""
    answer = oracle.ask(name, config, records, sink=for_sink)
    tally.settings += 1
    built = outcome(lambda: BUILDERS[name](config))
    rejected = isinstance(built, Exception)
    assert rejected == ("fault" in answer), (built, answer)
    if isinstance(built, Exception):
        check_fault(answer, built)
        return
    results = answer["results"]
    assert isinstance(results, list)
    if isinstance(built, Transform):
        built.for_sink = for_sink
    for record, theirs in zip(records, results, strict=True):
        tally.rows += 1
        check_row(built, record, theirs, tally, one_field="," not in "".join(config.values()))
    if isinstance(built, Transform):
        check_columns(built, records, tally)
    else:
        check_mask(built, records)


def check_row(
    built: Transform | Predicate, record: Record, theirs: object, tally: Tally, *, one_field: bool
) -> None:
    """One record; if not `one_field`, it may have several faults, and another one come first."""
    faulty = isinstance(theirs, dict) and "fault" in theirs
    tally.faults += faulty
    ours = outcome(
        lambda: built.test(record) if isinstance(built, Predicate) else built.apply(record)
    )
    if isinstance(ours, Exception) and YEARS in str(ours):
        return
    assert isinstance(ours, Exception) == faulty, (ours, theirs)
    if isinstance(ours, Exception):
        assert isinstance(theirs, dict)
        check_fault(theirs, ours, told=one_field)
    else:
        made = shown_record(ours) if isinstance(ours, Record) else ours
        assert comparable(made) == comparable(theirs), (made, theirs)


_Result = TypeVar("_Result")


def outcome(step: Callable[[], _Result]) -> _Result | Exception:
    """What a step gives, or raises."""
    try:
        return step()
    except Exception as fault:
        return fault


def check_fault(theirs: Mapping[str, object], ours: Exception, *, told: bool = True) -> None:
    """Two faults, with their words if they are `told`."""
    kind, words = str(theirs["fault"]), str(theirs["message"])
    if kind in ACCIDENTS:
        return
    assert java_class(ours) == kind, (theirs, ours)
    spoken = not any(
        word in words for word in ("java.", "class ", "org.apache.", "regex", "record:")
    )
    if told and spoken and (NULL in words) == (NULL in str(ours)):
        assert str(ours) == words, (ours, words)


def check_columns(built: Transform, records: Sequence[Record], tally: Tally) -> None:
    """The columnar form, if there is one for these rows, gives what the record form gives."""
    for batch in of_records(records):
        rows = batch.records()
        made = outcome(lambda: built.apply_batch(batch))  # noqa: B023
        singly = [outcome(lambda: built.apply(row)) for row in rows]  # noqa: B023
        if made is None:
            continue
        if isinstance(made, Exception):
            assert any(isinstance(each, Exception) for each in singly), made
            continue
        tally.columnar_rows += len(rows)
        by_records = [each for each in singly if isinstance(each, Record)]
        assert not any(isinstance(each, Exception) for each in singly), singly
        by_columns = [row for each in made for row in each.records()]
        for column_row, row in zip(by_columns, by_records, strict=True):
            assert comparable(shown_record(column_row)) == comparable(shown_record(row))
        assert [row.position for row in by_columns] == [row.position for row in by_records]


def check_mask(built: Predicate, records: Sequence[Record]) -> None:
    """The mask of a predicate says what it says of each record."""
    for batch in of_records(records):
        assert built.mask(batch).tolist() == [built.test(row) for row in batch.records()]
