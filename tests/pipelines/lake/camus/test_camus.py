"""Camus: what is new in topics becomes files by the hour, once."""

from __future__ import annotations

import json
import socket
from pathlib import Path

import pytest

from headrace.cli.kafka_compat import lake_tools
from headrace.errors import ConfigError
from headrace.pipelines.lake.camus.settings import read_settings
from headrace.pipelines.lake.jobs.locking import Locked
from tests.pipelines.lake.camus.jobs import Camus, events
from tests.pipelines.source.topics import Topics

NOON_MS = 1_763_467_200_000  # 2025-11-18T12:00:00Z
HOUR_MS = 3_600_000


@pytest.mark.spec("book2:A7-02", "book2:A7-03", "book2:A7-07", "admin:CN-15", "book2:G-03")
def test_each_run_copies_what_is_new(topics: Topics, tmp_path: Path) -> None:
    """Into the hours that the messages tell; a run with nothing new writes nothing."""
    topic = topics.create(partitions=2)
    topics.produce(topic, events(0, 10, lambda n: NOON_MS + n * HOUR_MS // 5))
    topics.produce(topic, events(10, 5, lambda n: NOON_MS), partition=1)
    camus = Camus(topics, tmp_path, topic)

    report = camus.run()

    assert [(each.messages, each.next_offset) for each in report.outcomes] == [(10, 10), (5, 5)]
    hours = f"{topic}/hourly/2025/11/18"
    assert list(camus.files()) == [
        f"{hours}/12/{topic}.0.0.4.txt",
        f"{hours}/12/{topic}.1.0.4.txt",
        f"{hours}/13/{topic}.0.5.9.txt",
    ]
    assert len(set(camus.lines())) == len(camus.lines()) == 15
    assert camus.history("offsets.json") == [{topic: {"0": 10, "1": 5}}]
    before = {path: path.stat().st_mtime_ns for path in sorted(tmp_path.rglob("*"))}

    assert camus.run().outcomes == ()
    assert {path: path.stat().st_mtime_ns for path in sorted(tmp_path.rglob("*"))}.items() >= {
        (path, time) for path, time in before.items() if path.is_file()
    }
    assert len(camus.history("offsets.json")) == 1

    topics.produce(topic, events(15, 3, lambda n: NOON_MS), partition=1)
    (third,) = camus.run().outcomes
    assert (third.unit.start, third.messages) == (5, 3)
    assert len(set(camus.lines())) == len(camus.lines()) == 18
    assert camus.history("offsets.json")[-1] == {topic: {"0": 10, "1": 8}}
    assert not list((tmp_path / "exec").glob("2*"))


def test_a_unit_that_fails_stays_where_it_was(topics: Topics, tmp_path: Path) -> None:
    """The other one is published, and the error file says what is wrong with which message."""
    topic = topics.create(partitions=2)
    topics.produce(topic, [b'{"at":1}', b"not json", b'{"at":2}'])
    topics.produce(topic, events(0, 3, lambda n: NOON_MS), partition=1)
    camus = Camus(topics, tmp_path, topic)

    report = camus.run()

    (failed,) = report.failed
    assert failed.unit.partition == 0
    assert failed.fault is not None
    assert "1 of 3 messages" in failed.fault
    assert "offset 1: not a JSON object" in failed.fault
    assert "etl.ignore.schema.errors=true" in failed.fault
    assert camus.history("offsets.json") == [{topic: {"0": 0, "1": 3}}]
    assert len(camus.lines()) == 3

    again = camus.run(etl__ignore__schema__errors="true")
    assert [(each.messages, each.skipped) for each in again.outcomes] == [(2, 1)]
    assert len(camus.lines()) == 5
    errors = camus.history("errors.json")[-1]
    assert isinstance(errors, dict)
    assert [(each["partition"], each["offset"]) for each in errors["skipped"]] == [(0, 1)]


def test_messages_that_retention_took_are_not_passed_over_in_silence(
    topics: Topics, tmp_path: Path
) -> None:
    topic = topics.create()
    topics.produce(topic, events(0, 5, lambda n: NOON_MS))
    camus = Camus(topics, tmp_path, topic)
    camus.run()
    topics.produce(topic, events(5, 5, lambda n: NOON_MS))
    topics.forget_before(topic, 0, 8)
    (failed,) = camus.run().failed
    assert failed.fault is not None
    assert "retention deleted offsets 5 to 7" in failed.fault
    (gone_on,) = camus.run(kafka__move__to__earliest__offset="true").outcomes
    assert (gone_on.fault, gone_on.messages) == (None, 2)


def test_what_a_run_leaves_for_the_next(topics: Topics, tmp_path: Path) -> None:
    """kafka.max.pull.hrs ends a unit, kafka.max.historical.days leaves old messages out."""
    topic = topics.create()
    topics.produce(topic, events(0, 10, lambda n: NOON_MS + n * HOUR_MS))
    camus = Camus(topics, tmp_path, topic, kafka__max__pull__hrs="3")
    assert [run.outcomes[0].next_offset for run in (camus.run(), camus.run(), camus.run())] == [
        *(4, 8, 10)
    ]
    assert len(camus.lines()) == 10
    topics.produce(topic, [b'{"n":10,"at":1}', b'{"n":11}'])
    (last,) = camus.run(kafka__max__pull__hrs="-1", kafka__max__historical__days="30").outcomes
    assert (last.messages, last.skipped) == (1, 1)  # one has Kafka's own timestamp: now


DECODERS = """\
from headrace.pipelines.lake.camus.decoders import MessageDecoder, Wrapped
from headrace.pipelines.lake.formats.lines import LinesFormat

class Shouting(MessageDecoder):
    def decode(self, message):
        return Wrapped(message.value.decode().upper(), 0)

def semicolons(properties):
    return LinesFormat(".scsv", separator=b";")
"""


@pytest.mark.spec("book2:A7-04", "book2:A7-05")
def test_decoders_and_writers_of_ones_own(
    topics: Topics, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic = topics.create()
    topics.produce(topic, [b"one", b"two"])
    monkeypatch.chdir(tmp_path)
    (tmp_path / f"own_{topic.replace('-', '_')}.py").write_text(DECODERS)
    own = f"own_{topic.replace('-', '_')}.py"
    Camus(topics, tmp_path, topic).run(
        camus__message__decoder__class=f"{own}:Shouting",
        etl__record__writer__provider__class=f"{own}:semicolons",
        etl__output__file__time__partition__mins="30",
    )
    (path,) = (tmp_path / "topics" / topic).rglob("*.scsv")
    assert path.parent.relative_to(tmp_path / "topics" / topic) == Path("hourly/1970/01/01/00/00")
    assert path.read_bytes() == b"ONE;TWO;"


def test_the_ready_decoder_of_strings(topics: Topics, tmp_path: Path) -> None:
    """Bytes as they are, at Kafka's time; tombstones are passed over."""
    topic = topics.create()
    topics.produce(topic, [b"one", None, b"\xff"], timestamp=NOON_MS)
    camus = Camus(topics, tmp_path, topic)
    camus.run(
        camus__message__decoder__class="com.linkedin.Camus.etl.kafka.coders.StringMessageDecoder",
        etl__default__timezone="America/Los_Angeles",
    )
    (name,) = camus.files()
    assert name == f"{topic}/hourly/2025/11/18/04/{topic}.0.0.2.txt"
    assert camus.lines() == [b"one", b"\xff"]


def test_one_run_at_a_time(topics: Topics, tmp_path: Path) -> None:
    """A lock is held by a process that lives; that of a dead one is taken over."""
    topic = topics.create()
    topics.produce(topic, [b'{"at":1}'])
    camus = Camus(topics, tmp_path, topic)
    (tmp_path / "exec").mkdir()
    lock = tmp_path / "exec/.lock"
    host = socket.gethostname()
    lock.write_text('{"host":"elsewhere","pid":1,"started":"1"}')
    with pytest.raises(Locked, match="process 1 on elsewhere"):
        camus.run()
    lock.write_text(json.dumps({"host": host, "pid": 1, "started": "before it was"}))
    assert camus.run().failed == []
    assert not lock.exists()


@pytest.mark.spec("book2:A7-06")
def test_the_command_line(
    topics: Topics, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    topic = topics.create()
    topics.produce(topic, events(0, 4, lambda n: NOON_MS))
    camus = Camus(topics, tmp_path, topic, kafka__whitelist__topic="typo", etl__hourly="hourly")
    words = ["com.linkedin.Camus.etl.kafka.CamusJob", "-P", str(camus.file()), "--local"]
    assert lake_tools.camus(words) == 0
    told = capsys.readouterr()
    assert told.out.splitlines()[0] == f"{topic}-0: 4 messages, 0 skipped, next offset 4"
    assert "4 messages copied, 0 skipped, 0 of 1 partition failed" in told.out
    assert "did you mean kafka.whitelist.topics?" in told.err
    assert "etl.hourly has no effect here" in told.err
    assert lake_tools.camus(words) == 0
    assert capsys.readouterr().out == "nothing new to copy\n"
    topics.produce(topic, [b"{"])
    assert lake_tools.camus([*words, "-D", "mapred.map.max.attempts=1"]) == 1
    assert f"{topic}-0 has failed and stays at offset 4" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"kafka.brokers": ""}, "kafka.brokers is missing; it is the brokers, as host:port"),
        ({"etl.destination.path": ""}, "etl.destination.path is missing"),
        ({"mapred.map.tasks": "many"}, "mapred.map.tasks is 'many'; a whole number of 1 or more"),
        ({"etl.default.timezone": "Mars"}, "no time zone is called Mars"),
        ({"kafka.whitelist.topics": "(a"}, "kafka.whitelist.topics is '(a'"),
        ({"etl.max.percent.skipped.other": "200"}, "a percentage from 0 to 100"),
        ({"etl.ignore.schema.errors": "maybe"}, "true or false"),
    ],
)
def test_settings_that_cannot_be(
    topics: Topics, tmp_path: Path, changes: dict[str, str], told: str
) -> None:
    given = Camus(topics, tmp_path, "x").given | changes
    with pytest.raises(ConfigError) as refused:
        read_settings(given, "camus.properties")
    assert told in str(refused.value)
    assert "camus.properties" in str(refused.value)


def test_a_decoder_that_is_not_there_names_the_nearest(topics: Topics, tmp_path: Path) -> None:
    topic = topics.create()
    topics.produce(topic, [b"x"])
    (failed,) = (
        Camus(topics, tmp_path, topic)
        .run(camus__message__decoder__class="JsonMessageDecoder")
        .failed
    )
    assert failed.fault is not None
    assert "did you mean JsonStringMessageDecoder?" in failed.fault


def test_no_topic_matches(topics: Topics, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"no topic of the cluster matches kafka\.whitelist"):
        Camus(topics, tmp_path, "there-is-none.*").run()
