"""`headrace plan`: the formulas with worked numbers, the figures of our broker, the warnings."""

from __future__ import annotations

import dataclasses
import json

import pytest

from headrace.cli.plan.advice import (
    BROKER_HARDWARE,
    ZOOKEEPER_HARDWARE,
    Circumstances,
    Storage,
    tolerated_failures,
    warnings,
)
from headrace.cli.plan.sizing import (
    Load,
    Machine,
    brokers_by_cpu,
    brokers_by_disk_speed,
    brokers_by_network,
    brokers_by_storage,
    buffer_memory,
    disk_per_broker,
    loads,
    partitions_for,
    process_memory,
    size,
)
from tests.cli.conftest import Headrace

GB, TB = 10**9, 10**12
LOAD = Load(
    messages_per_second=10_000,
    message_bytes=1_000,
    retention_s=7 * 86_400,
    replication_factor=3,
    consumers=2,
    producer_bytes_per_second=2_000_000,
    consumer_bytes_per_second=1_000_000,
)
MACHINE = Machine(
    disk_bytes=4 * TB,
    bandwidth_bytes_per_second=125_000_000,
    disk_bytes_per_second=600_000_000,
    buffer_s=30,
)
WELL = Circumstances(
    ram_bytes=64 * GB,
    storage=Storage.SSD,
    data_centres=1,
    shared_disks=False,
    min_insync_replicas=2,
)


def risks(load: Load = LOAD, around: Circumstances = WELL, **given: int) -> str:
    sizing = size(load, MACHINE, partitions=given.get("partitions"), brokers=given.get("brokers"))
    return "\n".join(warnings(load, MACHINE, sizing, around))


# -- formulas -------------------------------------------------------------------------------------


@pytest.mark.spec("book2:L-01")
def test_memory_is_throughput_times_buffer_time() -> None:
    """50 MB/s for 30 s are 1.5 GB."""
    assert buffer_memory(50_000_000, 30).value == 1.5 * GB


@pytest.mark.spec("book2:L-02")
def test_disk_is_what_is_kept_divided_by_the_brokers() -> None:
    """1 KB x 10,000/s x a week x 3 replicas on 6 brokers are 3.024 TB on each."""
    assert disk_per_broker(LOAD, 6).value == 3.024 * TB


@pytest.mark.spec("admin:PF-03")
def test_partitions_serve_the_slower_side() -> None:
    """max(t/p, t/c): 10 MB/s at 1 MB/s for a consumer are ten; a part of one counts as a whole."""
    assert partitions_for(LOAD).value == 10
    slow_producer = dataclasses.replace(LOAD, producer_bytes_per_second=300_000)
    assert partitions_for(slow_producer).value == 34
    unknown = dataclasses.replace(
        LOAD, producer_bytes_per_second=None, consumer_bytes_per_second=None
    )
    assert partitions_for(unknown).value == 1


@pytest.mark.spec("admin:PF-04")
def test_brokers_by_storage() -> None:
    """864 million a day x 1 KB x 7 days x 3 = 18.144 TB: five brokers of 4 TB."""
    assert brokers_by_storage(LOAD, 4 * TB).value == 5


@pytest.mark.spec("admin:PF-05")
def test_brokers_by_network() -> None:
    """10,000/s x 1 KB x 25 consumers = 250 MB/s: two brokers at 1 Gbit/s, and not three."""
    many = dataclasses.replace(LOAD, consumers=25)
    assert brokers_by_network(many, 125_000_000).value == 2
    assert brokers_by_network(dataclasses.replace(many, consumers=26), 125_000_000).value == 3


@pytest.mark.spec("book2:L-03", "admin:PF-02")
def test_the_largest_need_decides() -> None:
    """Replicas need as many brokers, and a broker takes 4,000 of them."""
    small = dataclasses.replace(LOAD, messages_per_second=1)
    assert size(small, MACHINE, partitions=None, brokers=None).brokers == 3
    crowded = size(small, MACHINE, partitions=8_000, brokers=None)
    assert crowded.brokers_by["partitions"].value == crowded.brokers == 6
    assert "by partitions" in crowded.because
    assert "3 replicas do not fit on 2 brokers" in risks(brokers=2)


