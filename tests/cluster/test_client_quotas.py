"""Quotas as stored facts: who may have which, where they are kept, and how brokers hear of them."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.cluster import layout, store
from headrace.cluster.client_quotas import (
    ANY,
    DEFAULT,
    EXACT,
    Component,
    Entity,
    QuotaOp,
    all_quotas,
    alter,
    check_entity,
    describe,
    entity_of,
    owner_of,
)
from headrace.cluster.config_owners import ConfigOwner, OwnerKind
from headrace.cluster.following import changes_from, differences, roots_of
from headrace.cluster.image import ClusterImage, ConfigChanged
from headrace.cluster.writing import ops_for
from headrace.coordination.memory import MemoryStore
from headrace.coordination.tree import Event, NodeEvent, Tree
from headrace.errors import ClientFault, Error
from tests.generated import examples

ALICE: Entity = (("user", "alice"),)
ALICE_ETL: Entity = (("user", "alice"), ("client-id", "etl"))
ALICE_OTHERS: Entity = (("user", "alice"), ("client-id", None))
ANYBODY: Entity = (("user", None),)
ETL: Entity = (("client-id", "etl"),)
HOME: Entity = (("ip", "127.0.0.1"),)


def image_of(quotas: dict[Entity, dict[str, float]]) -> ClusterImage:
    image = ClusterImage("test")
    for entity, values in quotas.items():
        change = alter(image, entity, [QuotaOp(*item) for item in values.items()])
        assert change is not None
        image.apply([change])
    return image


# -- who may have which ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parts", "complaint"),
    [
        ([], "empty client quota entity"),
        ([("user", "")], "Empty user not supported"),
        ([("group", "g")], "Unhandled client quota entity type: group"),
        ([("user", "a"), ("user", "b")], "duplicate entity entry user"),
        ([("ip", "127.0.0.1"), ("user", "a")], "ip cannot be combined"),
        ([("ip", "nowhere")], "nowhere is not a valid IP or resolvable host."),
        ([("client-id", "x" * 2_000)], "too long"),
    ],
)
def test_an_entity_that_cannot_be_is_refused(
    parts: list[tuple[str, str | None]], complaint: str
) -> None:
    """INVALID_REQUEST says what is wrong with it."""
    with pytest.raises(ClientFault, match=complaint) as refused:
        check_entity(parts, lambda name: name == "127.0.0.1")
    assert refused.value.error is Error.INVALID_REQUEST


def test_the_order_of_an_entitys_parts_does_not_matter() -> None:
    parts: list[tuple[str, str | None]] = [("client-id", "etl"), ("user", "alice")]
    assert check_entity(parts, bool) == ALICE_ETL


@pytest.mark.parametrize(
    ("entity", "key", "value", "complaint"),
    [
        (ALICE, "speed", 1.0, "Invalid configuration key speed"),
        (ALICE, "connection_creation_rate", 1.0, "Invalid configuration key"),
        (HOME, "producer_byte_rate", 1.0, "Invalid configuration key"),
        (ALICE, "producer_byte_rate", 0.0, "must be greater than 0"),
        (ALICE, "producer_byte_rate", -1.0, "must be greater than 0"),
        (ALICE, "producer_byte_rate", 1.5, "cannot be a fractional value"),
        (ALICE, "producer_byte_rate", 1e30, "too large for a LONG"),
        (HOME, "connection_creation_rate", 3e9, "too large for a INT"),
        (ALICE, "request_percentage", float("nan"), "must be greater than 0"),
        (ALICE, "request_percentage", float("inf"), "too large"),
    ],
)
def test_a_quota_that_cannot_be_is_refused(
    entity: Entity, key: str, value: float, complaint: str
) -> None:
    """As Kafka refuses them, and not a number besides."""
    with pytest.raises(ClientFault, match=complaint) as refused:
        alter(ClusterImage("test"), entity, [QuotaOp(key, value)])
    assert refused.value.error is Error.INVALID_REQUEST


def test_values_are_kept_as_kafka_kept_them() -> None:
    """Whole numbers for rates of bytes and connections, fractions for the others."""
    change = alter(
        ClusterImage("test"),
        ALICE,
        [QuotaOp("producer_byte_rate", 1024.0), QuotaOp("request_percentage", 12.5)],
    )
    assert change is not None
    assert change.configs == {"producer_byte_rate": "1024", "request_percentage": "12.5"}


def test_nothing_changes_when_nothing_is_new() -> None:
    """Setting what is set and removing what is not there are no changes; other settings stay."""
    image = image_of({ALICE: {"producer_byte_rate": 5.0}})
    image.apply([ConfigChanged(ConfigOwner(OwnerKind.USER, "bob"), {"SCRAM-SHA-256": "salt=…"})])
    assert alter(image, ALICE, [QuotaOp("producer_byte_rate", 5.0)]) is None
    assert alter(image, ALICE, [QuotaOp("consumer_byte_rate", None)]) is None
    bob: Entity = (("user", "bob"),)
    change = alter(image, bob, [QuotaOp("request_percentage", 5.0)])
    assert change == ConfigChanged(
        ConfigOwner(OwnerKind.USER, "bob"), {"SCRAM-SHA-256": "salt=…", "request_percentage": "5.0"}
    )
    assert [entity for entity, _ in all_quotas(image)] == [ALICE]


# -- who has which ---------------------------------------------------------------------------------

STORED: dict[Entity, dict[str, float]] = {
    each: {"consumer_byte_rate": 7.0} for each in (ALICE, ALICE_ETL, ALICE_OTHERS, ANYBODY, ETL)
} | {HOME: {"connection_creation_rate": 7.0}}


@pytest.mark.parametrize(
    ("components", "is_strict", "found"),
    [
        ([], False, set(STORED)),
        ([], True, set()),
        ([("user", EXACT, "alice")], False, {ALICE, ALICE_ETL, ALICE_OTHERS}),
        ([("user", EXACT, "alice")], True, {ALICE}),
        ([("user", DEFAULT, None)], False, {ANYBODY}),
        ([("user", ANY, None)], True, {ALICE, ANYBODY}),
        ([("client-id", ANY, None)], False, {ALICE_ETL, ALICE_OTHERS, ETL}),
        ([("user", ANY, None), ("client-id", DEFAULT, None)], True, {ALICE_OTHERS}),
        ([("ip", ANY, None)], True, {HOME}),
        ([("user", EXACT, "<default>")], False, set()),
    ],
)
def test_a_question_finds_what_it_means(
    components: Sequence[tuple[str, int, str | None]], is_strict: bool, found: set[Entity]
) -> None:
    """Exact names, defaults, any; strictly these parts, or others too."""
    asked = [Component(*each) for each in components]
    assert {each for each, _ in describe(image_of(STORED), asked, is_strict=is_strict)} == found


@pytest.mark.parametrize(
    ("components", "error"),
    [
        ([("", EXACT, "x")], Error.INVALID_REQUEST),
        ([("group", EXACT, "x")], Error.UNSUPPORTED_VERSION),
        ([("user", EXACT, None)], Error.INVALID_REQUEST),
        ([("user", DEFAULT, "x")], Error.INVALID_REQUEST),
        ([("user", ANY, "x")], Error.INVALID_REQUEST),
        ([("user", 3, "x")], Error.INVALID_REQUEST),
        ([("user", ANY, None), ("user", ANY, None)], Error.INVALID_REQUEST),
        ([("ip", ANY, None), ("user", ANY, None)], Error.INVALID_REQUEST),
    ],
)
def test_a_question_without_a_meaning_is_refused(
    components: Sequence[tuple[str, int, str | None]], error: Error
) -> None:
    asked = [Component(*each) for each in components]
    with pytest.raises(ClientFault) as refused:
        list(describe(image_of(STORED), asked, is_strict=False))
    assert refused.value.error is error


# -- where they are kept ---------------------------------------------------------------------------


@pytest.mark.spec("slides:B34", "book1:Z-06")
@pytest.mark.parametrize(
    ("entity", "node"),
    [
        (ALICE, "users/alice"),
        (ALICE_OTHERS, "users/alice/clients/<default>"),
        (ETL, "clients/etl"),
        (HOME, "ips/127.0.0.1"),
        ((("user", "CN=a b,O=x/y+~*"),), "users/CN%3Da%20b%2CO%3Dx%2Fy%2B%7E%2A"),
        ((("user", "<default>"),), "users/%3Cdefault%3E"),
        ((("client-id", ".."),), "clients/%2E%2E"),
    ],
)
def test_quotas_are_where_kafka_kept_them(entity: Entity, node: str) -> None:
    """The paths of ZooKeeper-era Kafka, names encoded as it did; and back."""
    owner = owner_of(entity)
    assert layout.config_path(owner) == f"/config/{node}"
    assert entity_of(owner) == entity


@given(name=st.text(min_size=1))
def test_any_name_can_be_kept(name: str) -> None:
    """Whatever a client calls itself is one harmless word of a path, and comes back as it was."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return
    owner = owner_of((("client-id", name),))
    assert owner.name.count("/") == 0
    assert owner.name.isascii()
    assert owner.name.isprintable()
    assert entity_of(owner) == (("client-id", name),)


