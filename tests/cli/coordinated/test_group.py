"""`headrace group` against a live broker."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from confluent_kafka import Consumer, TopicPartition

from headrace.coordination import zookeeper
from tests.cli.conftest import Headrace

Join: TypeAlias = Callable[..., AbstractContextManager[Consumer]]
BOTH_PROTOCOLS = pytest.mark.parametrize("protocol", ["classic", "consumer"])


def data(live: Headrace, *words: str) -> Any:
    outcome = live(*words, "-o", "json")
    assert outcome.code == 0, outcome.err
    return json.loads(outcome.out)


def offsets_of(live: Headrace, group: str) -> dict[int, int]:
    (view,) = data(live, "group", "describe", group)
    return {row["partition"]: row["current_offset"] for row in view["offsets"]}


def reset(live: Headrace, group: str, *words: str) -> dict[int, int]:
    rows = data(live, "group", "reset", group, *words, "--execute")
    return {row["partition"]: row["new_offset"] for row in rows}


@BOTH_PROTOCOLS
@pytest.mark.spec("admin:CO-19")
def test_describe_tells_who_reads_what_and_how_far_behind(
    live: Headrace, member: Join, group: str, filled: str, protocol: str
) -> None:
    """Per partition: committed, end, lag and owner; and the group's state, assignor and epochs."""
    with member(group, filled, protocol=protocol, client_id="till-1") as consumer:
        consumer.commit(offsets=[TopicPartition(filled, 0, 4)], asynchronous=False)
        (view,) = data(live, "group", "describe", group, "--members", "--offsets")
    assert (view["group"], view["type"], view["state"]) == (group, protocol, "Stable")
    assert view["assignor"] == {"classic": "range", "consumer": "uniform"}[protocol]
    assert (view["group_epoch"] is None) == (protocol == "classic")
    assert view["group_epoch"] == view["assignment_epoch"]
    (who,) = view["members"]
    assert who["assignment"] == [f"{filled}:0,1"]
    assert who["epoch"] == view["group_epoch"]
    first, second = view["offsets"]
    assert first == {
        "topic": filled,
        "partition": 0,
        "current_offset": 4,
        "log_end_offset": 10,
        "lag": 6,
        "member": who["member"],
        "host": "127.0.0.1",
        "client_id": "till-1",
    }
    assert (second["current_offset"], second["log_end_offset"], second["lag"]) == (None, 10, None)


def test_describe_is_a_line_and_a_table(live: Headrace, group: str, filled: str) -> None:
    """What a person sees of a group at rest, with a word that nobody is in it."""
    reset(live, group, "--topic", f"{filled}:1", "--to-offset", "7")
    outcome = live("group", "describe", group)
    assert outcome.code == 0
    head, columns, row = outcome.out.splitlines()
    assert head.startswith(f"{group}: Empty, classic protocol, 0 members, coordinator ")
    assert columns.split() == [
        "TOPIC", "PARTITION", "CURRENT-OFFSET", "LOG-END-OFFSET", "LAG", "MEMBER", "HOST",
        "CLIENT-ID",
    ]  # fmt: skip
    assert row.split() == [filled, "1", "7", "10", "3", "-", "-", "-"]
    assert outcome.err == f'headrace: group "{group}" has no active members\n'
    assert len(live("group", "describe", group, "--state").out.splitlines()) == 1


def test_an_unknown_group_does_not_hide_the_known(live: Headrace, group: str, filled: str) -> None:
    """Exit 1 with the names that look alike, and still the answer for the other."""
    reset(live, group, "--topic", filled, "--to-latest")
    for command in ("describe", "lag", "delete"):
        outcome = live("group", command, group, group[:-1])
        assert outcome.code == 1
        assert group in outcome.out
        assert f'there is no group "{group[:-1]}"; did you mean "{group}"' in outcome.err


def test_groups_are_listed_by_state_and_protocol(
    live: Headrace, member: Join, group: str, filled: str
) -> None:
    """Both filters; a state that does not exist is answered with those that do."""
    old, new = f"{group}-old", f"{group}-new"
    reset(live, old, "--topic", filled, "--to-latest")
    with member(new, filled, protocol="consumer"):

        def listed(*words: str) -> set[str]:
            rows = data(live, "group", "list", *words)
            return {row["group"] for row in rows if row["group"].startswith(group)}

        assert listed() == {old, new}
        assert listed("--state", "stable") == {new}
        assert listed("--state", "Empty", "--state", "Stable") == {old, new}
        assert listed("--type", "classic") == {old}
        assert listed("--type", "consumer", "--state", "empty") == set()
    wrong = live("group", "list", "--state", "stabel")
    assert (wrong.code, wrong.err.count("\n")) == (2, 1)
    assert 'did you mean "Stable"' in wrong.err


