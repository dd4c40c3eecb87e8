"""The log files of a broker: which line goes where, when a file is set aside, at which level."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer

from headrace.broker.watching import logs
from headrace.broker.watching.log_files import FILES, RollingFile
from headrace.cluster.broker_config import BrokerConfig
from headrace.cluster.config_keys import BROKER_KEYS
from headrace.errors import Error
from headrace.testing import Broker
from tests.clients.configs import Op, Resource, Source, changed, configs_of, described
from tests.clients.raw import Connection
from tests.clients.requests import create_topics_request, metadata_request

LINE = re.compile(
    r"\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}\] (TRACE|DEBUG|INFO|WARN|ERROR) .* \(\S+\)"
)
HOUR_S = 3600


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    folder = tmp_path_factory.mktemp("logs")
    secret = {"ssl.keystore.password": "hunter2", "node.id": 7}
    with Broker(secret, environment={"LOG_DIR": str(folder)}) as running:
        yield running


@pytest.fixture
def folder(broker: Broker) -> Path:
    return Path(broker._environment["LOG_DIR"])


@pytest.fixture
def connection(broker: Broker) -> Iterator[Connection]:
    with Connection(broker.bootstrap_servers) as opened:
        yield opened


@pytest.mark.spec("admin:MO-06")
def test_every_subject_has_its_file(folder: Path, connection: Connection) -> None:
    """The files of the documents are there; each line is in Kafka's layout, in one file alone."""
    connection.ask(create_topics_request("logged", partitions=2), 7)
    assert {path.name for path in folder.iterdir()} == set(FILES.values())
    server = (folder / "server.log").read_text()
    controller = (folder / "controller.log").read_text()
    changes = (folder / "state-change.log").read_text()
    assert "INFO Broker 7 started (kafka.server.KafkaServer)\n" in server
    assert "Created topic logged with 2 partitions (kafka.controller.KafkaController)" in controller
    assert "Created topic" not in server
    assert "[Broker id=7] Leader logged-1 starts at leader epoch 0 from offset 0" in changes
    dumped = server.index("KafkaConfig values: ")
    rest = (
        server[:dumped].rpartition("\n")[0] + server[server.index("(kafka.server.KafkaConfig)") :]
    )
    for line in [*rest.splitlines()[1:], *controller.splitlines(), *changes.splitlines()]:
        assert LINE.fullmatch(line), line


@pytest.mark.spec("admin:MO-06")
def test_the_start_up_dump_is_kafkas(folder: Path) -> None:
    """`KafkaConfig values:`, every key in order with a tab before it, and no secret."""
    text = (folder / "server.log").read_text()
    head, _, rest = text.partition("INFO KafkaConfig values: \n")
    assert head
    lines = rest.partition(" (kafka.server.KafkaConfig)\n")[0].splitlines()
    names = [line.partition(" = ")[0] for line in lines]
    assert names == [f"\t{name}" for name in sorted(BROKER_KEYS)]
    assert "\tnode.id = 7" in lines
    assert "\tssl.keystore.password = [hidden]" in lines
    assert "\tlog.retention.ms = null" in lines
    assert "hunter2" not in text


def test_levels_are_shown_and_changed(folder: Path, connection: Connection) -> None:
    """KIP-412: DescribeConfigs tells the loggers, IncrementalAlterConfigs changes one at once."""
    loggers = configs_of(connection, "7", kind=Resource.BROKER_LOGGER)
    assert loggers["kafka.request.logger"].value == "WARN"
    assert loggers["root"].value == "INFO"
    assert {each.config_source for each in loggers.values()} == {Source.DYNAMIC_BROKER_LOGGER}
    requests = folder / "kafka-request.log"
    assert requests.read_text() == ""

    outcome = _set(connection, "kafka.request.logger", "DEBUG")
    assert outcome.error_code == Error.NONE, outcome.error_message
    connection.ask(metadata_request(), 12)
    connection.ask(metadata_request(), 12)
    _, _, told = requests.read_text().splitlines()[-1].partition("Completed request:")
    event = json.loads(told.rpartition(" (")[0])
    assert event["requestHeader"] == {
        "requestApiKeyName": "Metadata",
        "requestApiVersion": 12,
        "correlationId": event["requestHeader"]["correlationId"],
        "clientId": "raw",
    }
    assert event["totalTimeMs"] > 0

    outcome = changed(
        connection, "7", ("kafka.request.logger", Op.DELETE, None), kind=Resource.BROKER_LOGGER
    )
    assert outcome.error_code == Error.NONE
    size = requests.stat().st_size
    connection.ask(metadata_request(), 12)
    connection.ask(metadata_request(), 12)
    assert requests.stat().st_size == size
    loggers = configs_of(connection, "7", kind=Resource.BROKER_LOGGER)
    assert loggers["kafka.request.logger"].value == "INFO", "without its own it has that above"


def _set(
    connection: Connection, logger: str, level: str, op: Op = Op.SET, broker: str = "7"
) -> Any:
    return changed(connection, broker, (logger, op, level), kind=Resource.BROKER_LOGGER)


