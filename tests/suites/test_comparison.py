"""What `make conformance` makes of two sets of results."""

from __future__ import annotations

from tests.suites.comparison import CALIBRATION, calibration, compare, describe
from tests.suites.exceptions import EXCEPTIONS
from tests.suites.java.suite import CHECKS, QUICK
from tests.suites.running import Result, Results, totals

PASS, FAIL, SKIP, TIMEOUT = Result.PASS, Result.FAIL, Result.SKIP, Result.TIMEOUT

THEIRS: Results = {"a": PASS, "b": PASS, "c": PASS, "d": FAIL, "e": SKIP, "f": PASS}


def test_everything_that_passes_there_must_pass_here() -> None:
    """A failure, a skip, a timeout and an absent test are all losses."""
    comparison = compare(THEIRS, {"a": FAIL, "b": SKIP, "c": TIMEOUT}, exceptions={})
    assert comparison.lost == {"a": "FAIL", "b": "SKIP", "c": "TIMEOUT", "f": "absent"}


def test_what_fails_there_says_nothing_about_us() -> None:
    """Tests that do not pass against Apache Kafka may do anything here."""
    ours: Results = {"a": PASS, "b": PASS, "c": PASS, "f": PASS, "d": PASS, "e": TIMEOUT, "g": FAIL}
    comparison = compare(THEIRS, ours, exceptions={})
    assert comparison.lost == {}
    assert comparison.gained == ["d"]


def test_exceptions_have_reasons_and_are_checked() -> None:
    """An excepted test is no loss; one that passes after all is named, so that it goes."""
    ours: Results = {"a": FAIL, "b": PASS, "c": PASS, "f": PASS}
    comparison = compare(THEIRS, ours, exceptions={"a": "not served", "b": "not served"})
    assert comparison.lost == {}
    assert comparison.excepted == {"a": "not served"}
    assert comparison.needless == ["b"]


def test_a_selection_is_compared_alone() -> None:
    """A quick run is judged by the tests that it should have run, absent ones included."""
    comparison = compare(THEIRS, {"a": PASS}, exceptions={}, selected=["a", "b", "d"])
    assert comparison.lost == {"b": "absent"}


def test_the_text_names_every_loss() -> None:
    """A person finds each lost test with its result, and both totals."""
    ours: Results = {"a": FAIL, "b": PASS, "c": PASS, "f": PASS}
    text = describe("suite", THEIRS, ours, compare(THEIRS, ours, exceptions={}))
    assert "LOST      a: FAIL" in text
    assert totals(THEIRS) in text
    assert totals(ours) in text


def test_calibrations_know_every_exception_and_check() -> None:
    """Exceptions and Java checks bear the names that the calibration has, so none is ignored."""
    names: dict[str, set[str]] = {family: set() for family in EXCEPTIONS}
    for path in CALIBRATION.glob("*.json"):
        results = calibration(path.stem)
        for family, known in names.items():
            if path.name.startswith(family):
                known |= set(results)
    for family, exceptions in EXCEPTIONS.items():
        assert set(exceptions) <= names[family]
    assert set(CHECKS) == names["java"]
    assert set(CHECKS) >= QUICK