def test_lag_is_summed_by_topic(live: Headrace, group: str, filled: str) -> None:
    """20 records, of which 4 and 9 are read: 7 to go, at most 6 in one partition."""
    reset(live, group, "--topic", f"{filled}:0", "--to-offset", "4")
    reset(live, group, "--topic", f"{filled}:1", "--to-offset", "9")
    row = {"group": group, "topic": filled, "partitions": 2, "uncommitted": 0}
    assert data(live, "group", "lag", group) == [row | {"lag": 7, "max_lag": 6}]
    assert row | {"lag": 7, "max_lag": 6} in data(live, "group", "lag")


@pytest.mark.spec("slides:D40", "book1:C-07", "book2:I-18")
def test_a_group_is_moved_where_it_is_told_to(live: Headrace, group: str, filled: str) -> None:
    """Beginning, end, an offset, a distance, and where it is; each read back from the broker."""
    everywhere = ["--all-topics"]
    assert reset(live, group, "--topic", filled, "--to-latest") == {0: 10, 1: 10}
    assert offsets_of(live, group) == {0: 10, 1: 10}
    assert reset(live, group, *everywhere, "--to-earliest") == {0: 0, 1: 0}
    assert reset(live, group, "--topic", f"{filled}:1", "--to-offset", "6") == {1: 6}
    assert reset(live, group, *everywhere, "--shift-by", "3") == {0: 3, 1: 9}
    assert reset(live, group, "--topic", f"{filled}:0", "--shift-by", "-1") == {0: 2}
    assert reset(live, group, *everywhere, "--to-current") == {0: 2, 1: 9}
    assert offsets_of(live, group) == {0: 2, 1: 9}


@pytest.mark.spec("admin:MM-08")
def test_a_group_is_moved_in_time(live: Headrace, group: str, topic: str) -> None:
    """The first record at or after a time, the end if there is none; a duration counts from now."""
    lines = b"".join(b'{"value":"x","timestamp":%d}\n' % (1_000 * n) for n in range(1, 6))
    live("topic", "alter", topic, "-c", "retention.ms=-1")
    assert live("produce", "-t", topic, "--format", "json", stdin=lines).code == 0
    for option, expected in [
        (["--to-datetime", "1970-01-01T00:00:03.000"], 2),
        (["--to-datetime", "1970-01-01T00:00:03.001Z"], 3),
        (["--to-datetime", "1970-01-01T02:00:02+02:00"], 1),
        (["--to-datetime", "2999-01-01"], 5),
        (["--by-duration", "P1DT2H"], 5),
        (["--by-duration", "36500d"], 0),
    ]:
        assert reset(live, group, "--topic", topic, *option) == {0: expected}


def test_a_reset_is_a_dry_run_unless_executed(live: Headrace, group: str, filled: str) -> None:
    """The plan is shown, nothing is changed, and a group that is not there is not created."""
    outcome = live("group", "reset", group, "--topic", filled, "--to-latest")
    assert outcome.code == 0
    assert outcome.out.splitlines()[1].split() == [filled, "0", "-", "10", "planned"]
    assert "add --execute" in outcome.err
    assert f'creates group "{group}"' in outcome.err
    assert f'there is no group "{group}"' in live("group", "describe", group).err


def test_an_exported_plan_can_be_read_back(
    live: Headrace, group: str, filled: str, tmp_path: Path
) -> None:
    """--export saves where a group is, --from-file brings it back there."""
    reset(live, group, "--topic", f"{filled}:0", "--to-offset", "4")
    exported = live("group", "reset", group, "--all-topics", "--to-current", "--export")
    assert exported.out == f"{filled},0,4\n{filled},1,10\n"
    saved = tmp_path / "offsets.csv"
    saved.write_text(exported.out)
    assert reset(live, group, "--all-topics", "--to-latest") == {0: 10, 1: 10}
    assert reset(live, group, "--from-file", str(saved)) == {0: 4, 1: 10}
    assert offsets_of(live, group) == {0: 4, 1: 10}


@pytest.mark.spec("book1:Z-08")
def test_a_group_of_old_is_taken_over(
    live: Headrace, group: str, filled: str, zookeeper_connect: str
) -> None:
    """Offsets that a consumer of old kept in ZooKeeper become the group's; odd ones are named."""
    words = ["group", "reset", group, "--from-zookeeper", zookeeper_connect]
    assert "has no offsets of a group" in live(*words).err
    root = f"/consumers/{group}/offsets/{filled}"
    with contextlib.closing(zookeeper.connect(zookeeper_connect)) as tree:
        for depth in range(2, 6):
            tree.create("/".join(root.split("/")[:depth]), b"")
        tree.create(f"{root}/0", b"4")
        tree.create(f"{root}/1", b"7")
        assert reset(live, group, *words[3:]) == {0: 4, 1: 7}
        assert offsets_of(live, group) == {0: 4, 1: 7}
        tree.set(f"{root}/1", b"seven")
    odd = live(*words)
    assert (odd.code, f"{root}/1 in ZooKeeper does not hold an offset" in odd.err) == (1, True)


