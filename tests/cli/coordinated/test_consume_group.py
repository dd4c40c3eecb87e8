"""`headrace consume --group` against a live broker."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable

import pytest

from tests.cli.conftest import Headrace

BOTH_PROTOCOLS = pytest.mark.parametrize("protocol", ["classic", "consumer"])


def standing(live: Headrace, group: str) -> dict[tuple[str, int], int | None]:
    """Lag by partition."""
    (view,) = json.loads(live("group", "describe", group, "-o", "json").out)
    return {(row["topic"], row["partition"]): row["lag"] for row in view["offsets"]}


@BOTH_PROTOCOLS
@pytest.mark.spec("slides:D15", "book1:C-05")
def test_a_group_continues_where_it_stopped(
    live: Headrace, group: str, filled: str, protocol: str
) -> None:
    """What was printed is committed, and is not printed again."""
    words = ["consume", filled, "--group", group, "--protocol", protocol]
    first = live(*words, "-n", "7").out.split()
    rest = live(*words).out.split()
    assert len(first) == 7
    expected = [f"{partition}-{number}" for partition in (0, 1) for number in range(10)]
    assert sorted(first + rest) == expected
    assert live(*words) == (0, "", "")
    assert set(standing(live, group).values()) == {0}
    (view,) = json.loads(live("group", "describe", group, "--state", "-o", "json").out)
    assert (view["type"], view["state"], view["member_count"]) == (protocol, "Empty", 0)


@pytest.mark.spec("slides:D17", "admin:CO-22", "book1:C-24")
def test_a_new_group_begins_where_it_is_told(live: Headrace, group: str, filled: str) -> None:
    """earliest (the default) or latest; a group with offsets does not care."""
    assert live("consume", filled, "-g", group, "--from", "latest").out == ""
    assert live("produce", filled, "-p", "0", stdin=b"new\n").code == 0
    assert live("consume", filled, "-g", group, "--from", "earliest").out == "new\n"
    assert len(live("consume", filled, "-g", f"{group}-2").out.split()) == 21


@pytest.mark.spec("slides:D03")
def test_several_topics_are_read_and_groups_do_not_share(
    live: Headrace, group: str, filled: str, topic: str
) -> None:
    """Each group receives every record of both topics."""
    live("produce", topic, stdin=b"a\nb\n")
    for name in (group, f"{group}-2"):
        shown = live("consume", filled, topic, "-g", name, "--format", "%t %v\\n").out
        assert shown.count(f"{filled} ") == 20
        assert f"{topic} a\n{topic} b\n" in shown


def test_only_committed_records_are_read_and_markers_leave_no_lag(
    live: Headrace, group: str, topic: str, transactional_id: str
) -> None:
    """The end of the log lies behind the transaction's marker, and so does the group."""
    written = live("produce", topic, "--transactional-id", transactional_id, stdin=b"a\nb\n")
    assert written.code == 0
    assert live("consume", topic, "-g", group).out == "a\nb\n"
    assert standing(live, group) == {(topic, 0): 0}


@BOTH_PROTOCOLS
@pytest.mark.spec("slides:D35")
def test_ctrl_c_commits_and_leaves(
    live: Headrace, group: str, filled: str, servers: str, protocol: str
) -> None:
    """Exit 0, nothing is left to read and nobody is left in the group."""
    command = [sys.executable, "-m", "headrace", "consume", filled, "-b", servers]
    command += ["--group", group, "--protocol", protocol, "--follow"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        shown = [process.stdout.readline() for _ in range(20)]
        os.kill(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=30)
    assert (process.returncode, out) == (0, "")
    assert len(set(shown)) == 20
    assert f'group "{group}": assigned {filled}:0,1\n' in err
    assert err.endswith(f'20 records read from {filled} as "{group}"\n')
    (view,) = json.loads(live("group", "describe", group, "-o", "json").out)
    assert view["member_count"] == 0
    assert standing(live, group) == {(filled, 0): 0, (filled, 1): 0}


@BOTH_PROTOCOLS
@pytest.mark.spec("slides:D02", "slides:D08", "admin:CO-06")
def test_two_members_share_the_partitions(
    live: Headrace, group: str, filled: str, servers: str, protocol: str
) -> None:
    """A second member takes one of two partitions over, and each new record goes to one of them."""
    command = [sys.executable, "-m", "headrace", "consume", filled, "-b", servers]
    command += ["--group", group, "--protocol", protocol, "--follow"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with (
        subprocess.Popen(command, **pipes) as first,  # type: ignore[call-overload]
    ):
        for _ in range(20):
            first.stdout.readline()
        with subprocess.Popen(command, **pipes) as second:  # type: ignore[call-overload]
            gained = second.stderr.readline()
            assert gained.startswith(f'group "{group}": assigned {filled}:')
            taken = int(gained.rsplit(":", 1)[1])
            live("produce", filled, "-p", str(taken), stdin=b"for the second\n")
            assert second.stdout.readline() == "for the second\n"
            live("produce", filled, "-p", str(1 - taken), stdin=b"for the first\n")
            assert first.stdout.readline() == "for the first\n"
            for process in (second, first):
                os.kill(process.pid, signal.SIGINT)
            assert second.communicate(timeout=30)[0] == ""
            assert first.communicate(timeout=30)[0] == ""
    assert set(standing(live, group).values()) == {0}


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["t", "-g", "g", "--from", "7"], "headrace group reset g"),
        (["t", "-g", "g", "--to", "7"], "--to and --group exclude each other"),
        (["t", "-g", "g", "--partition", "0"], "--partition and --group exclude each other"),
        (["t", "u"], "leave one out, or add --group"),
        (["t", "--protocol", "consumer"], "--protocol needs --group"),
    ],
)
def test_what_a_group_cannot_do_is_wrong_usage(
    headrace: Headrace, words: list[str], complaint: str
) -> None:
    """Exit 2 and one line, before any broker is asked."""
    outcome = headrace("consume", *words)
    assert (outcome.code, outcome.err.count("\n")) == (2, 1)
    assert complaint in outcome.err


def test_a_group_without_a_name_is_wrong_usage(live: Headrace, filled: str) -> None:
    """librdkafka would end the process over a name that is empty to it."""
    for words in (["-g", " "], ["-X", "group.id= "]):
        outcome = live("consume", filled, *words)
        assert outcome.code == 2
        assert "is not a valid group name" in outcome.err


def test_an_unknown_topic_is_not_subscribed_to(
    live: Headrace, group: str, new_topic: Callable[[int], str]
) -> None:
    """All topics must be there, with a word for the one that is not."""
    known = new_topic(1)
    outcome = live("consume", known, known[:-1], "-g", group)
    assert outcome.code == 1
    assert f'there is no topic "{known[:-1]}"; did you mean "{known}"' in outcome.err