@pytest.mark.parametrize(
    ("logger", "level", "op", "error"),
    [
        ("kafka.nothing", "INFO", Op.SET, Error.INVALID_CONFIG),
        ("kafka.controller.KafkaController", "LOUD", Op.SET, Error.INVALID_CONFIG),
        ("kafka.controller.KafkaController", "INFO", Op.APPEND, Error.INVALID_REQUEST),
        ("root", "", Op.DELETE, Error.INVALID_REQUEST),
    ],
)
def test_levels_that_cannot_be(
    connection: Connection, logger: str, level: str, op: Op, error: Error
) -> None:
    """An unknown logger or level, an operation that makes no sense."""
    assert _set(connection, logger, level, op).error_code == error


def test_loggers_of_another_broker_are_not_known_here(connection: Connection) -> None:
    """Each broker is asked itself."""
    assert _set(connection, "root", "INFO", broker="8").error_code == Error.INVALID_REQUEST
    result = described(connection, "8", kind=Resource.BROKER_LOGGER)
    assert result.error_code == Error.INVALID_REQUEST


@pytest.mark.spec("slides:M11")
def test_levels_come_from_a_log4j_file(tmp_path: Path) -> None:
    """log4j.properties: its levels hold from the start; clients switch their own."""
    file = tmp_path / "log4j.properties"
    file.write_text(
        "log4j.rootLogger=INFO, stdout\n"
        "log4j.logger.kafka.controller=TRACE, controllerAppender\n"
        "log4j.logger.org.apache.zookeeper=INFO\n"
    )
    properties = {"log4j.configuration": f"file:{file}", "kafka.logs.dir": tmp_path / "logs"}
    with Broker(properties) as broker, Connection(broker.bootstrap_servers) as connection:
        broker_id = str(connection.ask(metadata_request(), 12).brokers[0].node_id)
        loggers = configs_of(connection, broker_id, kind=Resource.BROKER_LOGGER)
        assert loggers["kafka.controller.KafkaController"].value == "TRACE"
        assert loggers["kafka.server.KafkaServer"].value == "INFO"
        said: list[str] = []
        producer = Producer(
            {"bootstrap.servers": broker.bootstrap_servers, "debug": "broker"},
            logger=_listening(said),
        )
        producer.list_topics(timeout=10)
        producer.poll(0)
        assert any("ApiVersion" in line for line in said)
        del producer
    assert (tmp_path / "logs" / "server.log").exists()


def _listening(said: list[str]) -> logging.Logger:
    logger = logging.getLogger("tests.librdkafka")
    logger.setLevel(logging.DEBUG)
    logger.propagate = False

    class Listening(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            said.append(record.getMessage())

    logger.handlers[:] = [Listening()]
    return logger


class TestRollingFile:
    """One file by itself, with a clock of the test's own."""

    @pytest.fixture
    def path(self, tmp_path: Path) -> Path:
        return tmp_path / "server.log"

    def write(self, file: RollingFile, text: str) -> None:
        file.emit(logging.LogRecord("kafka.x", logging.INFO, "", 0, text, None, None))

    def test_by_the_hour(self, path: Path) -> None:
        """A line of the next hour begins a new file; the old one has the name of its hour."""
        now = [1_700_000_000.0]
        file = RollingFile(path, max_bytes=1 << 20, max_files=2, hourly=True, now=lambda: now[0])
        for hour in range(4):
            self.write(file, f"hour {hour}")
            self.write(file, "more")
            now[0] += HOUR_S
        file.close()
        assert path.read_text() == "hour 3\nmore\n"
        aside = file.set_aside()
        assert [each.read_text() for each in aside] == ["hour 1\nmore\n", "hour 2\nmore\n"]
        assert re.fullmatch(r"server\.log\.\d{4}-\d\d-\d\d-\d\d", aside[0].name)

    def test_by_size(self, path: Path) -> None:
        """No file grows beyond the limit, and only so many are kept."""
        file = RollingFile(
            path, max_bytes=100, max_files=3, hourly=False, now=lambda: 1_700_000_000.0
        )
        for number in range(100):
            self.write(file, f"line {number:03} {'.' * 20}")
        file.close()
        assert len(file.set_aside()) == 3
        kept = [*file.set_aside(), path]
        assert all(each.stat().st_size <= 100 for each in kept)
        lines = "".join(each.read_text() for each in kept).splitlines()
        numbers = [int(line.split()[1]) for line in lines]
        assert numbers == list(range(100 - len(numbers), 100))

    def test_a_full_disk_loses_lines_and_nothing_else(self) -> None:
        """What cannot be written is dropped."""
        file = RollingFile(Path("/dev/full"), max_bytes=1 << 20, max_files=1, hourly=True)
        self.write(file, "lost")
        file.close()


def test_levels_have_kafkas_names() -> None:
    """WARN and FATAL, not WARNING and CRITICAL."""
    record = logging.LogRecord("kafka.x", logging.WARNING, "", 0, "careful", None, None)
    assert logs.TextFormatter().format(record).endswith("] WARN careful (kafka.x)")
    assert json.loads(logs.JsonFormatter().format(record))["level"] == "WARN"


def test_dump_is_sorted() -> None:
    """Also where settings are given out of order."""
    lines = BrokerConfig({"node.id": "3", "log.dirs": "/a,/b"}).dump().splitlines()
    assert lines[0] == "KafkaConfig values: "
    assert lines[1:] == sorted(lines[1:])
    assert "\tlog.dirs = /a,/b" in lines or "\tlog.dirs = [/a, /b]" in lines