def test_offsets_outside_the_log_are_brought_inside(
    live: Headrace, group: str, filled: str
) -> None:
    """The border is taken instead, with a line that says so."""
    words = ["group", "reset", group, "--topic", f"{filled}:0", "--execute", "-o", "json"]
    outcome = live(*words, "--to-offset", "99")
    assert json.loads(outcome.out)[0]["new_offset"] == 10
    assert "offset 99 is outside the log (0 to 10), using 10" in outcome.err
    assert json.loads(live(*words, "--shift-by", "-77").out)[0]["new_offset"] == 0


@BOTH_PROTOCOLS
def test_a_group_with_members_is_left_alone(
    live: Headrace, member: Join, group: str, filled: str, protocol: str
) -> None:
    """Neither reset nor deleted, its offsets kept; each time with the remedy."""
    with member(group, filled, protocol=protocol) as consumer:
        consumer.commit(offsets=[TopicPartition(filled, 0, 4)], asynchronous=False)
        for words, complaint in [
            (["reset", group, "--topic", filled, "--to-latest", "--execute"], "stop its members"),
            (["delete", group], "has 1 members; stop them first"),
            (["delete-offsets", group, "--topic", filled], "stop the members that read"),
        ]:
            outcome = live("group", *words)
            assert (outcome.code, outcome.err.count("\n")) == (1, 1)
            assert complaint in outcome.err
        planned = live("group", "reset", group, "--topic", filled, "--to-latest")
        assert planned.code == 0
        assert "stop them before --execute" in planned.err
        assert offsets_of(live, group) == {0: 4, 1: None}


def test_a_deleted_group_is_gone(live: Headrace, group: str, filled: str) -> None:
    """With its offsets."""
    reset(live, group, "--topic", filled, "--to-latest")
    assert data(live, "group", "delete", group) == [{"group": group, "result": "deleted"}]
    assert live("group", "describe", group).code == 1


def test_offsets_are_forgotten_by_partition(live: Headrace, group: str, filled: str) -> None:
    """Only those that were named; one that was never committed is a failure."""
    reset(live, group, "--topic", filled, "--to-latest")
    words = ["group", "delete-offsets", group, "--topic", f"{filled}:1"]
    assert data(live, *words) == [{"topic": filled, "partition": 1, "result": "deleted"}]
    assert offsets_of(live, group) == {0: 10}
    again = live(*words)
    assert again.code == 1
    assert f'group "{group}" has no offset in {filled}:1' in again.err


@BOTH_PROTOCOLS
def test_members_are_removed_by_instance(
    live: Headrace, member: Join, group: str, filled: str, protocol: str
) -> None:
    """KIP-345: a static member stays when its process ends, until it is removed by name."""
    with member(group, filled, protocol=protocol, instance="till-7"):
        pass
    (view,) = data(live, "group", "describe", group, "--members")
    assert [each["instance"] for each in view["members"]] == ["till-7"]
    removed = data(live, "group", "remove-members", group, "--instance", "till-7")
    assert [(row["instance"], row["result"]) for row in removed] == [("till-7", "removed")]
    (view,) = data(live, "group", "describe", group, "--members")
    assert view["members"] == []
    again = live("group", "remove-members", group, "--instance", "till-7")
    assert again.code == 1
    assert "--members" in again.err


@BOTH_PROTOCOLS
@pytest.mark.parametrize("instance", [None, "till-7"])
def test_all_members_are_removed(
    live: Headrace, member: Join, group: str, filled: str, protocol: str, instance: str | None
) -> None:
    """Dynamic ones by their id, static ones by their instance."""
    with member(group, filled, protocol=protocol, instance=instance):
        removed = data(live, "group", "remove-members", group, "--all")
    assert [(row["instance"], row["result"]) for row in removed] == [(instance, "removed")]
    assert data(live, "group", "remove-members", group, "--all") == []


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--topic", "t"], "there must be one target, nothing was given"),
        (["--topic", "t", "--to-earliest", "--to-latest"], "--to-earliest and --to-latest"),
        (["--to-earliest"], "no partitions are selected"),
        (["--all-topics", "--topic", "t", "--to-latest"], "no partitions"),
        (["--topic", "t:x", "--to-latest"], "write TOPIC or TOPIC:0,1,2"),
        (["--topic", "t", "--to-datetime", "soon"], '"soon" is not a time'),
        (["--topic", "t", "--by-duration", "1y"], '"1y" is not a length of time'),
        (["--topic", "t", "--to-latest", "--execute", "--export"], "exclude each other"),
        (["--from-file", "/nowhere.csv"], "cannot be read"),
    ],
)
def test_an_unclear_reset_is_wrong_usage(
    headrace: Headrace, words: list[str], complaint: str
) -> None:
    """Exit 2 and one line, before any broker is asked."""
    outcome = headrace("group", "reset", "g", *words)
    assert (outcome.code, outcome.err.count("\n")) == (2, 1)
    assert complaint in outcome.err


def test_removing_needs_to_know_whom(headrace: Headrace) -> None:
    """Exit 2 for nobody, and for everybody and somebody at once."""
    assert headrace("group", "remove-members", "g").code == 2
    assert headrace("group", "remove-members", "g", "--all", "--member", "m").code == 2
    assert headrace("group", "delete-offsets", "g").code == 2
