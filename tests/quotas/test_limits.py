"""Which quota holds for whom (KIP-55), and what follows from it."""

from __future__ import annotations

import itertools
import math

import pytest

from headrace.quotas.accounts import MutationAccounts, RateAccounts
from headrace.quotas.connections import ConnectionRates
from headrace.quotas.limits import (
    CONNECTION_CREATION_RATE,
    CONSUMER_BYTE_RATE,
    CONTROLLER_MUTATION_RATE,
    PRODUCER_BYTE_RATE,
    Entity,
    Limits,
)
from headrace.quotas.rates import QuotaWindow

WINDOW = QuotaWindow(samples=11, size_ms=1_000)
# In Kafka's order, with the owner of the use that each one counts.
ORDER: list[tuple[Entity, tuple[str | None, str | None]]] = [
    ((("user", "u"), ("client-id", "c")), ("u", "c")),
    ((("user", "u"), ("client-id", None)), ("u", "c")),
    ((("user", "u"),), ("u", None)),
    ((("user", None), ("client-id", "c")), ("u", "c")),
    ((("user", None), ("client-id", None)), ("u", "c")),
    ((("user", None),), ("u", None)),
    ((("client-id", "c"),), (None, "c")),
    ((("client-id", None),), (None, "c")),
]
# Quotas of others, which must never be found.
STRANGERS: list[Entity] = [
    (("user", "v"),),
    (("client-id", "d"),),
    (("user", "u"), ("client-id", "d")),
    (("user", "v"), ("client-id", "c")),
    (("user", "v"), ("client-id", None)),
    (("user", None), ("client-id", "d")),
]


@pytest.mark.spec("slides:M08", "admin:MO-08", "book1:Z-06")
def test_the_most_specific_quota_holds() -> None:
    """All 256 subsets of the eight: the first of Kafka's order wins, and counts for its owner."""
    for present in itertools.product((False, True), repeat=len(ORDER)):
        stored = [(entity, float(rank)) for rank, (entity, _) in enumerate(ORDER, 1)]
        given = [pair for pair, is_there in zip(stored, present, strict=True) if is_there]
        limits = Limits(
            [(entity, {PRODUCER_BYTE_RATE: value}) for entity, value in given]
            + [(entity, {PRODUCER_BYTE_RATE: 99.0}) for entity in STRANGERS]
        )
        found = limits.find(PRODUCER_BYTE_RATE, "u", "c")
        if not any(present):
            assert found is None
        else:
            first = present.index(True)
            assert found == (first + 1.0, ORDER[first][1])


def test_each_kind_of_quota_is_looked_for_by_itself() -> None:
    """Who has a quota for producing still has the default one for consuming."""
    limits = Limits(
        [
            ((("user", "u"),), {PRODUCER_BYTE_RATE: 10.0}),
            ((("user", None),), {PRODUCER_BYTE_RATE: 20.0, CONSUMER_BYTE_RATE: 30.0}),
        ]
    )
    assert limits.find(PRODUCER_BYTE_RATE, "u", "c") == (10.0, ("u", None))
    assert limits.find(CONSUMER_BYTE_RATE, "u", "c") == (30.0, ("u", None))
    assert limits.find(CONTROLLER_MUTATION_RATE, "u", "c") is None


def test_a_changed_quota_holds_at_once() -> None:
    """What was found before is not believed any more; with the last one nobody is limited."""
    limits = Limits([((("user", "u"),), {PRODUCER_BYTE_RATE: 10.0})])
    assert limits.find(PRODUCER_BYTE_RATE, "u", "c") == (10.0, ("u", None))
    limits.put((("user", "u"),), {PRODUCER_BYTE_RATE: 11.0})
    assert limits.find(PRODUCER_BYTE_RATE, "u", "c") == (11.0, ("u", None))
    limits.put((("user", "u"),), {CONSUMER_BYTE_RATE: 1.0})
    assert limits.find(PRODUCER_BYTE_RATE, "u", "c") is None
    assert PRODUCER_BYTE_RATE not in limits


def test_clients_of_a_user_share_its_quota() -> None:
    """A quota of a user is used up by all its clients; one by client id counts each of them."""
    limits = Limits([((("user", "u"),), {PRODUCER_BYTE_RATE: 100.0})])
    accounts = RateAccounts(PRODUCER_BYTE_RATE, limits, WINDOW)
    assert accounts.charge("u", "a", 1_000, 0) == 0
    assert accounts.charge("u", "b", 1_000, 0) == 10_000
    assert accounts.charge("v", "a", 10**9, 0) == 0
    limits.put((("user", "u"), ("client-id", None)), {PRODUCER_BYTE_RATE: 100.0})
    assert accounts.charge("u", "c", 1_000, 0) == 0
    assert accounts.charge("u", "d", 1_000, 0) == 0


