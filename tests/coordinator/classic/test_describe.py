"""What a group tells about itself."""

from __future__ import annotations

from tests.coordinator.classic.story import check


def test_subscribed_topics() -> None:
    """The topics of all members of a generation, as long as each subscription can be read."""
    stage = check("""
        A > join v3 topics=t1,t2
        log generation 0 None
        group PreparingRebalance
        B > join v3 topics=t2,t3
        +3000
        +3000
        group CompletingRebalance
        A < generation 1 range leader A#1 as A#1 of A#1 B#1
        B < generation 1 range leader A#1 as B#1
        A > sync A#1=half B#1=rest
        log generation 1 range A#1=half B#1=rest
        group Stable
        A < assigned half
        restart
        group Stable
    """)
    assert stage.group.subscribed_topics() == {"t1", "t2", "t3"}
    stage.perform("X > leave A#1 B#1")
    assert stage.group.is_empty
    assert stage.group.subscribed_topics() == set()
    stage.perform("C > join v3 protocols=range:nonsense")
    stage.perform("+3000")
    assert stage.group.subscribed_topics() is None


def test_describe() -> None:
    """DescribeGroups shows protocol and metadata only while the group is stable."""
    stage = check("""
        A > join v5 protocols=range:x instance=a
        log generation 0 None
        group PreparingRebalance
        +3000
        group CompletingRebalance
        A < generation 1 range leader a#1 as a#1 of a#1
    """)
    described = stage.group.describe()
    assert (described.group_state, described.protocol_type) == ("CompletingRebalance", "consumer")
    assert described.protocol_data == ""
    assert described.members[0].member_metadata == b""
    stage.perform("A > sync a#1=all")
    described = stage.group.describe()
    assert (described.group_state, described.protocol_data) == ("Stable", "range")
    (member,) = described.members
    assert (member.group_instance_id, member.client_id) == ("a", "A")
    assert (member.client_host, member.member_id) == ("/127.0.0.1", stage.clients["A"].member_id)
    assert (member.member_metadata, member.member_assignment) == (b"x", b"all")
    stage.perform("A > join")
    assert stage.group.describe().members[0].member_assignment == b"all"
    stage.perform("A > join as=-")  # its former self may have been assigned work already
    assert stage.group.describe().members[0].member_assignment == b""
    stage.perform("A > leave")
    described = stage.group.describe()
    assert (described.group_state, described.members) == ("Empty", [])