@pytest.mark.spec("book2:N-01")
def test_four_loads_are_told() -> None:
    """Written, read, replicated, flushed: 10 MB/s with three replicas and two readers."""
    found = {name: rate // 10**6 for name, rate in loads(LOAD).items()}
    assert found == {"write": 10, "read": 20, "replication": 20, "disk": 30}


# -- warnings -------------------------------------------------------------------------------------


def test_a_good_plan_is_not_warned_of() -> None:
    """No warning, no text."""
    assert risks() == ""


@pytest.mark.spec("admin:PF-02", "admin:PF-06")
def test_too_many_partitions_are_warned_of() -> None:
    """More than 4,000 on a broker, more than 200,000 in a cluster, and what many cost."""
    text = risks(partitions=100_000, brokers=10)
    assert "more than 4,000 on each" in text
    assert "more than the 200,000 that a cluster can hold" in text
    assert "open files, time to elect leaders, latency of replication and memory" in text
    assert "4,000" not in risks(partitions=800, brokers=5)


@pytest.mark.parametrize(
    ("change", "warning"),
    [
        pytest.param({"ram_bytes": 16 * GB}, "below 32 GB", marks=pytest.mark.spec("book2:L-06")),
        pytest.param({"ram_bytes": 32 * GB}, "is acceptable", marks=pytest.mark.spec("book2:L-06")),
        pytest.param(
            {"storage": Storage.NAS}, "use local disks", marks=pytest.mark.spec("book2:L-10")
        ),
        pytest.param(
            {"storage": Storage.RAID5}, "use RAID 10", marks=pytest.mark.spec("book2:L-10")
        ),
        pytest.param(
            {"data_centres": 2}, "a cluster in each", marks=pytest.mark.spec("book2:L-12")
        ),
        pytest.param(
            {"shared_disks": True}, "disks of their own", marks=pytest.mark.spec("book2:L-08")
        ),
        ({"min_insync_replicas": 3}, "the first broker that fails stops the producers"),
    ],
)
def test_circumstances_are_warned_of(change: dict[str, object], warning: str) -> None:
    """Each by itself, with what to do instead."""
    assert warning in risks(around=dataclasses.replace(WELL, **change))  # type: ignore[arg-type]


@pytest.mark.spec("admin:PF-01", "slides:P15", "book2:L-07")
def test_tls_is_planned_for_with_its_measured_cost() -> None:
    """69 of 83 MB/s are left: ten partitions become thirteen; and cores are asked for."""
    encrypted = dataclasses.replace(LOAD, tls=True)
    assert (partitions_for(LOAD).value, partitions_for(encrypted).value) == (10, 13)
    assert "from 12 to 28 % and of its broker from 30 to 48 %" in risks(encrypted)
    assert "TLS" not in risks()


@pytest.mark.spec("slides:P04")
def test_brokers_by_the_speed_of_disks(headrace: Headrace) -> None:
    """600 MB/s in sequence unless said otherwise: 500 MB/s with three replicas need three."""
    fast = dataclasses.replace(LOAD, messages_per_second=500_000)
    assert brokers_by_disk_speed(fast, 600_000_000).value == 3
    words = ["plan", "--rate", "500000", "--output", "json"]
    assert json.loads(headrace(*words).out)["brokers_by"]["disk_speed"] == 3
    slow = json.loads(headrace(*words, "--disk-speed", "100MB/s").out)
    assert slow["brokers_by"]["disk_speed"] == 15


@pytest.mark.spec("book2:L-11")
def test_one_replica_is_a_risk() -> None:
    """What the disk has not got yet is lost with the machine."""
    assert "one replica" in risks(dataclasses.replace(LOAD, replication_factor=1))


@pytest.mark.spec("book2:L-04", "book2:L-05")
def test_the_buffer_must_fit_beside_the_process() -> None:
    """Of 64 GB, 1 is the system's and 0.13 the broker's: the rest is page cache, and no more."""
    fitting = dataclasses.replace(LOAD, messages_per_second=2_094_000)
    assert "page cache" not in risks(fitting, brokers=3)
    more = dataclasses.replace(LOAD, messages_per_second=2_096_000)
    assert "GB of buffer do not fit into 62.8" in risks(more, brokers=3)


def test_a_broker_is_a_process_with_a_core_and_not_a_heap(headrace: Headrace) -> None:
    """Memory grows with replicas; records in and out are divided by what a core moves."""
    assert process_memory(0).value == 128_000_000
    assert process_memory(4_000).value == 192_000_000
    assert "replicas x 16,000 B" in process_memory(4_000).formula
    busy = dataclasses.replace(LOAD, messages_per_second=100_000)
    assert brokers_by_cpu(busy, 200_000_000).value == 4  # 700 MB/s: 1 + 2 x 2 + 2 times 100 MB/s
    assert "4 cores are needed, and a broker uses one" in risks(busy, brokers=3)
    words = [
        "plan",
        "--rate",
        "100000",
        "--consumers",
        "2",
        "--broker-rate",
        "50MB/s",
        "-o",
        "json",
    ]
    found = json.loads(headrace(*words).out)
    assert found["brokers_by"]["cpu"] == 14
    assert found["process_bytes_per_broker"] < 200_000_000
    assert "heap" not in json.dumps(found)


def test_disk_and_network_of_given_brokers_are_checked() -> None:
    """The copies to followers count, although the formula for brokers leaves them out."""
    assert "do not fit on its 4 TB" in risks(brokers=3)
    busy = dataclasses.replace(LOAD, messages_per_second=60_000)
    assert "with the copies exceed" in risks(busy, brokers=3)


@pytest.mark.spec("book2:L-13")
def test_goals_come_first(headrace: Headrace) -> None:
    """Without a rate there is no plan; growth is planned for; failures tolerated are told."""
    missing = headrace("plan")
    assert missing.code == 2
    assert "--rate is missing; say how much is written" in missing.err
    words = ["plan", "--rate", "10000", "--growth", "50", "--output", "json"]
    told = json.loads(headrace(*words).out)
    assert told["throughput_bytes_per_second"] == 15_000_000
    assert told["failures_until_producers_stop"] == 1
    assert told["failures_until_records_are_lost"] == 2
    assert tolerated_failures(LOAD, WELL) == (1, 2)


@pytest.mark.spec("admin:PF-07", "admin:PF-08", "book2:L-09")
def test_the_recommended_machines_are_told(headrace: Headrace) -> None:
    """For brokers and for ZooKeeper; an SSD is what is assumed."""
    told = json.loads(headrace("plan", "--rate", "1", "--output", "json").out)
    assert told["hardware"] == {"broker": BROKER_HARDWARE, "zookeeper": ZOOKEEPER_HARDWARE}
    assert "12 of 1 TB" in BROKER_HARDWARE["disks"]
    assert "noatime" in BROKER_HARDWARE["file_system"]
    assert "512 GB SSD" in ZOOKEEPER_HARDWARE["disks"]
    assert "[default: ssd]" in headrace("plan", "--help").out


def test_the_table_shows_the_formula_of_every_figure(headrace: Headrace) -> None:
    """And the warnings below it."""
    words = ["--rate", "10000", "--brokers", "6", "--disk", "4TB", "--memory", "16GB"]
    text = headrace("plan", *words).out
    assert "disk per broker        3.02 TB" in text
    assert "1,000 B x 10,000/s x 604,800 s x 3 / 6 brokers" in text
    assert "warning: 16 GB of memory: below 32 GB little page cache is left" in text
    assert headrace("plan", *words, "-o", "yaml").out.startswith("throughput_bytes_per_second: ")


@pytest.mark.parametrize(
    "words",
    [["--disk", "big"], ["--retention", "long"], ["--network", "0"], ["--replicas", "0"]],
)
def test_what_cannot_be_read_is_refused(headrace: Headrace, words: list[str]) -> None:
    """As wrong usage that names the option."""
    outcome = headrace("plan", "--rate", "1", *words)
    assert outcome.code == 2
    assert words[0] in outcome.err


@pytest.mark.parametrize("number", ["inf", "nan", "1e308", "9" * 400])
@pytest.mark.parametrize("option", ["--rate", "--growth"])
def test_what_cannot_be_calculated_with_is_refused(
    headrace: Headrace, option: str, number: str
) -> None:
    """Infinity is a number for a parser only."""
    outcome = headrace("plan", "--rate", "1", option, number)
    assert outcome.code == 2
    assert option in outcome.err
    assert "bug" not in outcome.err


@pytest.mark.parametrize(
    "option",
    [
        "--replicas",
        "--consumers",
        "--partitions",
        "--brokers",
        "--data-centres",
        "--min-insync-replicas",
    ],
)
def test_counts_have_a_limit_too(headrace: Headrace, option: str) -> None:
    """More than a float can hold is refused, and the largest number gives a plan."""
    outcome = headrace("plan", "--rate", "1", option, "9" * 400)
    assert outcome.code == 2
    assert option in outcome.err
    largest = headrace("plan", "--rate", "1e15", "--growth", "1e15", option, str(10**15))
    assert largest.code == 0, largest.err