def test_what_is_not_given_is_not_counted() -> None:
    """A fetch over the quota waits for as long as it takes, and then gets its bytes."""
    limits = Limits([((("client-id", "c"),), {CONSUMER_BYTE_RATE: 100.0})])
    accounts = RateAccounts(CONSUMER_BYTE_RATE, limits, WINDOW)
    assert accounts.portion("u", "c", 0) == 1_000
    assert accounts.portion("u", "other", 0) == math.inf
    assert accounts.charge_unless_over("u", "c", 1_000, 0) == 0
    assert accounts.portion("u", "c", 0) == 22, "a fiftieth of eleven seconds is worth waiting for"
    for _ in range(5):
        assert accounts.charge_unless_over("u", "c", 100, 0) == 1_000
    # Ten seconds are assumed from the beginning; only then does more time help.
    assert accounts.charge_unless_over("u", "c", 100, 11_000) == 0


def test_more_than_the_quota_can_ever_allow_is_given_once() -> None:
    """A batch larger than a window's worth reaches whoever used nothing, and is paid for after."""
    limits = Limits([((("client-id", "c"),), {CONSUMER_BYTE_RATE: 100.0})])
    accounts = RateAccounts(CONSUMER_BYTE_RATE, limits, WINDOW)
    assert accounts.charge_unless_over("u", "c", 5_000, 0) == 0
    assert accounts.charge_unless_over("u", "c", 5_000, 1) > 11_000


def test_mutations_are_refused_strictly_or_waited_for() -> None:
    """KIP-599: new requests are refused while in debt, and not charged; old ones go on."""
    limits = Limits([((("user", None),), {CONTROLLER_MUTATION_RATE: 1.0})])
    accounts = MutationAccounts(limits, WINDOW)
    assert accounts.charge("u", "c", 21, 0, is_strict=True) == 0
    assert accounts.charge("u", "c", 5, 0, is_strict=True) == 10_000
    assert accounts.charge("u", "c", 5, 0, is_strict=True) == 10_000
    assert accounts.charge("u", "c", 5, 0, is_strict=False) == 15_000
    assert accounts.charge("u", "c", 5, 15_000, is_strict=True) == 0


def test_an_address_has_its_own_quota_or_the_default() -> None:
    """Too many connections from one address are refused, and not counted against it."""
    limits = Limits(
        [
            ((("ip", "10.0.0.1"),), {CONNECTION_CREATION_RATE: 1.0}),
            ((("ip", None),), {CONNECTION_CREATION_RATE: 2.0}),
        ]
    )
    rates = ConnectionRates(limits, WINDOW)
    welcome = [sum(not rates.refusal_ms(ip, 0) for _ in range(50)) for ip in ("10.0.0.1", "::1")]
    assert welcome == [10, 20]
    assert 0 < rates.refusal_ms("10.0.0.1", 0) <= WINDOW.size_ms


def test_a_broker_and_its_listeners_take_turns() -> None:
    """Connections above the rate wait; those of brokers do not wait for clients."""
    rates = ConnectionRates(Limits(), WINDOW)
    assert rates.delay_ms("CLIENTS", 0) == 0
    rates.broker = 2
    rates.listeners["CLIENTS"] = 1
    delays = [rates.delay_ms("CLIENTS", 0) for _ in range(12)]
    assert delays[:10] == [0] * 10
    assert all(0 < delay <= WINDOW.size_ms for delay in delays[10:])
    while not rates.delay_ms("OTHERS", 0):
        pass
    assert rates.delay_ms("BROKERS", 0, is_protected=True) == 0


def test_a_flood_of_client_ids_is_forgotten() -> None:
    """Each new id has the default quota, and is remembered for two windows at most."""
    limits = Limits([((("client-id", None),), {PRODUCER_BYTE_RATE: 10.0})])
    accounts = RateAccounts(PRODUCER_BYTE_RATE, limits, WINDOW)
    most = 0
    for number in range(40_000):
        now_ms = 4 * number  # 250 a second
        assert accounts.charge("u", f"client-{number}", 5, now_ms) == 0
        if number % 5_000 == 0:
            most = max(most, len(accounts))
            assert accounts.charge("u", "greedy", 1_000, now_ms) > 0
    assert most <= 2 * WINDOW.span_ms // 4 + 2
