"""Settings whose effect is seen from outside: a broker's files, its folders, its limits."""

from __future__ import annotations

import contextlib
import itertools
import re
from pathlib import Path

import pytest

from headrace.cluster.config_keys import BROKER_KEYS
from headrace.errors import Error
from headrace.testing import Broker
from headrace.wire.messages.metadata import MetadataRequest
from tests.behaviour.processes import free_port, headrace_up
from tests.clients.configs import Resource, configs_of
from tests.clients.raw import Connection, batch_of
from tests.clients.records import FIRST_TIMESTAMP_MS, Record, numbered_records
from tests.clients.requests import (
    METADATA_VERSION,
    create_topic,
    delete_topic,
    fetched,
    metadata_request,
    produced,
    produced_bytes,
)

MAX_BYTES = 65_536


def batch_of_size(size: int) -> memoryview:
    """A batch of exactly so many bytes."""
    empty = len(batch_of([Record(None, bytes(size // 2), FIRST_TIMESTAMP_MS)])) - size // 2
    batch = batch_of([Record(None, bytes(size - empty), FIRST_TIMESTAMP_MS)])
    if len(batch) > size:  # the lengths inside have grown by a byte each
        batch = batch_of([Record(None, bytes(2 * size - empty - len(batch)), FIRST_TIMESTAMP_MS)])
    assert len(batch) == size
    return batch


@pytest.mark.spec("slides:A51", "slides:O14")
def test_the_settings_of_the_stock_lab() -> None:
    """Batches up to 65536 bytes, no topics by accident, deletion on, three replicas or nothing."""
    settings = {
        "min.insync.replicas": 3,
        "message.max.bytes": MAX_BYTES,
        "replica.lag.time.max.ms": 5000,
        "auto.create.topics.enable": "false",
        "delete.topic.enable": "true",
    }
    with Broker(settings) as broker, Connection(broker.bootstrap_servers) as connection:
        create_topic(connection, "stock-prices")
        fits = produced_bytes(connection, "stock-prices", batch_of_size(MAX_BYTES), acks=1)
        assert (fits.error_code, fits.base_offset) == (Error.NONE, 0)
        larger = produced_bytes(connection, "stock-prices", batch_of_size(MAX_BYTES + 1), acks=1)
        assert (larger.error_code, larger.base_offset) == (Error.MESSAGE_TOO_LARGE, -1)
        alone = produced_bytes(connection, "stock-prices", batch_of(numbered_records(1)))
        assert alone.error_code == Error.NOT_ENOUGH_REPLICAS
        assert fetched(connection, "stock-prices", 0).high_watermark == 1
        asked = metadata_request("no-such-stock", auto_create=True)
        (told,) = connection.ask(asked, METADATA_VERSION).topics
        assert told.error_code == Error.UNKNOWN_TOPIC_OR_PARTITION
        node_id = connection.ask(MetadataRequest(topics=[]), METADATA_VERSION).brokers[0].node_id
        in_force = configs_of(connection, str(node_id), kind=Resource.BROKER)
        assert {name: in_force[name].value for name in settings} == {
            name: str(value) for name, value in settings.items()
        }
        delete_topic(connection, "stock-prices")


@pytest.mark.spec("slides:A40")
def test_a_broker_says_its_settings_when_it_starts(tmp_path: Path) -> None:
    """The log has "KafkaConfig values:" and every key, in order, with the value in force."""
    words = ["--data", str(tmp_path), "--port", "0", "--log-level", "info"]
    with headrace_up(*words, "--set", "num.partitions=7") as started:
        output = started.output
    (first,) = [number for number, line in enumerate(output) if "KafkaConfig values:" in line]
    assert re.match(r"\[.*\] INFO KafkaConfig values:", output[first])
    lines = output[first + 1 :][: len(BROKER_KEYS)]
    shown = dict(line.removeprefix("\t").split(" = ", 1) for line in lines)
    assert list(shown) == sorted(BROKER_KEYS)
    assert shown["num.partitions"] == "7"
    assert shown["log.dirs"] == f"[{tmp_path}]"
    assert shown["log.retention.hours"] == "168"
    assert shown["broker.rack"] == "null"


@pytest.mark.spec("admin:LS-31")
def test_three_brokers_share_a_host(tmp_path: Path) -> None:
    """Three properties files, each with its own broker.id, port and log.dirs, side by side.

    Each is a cluster of its own: a topic of one is in no other's metadata or folder.
    """
    ports = [free_port() for _ in range(3)]
    with contextlib.ExitStack() as running:
        for number, port in enumerate(ports):
            file = tmp_path / f"server-{number}.properties"
            file.write_text(
                f"broker.id={number}\n"
                f"listeners=PLAINTEXT://127.0.0.1:{port}\n"
                f"log.dirs={tmp_path / f'kafka-logs{number}'}\n"
            )
            started = running.enter_context(headrace_up("--config", str(file)))
            assert started.bootstrap_servers == f"127.0.0.1:{port}"
        for number, port in enumerate(ports):
            with Connection(f"127.0.0.1:{port}") as connection:
                create_topic(connection, f"of-{number}")
                produced(connection, f"of-{number}", numbered_records(number + 1))
        for number, port in enumerate(ports):
            with Connection(f"127.0.0.1:{port}") as connection:
                told = connection.ask(MetadataRequest(topics=None), METADATA_VERSION)
                assert [(each.node_id, each.port) for each in told.brokers] == [(number, port)]
                assert [each.name for each in told.topics] == [f"of-{number}"]
                assert fetched(connection, f"of-{number}", 0).high_watermark == number + 1
            folders = (tmp_path / f"kafka-logs{number}").glob("of-*")
            assert [folder.name for folder in folders] == [f"of-{number}-0"]


def partitions_in(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.iterdir() if re.search(r"-\d+$", each.name))


@pytest.mark.spec("book2:N-04")
@pytest.mark.spec("slides:A14", "book2:K-08", "book2:K-09", "admin:LS-09", "book1:B-11")
def test_partitions_are_spread_over_disks_and_stay_there(tmp_path: Path) -> None:
    """One topic on three directories, two partitions each; a fourth directory gets new ones only.

    Every partition lies wholly in one of them, and the restarted broker finds all of them.
    """
    folders = [tmp_path / f"disk-{number}" for number in range(4)]
    three = {"log.dirs": ",".join(map(str, folders[:3]))}
    with Broker(three, data=tmp_path) as broker, Connection(broker.bootstrap_servers) as connection:
        create_topic(connection, "spread", partitions=6)
        for partition in range(6):
            batch = batch_of(numbered_records(partition + 1))
            produced_bytes(connection, "spread", batch, partition=partition)
    before = [partitions_in(folder) for folder in folders[:3]]
    assert [len(names) for names in before] == [2, 2, 2]
    assert sorted(itertools.chain(*before)) == [f"spread-{number}" for number in range(6)]
    four = {"log.dirs": ",".join(map(str, folders))}
    with Broker(four, data=tmp_path) as broker, Connection(broker.bootstrap_servers) as connection:
        for partition in range(6):
            found = fetched(connection, "spread", 0, partition=partition)
            assert found.high_watermark == partition + 1
        create_topic(connection, "later", partitions=2)
    assert [partitions_in(folder) for folder in folders[:3]] == before
    assert partitions_in(folders[3]) == ["later-0", "later-1"]