# -- how brokers hear of them ----------------------------------------------------------------------


class Member:
    """A broker's image, and how it writes and hears."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self.image = store.load_image(tree)
        self.events: list[Event] = []
        tree.watch("/", self.events.append)

    def alter(self, entity: Entity, **values: float | None) -> None:
        change = alter(self.image, entity, [QuotaOp(*item) for item in values.items()])
        if change is not None:
            self.tree.multi(ops_for(self.image, [change]))
            self.image.apply([change])

    def catch_up(self) -> None:
        events, self.events[:] = list(self.events), []
        for root in roots_of([each for each in events if isinstance(each, NodeEvent)]):
            self.image.apply(changes_from(self.image, root, self.tree.subtree(root)))


@pytest.mark.spec("slides:M09")
def test_every_broker_hears_of_a_change() -> None:
    """What one writes the other knows by its events alone, as one that starts then does."""
    kept = MemoryStore()
    store.initialize(kept.session(), lambda: "test")
    one, other = Member(kept.session()), Member(kept.session())
    one.alter(ALICE_ETL, producer_byte_rate=10.0)
    one.alter(ALICE, producer_byte_rate=20.0)
    one.alter(HOME, connection_creation_rate=3.0)
    other.catch_up()
    assert dict(all_quotas(other.image)) == {
        ALICE: {"producer_byte_rate": 20.0},
        ALICE_ETL: {"producer_byte_rate": 10.0},
        HOME: {"connection_creation_rate": 3.0},
    }
    other.alter(ALICE, producer_byte_rate=None)
    other.alter(ALICE_ETL, producer_byte_rate=None)
    one.catch_up()
    assert dict(all_quotas(one.image)) == {HOME: {"connection_creation_rate": 3.0}}
    assert differences(one.image, store.load_image(kept.session())) == []
    assert not kept.session().exists(f"{layout.CONFIGS[OwnerKind.USER]}/alice/clients/etl")


ENTITIES = [ALICE, ALICE_ETL, ALICE_OTHERS, ETL, HOME]


@settings(max_examples=examples(80), deadline=None)
@given(
    steps=st.lists(
        st.tuples(st.booleans(), st.sampled_from(ENTITIES), st.sampled_from([None, 1.0, 2.0])),
        max_size=25,
    )
)
def test_images_agree_with_the_tree(steps: list[tuple[bool, Entity, float | None]]) -> None:
    """Two brokers set, remove and set again: each knows what the tree holds, and its versions."""
    kept = MemoryStore()
    store.initialize(kept.session(), lambda: "test")
    members = [Member(kept.session()), Member(kept.session())]
    for is_other, entity, value in steps:
        key = "connection_creation_rate" if entity == HOME else "consumer_byte_rate"
        members[is_other].catch_up()
        members[is_other].alter(entity, **{key: value})
    fresh = store.load_image(kept.session())
    for member in members:
        member.catch_up()
        assert differences(member.image, fresh) == []
        assert member.image.config_versions == fresh.config_versions
        assert member.image.configs == fresh.configs


def test_quotas_of_old_are_read() -> None:
    """Nodes that Kafka's own tools wrote: parents without data, values as text."""
    kept = MemoryStore()
    tree = kept.session()
    store.initialize(tree, lambda: "test")
    tree.create("/config/users/alice", b"")
    tree.create("/config/users/alice/clients", b"")
    data = b'{"version":1,"config":{"producer_byte_rate":"1024","consumer_byte_rate":"soon"}}'
    tree.create("/config/users/alice/clients/etl", data)
    assert dict(all_quotas(store.load_image(tree))) == {ALICE_ETL: {"producer_byte_rate": 1024.0}}
