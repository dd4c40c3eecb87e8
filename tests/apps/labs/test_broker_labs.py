"""The labs that need one broker, or set up what they need by themselves.

A story checks its own outcome and raises `LabFailed` where it is not as expected; what is
asserted here besides is what a student sees.
"""

from __future__ import annotations

import re
from types import ModuleType

import pytest

from examples.labs import (
    batch_sizes,
    compaction_use_cases,
    configuration,
    consumer_example,
    customers,
    delivery_semantics,
    driver_positions,
    event_hub,
    exactly_once,
    explore_log,
    food_ordering,
    introduction,
    lego,
    microservices,
    null_keys,
    partitions_and_offsets,
    performance,
    producer_example,
    read_models,
    repartition,
    serialization,
    single_node,
    sizing,
    transactions,
    troubleshooting,
)
from headrace.testing import Broker


@pytest.mark.spec("slides:O01", "admin:LB-02", "slides:A09")
def test_single_node(broker: Broker, capsys: pytest.CaptureFixture[str]) -> None:
    """Seven messages over 13 partitions come back; of one partition they come in order."""
    single_node.story(broker)
    out = capsys.readouterr().out
    assert out.count("\tLeader: 0\t") == 13
    assert "✓ they come back in the order of typing" in out


@pytest.mark.spec("slides:O06", "slides:C37")
def test_producer_example(broker: Broker, capsys: pytest.CaptureFixture[str]) -> None:
    """Five sends are waited for, a hundred are not; keys lie where murmur2 sends them."""
    producer_example.story(broker)
    sent = re.findall(
        r"^sent record\(key=\d+ value=Hello Mom (\d)\) meta\(partition=\d+, offset=\d+\) time=\d+$",
        capsys.readouterr().out,
        re.MULTILINE,
    )
    assert sent == ["0", "1", "2", "3", "4"]


@pytest.mark.spec("slides:O08", "slides:O09", "slides:O10", "slides:D06", "slides:D03")
def test_consumer_example(broker: Broker, capsys: pytest.CaptureFixture[str]) -> None:
    """Fixed keys give a fixed split of 25; own groups get everything."""
    consumer_example.story(broker)
    out = capsys.readouterr().out
    assert "10 + 7 + 8 = 25" in out
    assert len(re.findall(r"Consumer Record:\(14950423694\d\d, Hello Mom \d, \d+, \d+\)", out)) == 5


@pytest.mark.spec("slides:O11", "slides:D29")
def test_batch_sizes(broker: Broker) -> None:
    """No poll returns more than it was asked for; a larger limit needs fewer polls."""
    batch_sizes.story(broker)


@pytest.mark.spec("slides:E01", "slides:E02", "slides:E03", "slides:E17")
def test_delivery_semantics(broker: Broker, capsys: pytest.CaptureFixture[str]) -> None:
    """A crash between work and commit repeats, loses, or does neither: by the order of lines."""
    delivery_semantics.story(broker)
    out = capsys.readouterr().out
    assert "at least once: 'delivery 10' was done twice" in out
    assert "at most once: 'delivery 10' is lost" in out


@pytest.mark.spec("admin:LB-04", "admin:LB-18", "admin:LS-08", "admin:LS-17")
def test_explore_log(broker: Broker) -> None:
    """Every kind of file is where the course says, and a dump shows each record."""
    explore_log.story(broker)


@pytest.mark.spec("admin:LB-08", "admin:RC-41", "admin:CO-19")
def test_partitions_and_offsets(broker: Broker) -> None:
    """Partitions are added, no record moves, keys do; the group's lag is end minus committed."""
    partitions_and_offsets.story(broker)


@pytest.mark.spec("admin:LB-09", "admin:LB-10", "slides:P06")
def test_performance(broker: Broker) -> None:
    """Batches more than double the rate, and a codec shrinks the log."""
    performance.story(broker)


@pytest.mark.parametrize(
    "lab",
    [
        pytest.param(
            introduction, marks=pytest.mark.spec("admin:LB-01", "admin:RC-26"), id="introduction"
        ),
        pytest.param(null_keys, marks=pytest.mark.spec("admin:LB-03"), id="null_keys"),
        pytest.param(repartition, marks=pytest.mark.spec("admin:LB-32"), id="repartition"),
        pytest.param(
            customers, marks=pytest.mark.spec("admin:LB-14", "admin:LB-15"), id="customers"
        ),
        pytest.param(
            compaction_use_cases,
            marks=pytest.mark.spec("admin:LB-31", "slides:O39"),
            id="compaction",
        ),
        pytest.param(
            transactions, marks=pytest.mark.spec("admin:LB-29", "admin:TX-06"), id="transactions"
        ),
        pytest.param(
            exactly_once, marks=pytest.mark.spec("admin:LB-30", "admin:TX-04"), id="exactly_once"
        ),
        pytest.param(food_ordering, marks=pytest.mark.spec("admin:LB-24"), id="food_ordering"),
        pytest.param(
            driver_positions, marks=pytest.mark.spec("admin:LB-25"), id="driver_positions"
        ),
        pytest.param(
            event_hub,
            marks=pytest.mark.spec("slides:O38", "slides:O41", "book2:T-08"),
            id="event_hub",
        ),
        pytest.param(
            microservices, marks=pytest.mark.spec("slides:O37", "slides:O41"), id="microservices"
        ),
        pytest.param(
            read_models, marks=pytest.mark.spec("slides:O37", "book2:T-06"), id="read_models"
        ),
        pytest.param(lego, marks=pytest.mark.spec("admin:LB-23"), id="lego"),
    ],
)
def test_a_story_keeps_its_promises(broker: Broker, lab: ModuleType) -> None:
    """Told to its end, every outcome is as its document says."""
    lab.story(broker)


@pytest.mark.parametrize(
    "lab",
    [
        pytest.param(
            configuration,
            marks=pytest.mark.spec("admin:LB-05", "admin:RQ-24", "admin:RQ-25", "admin:RQ-23"),
            id="configuration",
        ),
        pytest.param(troubleshooting, marks=pytest.mark.spec("admin:LB-26"), id="troubleshooting"),
        pytest.param(sizing, marks=pytest.mark.spec("admin:LB-33"), id="sizing"),
        pytest.param(serialization, marks=pytest.mark.spec("book2:T-13"), id="serialization"),
    ],
)
def test_a_story_with_its_own_stage(lab: ModuleType) -> None:
    """The same for labs that bring along what they need."""
    lab.story()
