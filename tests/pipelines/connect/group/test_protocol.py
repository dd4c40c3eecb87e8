"""Bytes of the group protocol, beside those of Connect's own classes."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headrace.pipelines.connect.group.protocol import (
    NAMES,
    Assignment,
    TaskId,
    Work,
    WorkerState,
    decode_assignment,
    decode_state,
    encode_assignment,
    encode_state,
    offered,
    work_of,
)
from headrace.wire import MalformedMessage
from tests.pipelines.connect.real import TIMEOUT_SECONDS, Real, cases

pytestmark = pytest.mark.timeout(TIMEOUT_SECONDS)

SOURCE = Path(__file__).with_name("Protocol.java")

names = st.text(st.characters(codec="utf-8"), min_size=1, max_size=12)
offsets = st.integers(-1, 2**63 - 1)
pairs = st.lists(st.tuples(names, st.integers(-1, 5)), max_size=6, unique=True)
versions = st.sampled_from(sorted(NAMES))


@st.composite
def assignments(draw: st.DrawFn, version: int | None = None) -> Assignment:
    """Any assignment of a version."""
    chosen = draw(versions) if version is None else version
    eager = chosen == 0
    return Assignment(
        draw(names),
        draw(names),
        draw(offsets),
        work_of(draw(pairs)),
        Work() if eager else work_of(draw(pairs)),
        0 if eager else draw(st.integers(0, 2**31 - 1)),
        draw(st.integers(0, 1)),
        chosen,
    )


@st.composite
def states(draw: st.DrawFn) -> WorkerState:
    """Any state of a worker."""
    version = draw(versions)
    held = None if version == 0 else draw(st.none() | assignments(version))
    return WorkerState(draw(names), draw(offsets), held, version)


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Real]:
    """Connect's classes."""
    with Real(SOURCE, tmp_path_factory.mktemp("real") / "log") as program:
        yield program


def told(assignment: Assignment | None) -> dict[str, object] | None:
    """An assignment as the program takes and gives it."""
    if assignment is None:
        return None
    return {
        "error": assignment.error,
        "leader": assignment.leader,
        "url": assignment.leader_url,
        "offset": assignment.config_offset,
        "given": paired(assignment.given),
        "revoked": paired(assignment.revoked),
        "delay": assignment.delay_ms,
    }


def paired(work: Work) -> list[list[object]]:
    """Connectors and tasks in order: in Connect's bytes they have that of a Java map."""
    own: list[list[object]] = [[name, -1] for name in sorted(work.connectors)]
    return own + [[task.connector, task.task] for task in sorted(work.tasks)]


def in_order(answer: object) -> object:
    """An answer of the program, with its work in order too."""
    if isinstance(answer, dict):
        return {key: in_order(value) for key, value in answer.items()}
    if not isinstance(answer, list):
        return answer
    return sorted(answer, key=lambda pair: (pair[1] >= 0, *pair))


def written(answer: object) -> bytes:
    """The bytes of an answer."""
    assert isinstance(answer, dict)
    return base64.b64decode(answer["bytes"])


def told_state(state: WorkerState) -> dict[str, object]:
    """A worker's state as the program takes and gives it."""
    return {
        "url": state.url,
        "offset": state.config_offset,
        "assignment": told(state.assignment),
    }


LIMITS = settings(
    max_examples=cases(60),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)


@LIMITS
@given(assignment=assignments())
def test_an_assignment_is_connects(real: Real, assignment: Assignment) -> None:
    """Connect reads our bytes, we read Connect's, and there are as many of them."""
    ours = encode_assignment(assignment)
    theirs = written(real.ask({"version": assignment.version, "assignment": told(assignment)}))
    question = {"version": assignment.version, "read": "assignment"}
    read = real.ask({**question, "bytes": base64.b64encode(ours).decode()})
    assert in_order(read) == told(assignment) == told(decode_assignment(theirs))
    assert len(ours) == len(theirs)
    assert told(decode_assignment(ours)) == told(assignment)


@LIMITS
@given(state=states())
def test_a_workers_state_is_connects(real: Real, state: WorkerState) -> None:
    """The same of what a worker says, and of every protocol that it offers."""
    ours = encode_state(state)
    theirs = written(real.ask({"version": state.version, "state": told_state(state)}))
    question = {"version": state.version, "read": "state"}
    read = real.ask({**question, "bytes": base64.b64encode(ours).decode()})
    assert in_order(read) == told_state(state) == told_state(decode_state(theirs))
    assert len(ours) == len(theirs)
    assert told_state(decode_state(ours)) == told_state(state)
    offers = real.ask({"version": state.version, "offered": told_state(state)})
    assert isinstance(offers, list)
    assert [name for name, _ in offers] == [name for name, _ in offered(state, state.version)]
    for (_, said), (_, data) in zip(offers, offered(state, state.version), strict=True):
        other, own = decode_state(base64.b64decode(said)), decode_state(data)
        assert (told_state(other), other.version) == (told_state(own), own.version)


def test_bytes_of_a_later_version() -> None:
    """Fields that follow those which are known are left alone."""
    assignment = Assignment("m", "u", 3, Work(("c",), (TaskId("c", 0),)))
    later = b"\0\7" + encode_assignment(assignment)[2:] + b"more"
    assert decode_assignment(later).given == assignment.given


@pytest.mark.parametrize("damaged", [b"", b"\0", b"\0\1\0", b"\xff\xff\0\0", b"\0\0\0\5ab"])
def test_bytes_that_say_nothing(damaged: bytes) -> None:
    """They are rejected by their name."""
    with pytest.raises(MalformedMessage):
        decode_state(damaged)
    with pytest.raises(MalformedMessage):
        decode_assignment(damaged)
