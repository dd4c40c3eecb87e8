"""Our tools answer as Kafka's did when their answers were recorded (`python -m tests.parity`)."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.parity.case import Case
from tests.parity.ours import run_here
from tests.parity.play import all_cases, differences, play, read_recorded

if TYPE_CHECKING:
    from headrace.coordination.zookeeper.server import ZooKeeperServer
    from tests.parity.stage import Stage

CASES = all_cases()
ROOT = Path(__file__).resolve().parents[2]
PAGES = (ROOT / "CHANGELOG.md", ROOT / "docs/guides/operate/kafka-admin-tools.md")


@pytest.fixture(scope="module")
def one() -> Iterator[Stage]:
    from tests.parity.brokers import one_broker

    with one_broker() as stage:
        yield stage


@pytest.fixture(scope="module")
def three(zookeeper: ZooKeeperServer) -> Iterator[Stage]:
    from tests.parity.brokers import three_brokers

    with three_brokers(f"{zookeeper.connect_string}/parity-{uuid.uuid4().hex[:8]}") as stage:
        yield stage


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.tool} {case.key}")
def test_our_tool_answers_as_kafkas_did(case: Case, request: pytest.FixtureRequest) -> None:
    """Exit code and lines are the same, or the case says why they are not."""
    stage: Stage = request.getfixturevalue("one" if case.brokers == 1 else "three")
    theirs = read_recorded(case.tool).get(case.key)
    assert theirs is not None, "not recorded: python -m tests.parity --record"
    found = "\n".join(differences(theirs, play(case, stage, run_here)))
    if case.differs:
        assert found, "it no longer differs"
    else:
        assert not found, found


def test_as_many_command_lines_as_the_pages_say() -> None:
    """Their number is the same wherever it is written, and none is recorded that is not asked."""
    for page in PAGES:
        assert f"{len(CASES)} command lines" in page.read_text(), page
    for tool in {case.tool for case in CASES}:
        asked = {case.key for case in CASES if case.tool == tool}
        assert set(read_recorded(tool)) <= asked
