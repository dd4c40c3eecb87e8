"""Gobblin: stages that can be exchanged, files that are published together, once."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from headrace.cli.kafka_compat import lake_tools
from headrace.errors import ConfigError
from headrace.pipelines.lake.faults import LakeFault
from headrace.pipelines.lake.gobblin.publishing import move_all
from headrace.pipelines.lake.gobblin.settings import KNOWN, read_settings
from headrace.pipelines.lake.gobblin.state import Move
from headrace.pipelines.lake.jobs.locations import Location
from headrace.pipelines.lake.jobs.locking import Locked
from headrace.pipelines.lake.jobs.running import on_spark
from tests.pipelines.lake.gobblin.jobs import KAFKA_TO_HDFS, Gobblin
from tests.pipelines.source.topics import Topics

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.spec("book2:A8-07", "book2:A8-10", "book2:A8-11", "book2:A8-12", "book2:A8-13")
@pytest.mark.spec("book2:P-02")
def test_the_job_file_of_a_book(
    topics: Topics, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every key of it has a meaning; a second run publishes nothing, a third what is new."""
    topic = topics.create(partitions=2)
    topics.produce(topic, [b"one", b"two"])
    topics.produce(topic, [b"three"], partition=1)
    job = Gobblin(topics, tmp_path, topic)
    words = ["--conf", str(job.path), "--local"]

    assert lake_tools.gobblin(words) == 0
    told = capsys.readouterr()
    assert told.err == ""
    assert f"{topic}-0: 2 records read, 2 written" in told.out
    assert "2 files published, 0 of 2 work units failed" in told.out
    assert job.lines(topic) == job.lines() == [b"one", b"two", b"three"]
    assert {path.suffix for path in (job.final / topic).iterdir()} == {".txt"}
    assert job.state() == {f"{topic}-0": {"offset": 2}, f"{topic}-1": {"offset": 1}}
    (metrics,) = (tmp_path / "Gobblin-kafka/metrics/kafkatohdfs").glob("*.txt")
    assert json.loads(metrics.read_bytes())["records"]["written"] == 3
    work = tmp_path / "jobs/kafkaetl/Gobblin/Gobblin-kafka/task-data"
    assert [path for path in work.rglob("*") if path.is_file()] == []

    assert lake_tools.gobblin(words) == 0
    assert capsys.readouterr().out == "nothing new to extract\n"
    topics.produce(topic, [b"four"])
    assert lake_tools.gobblin(words) == 0
    assert sorted(job.lines()) == [b"four", b"one", b"three", b"two"]


def test_every_key_of_it_is_known() -> None:
    assert {line.partition("=")[0] for line in KAFKA_TO_HDFS.splitlines()} <= KNOWN
    assert len(KAFKA_TO_HDFS.splitlines()) == 24


@pytest.mark.spec("book2:A8-02", "book2:A8-03", "book2:A8-08", "book2:A8-09")
def test_work_units_are_tasks_of_spark(topics: Topics, tmp_path: Path, spark: SparkSession) -> None:
    topic = topics.create(partitions=3)
    for partition in range(3):
        topics.produce(topic, [b"%d" % partition] * 10, partition=partition)
    job = Gobblin(topics, tmp_path, topic)
    report = job.run(on_spark(spark), mr__job__max__mappers="3")
    assert [each.unit.name for each in report.outcomes] == [f"{topic}-{n}" for n in range(3)]
    assert report.failed == []
    assert sorted(job.lines()) == sorted(b"%d" % n for n in range(3) for _ in range(10))
    assert job.run(on_spark(spark)).outcomes == ()


STAGES = """\
from pathlib import Path

class Words:
    def __init__(self, settings): pass
    def convert(self, record): return record.decode().split()

class Short:
    def __init__(self, settings): self.most = int(settings["my.most"])
    def passes(self, record): return len(record) <= self.most

class Some:
    def __init__(self, settings): pass
    def passes(self, counts): return counts.written > 0

class ByCase:
    def __init__(self, settings): pass
    def fork(self, record): return [record.islower(), True]

class Once:
    def __init__(self, settings): self.tries = Path(settings["my.tries"])
    def convert(self, record):
        with self.tries.open("a") as out:
            out.write(".")
        if len(self.tries.read_text()) == 2:
            raise OSError("a cable was pulled")
        return [record]
"""


@pytest.fixture
def own(tmp_path: Path) -> str:
    path = tmp_path / f"stages_{tmp_path.name.replace('-', '_')}.py"
    path.write_text(STAGES)
    return str(path)


@pytest.mark.spec("book2:A8-04", "book2:A8-05", "book2:A8-06")
def test_stages_of_ones_own(topics: Topics, tmp_path: Path, own: str) -> None:
    """Converters, policies of rows and units, a fork; what does not pass is in the error file."""
    topic = topics.create()
    topics.produce(topic, [b"a bb CC", b"dddddd e"])
    job = Gobblin(topics, tmp_path, topic)
    report = job.run(
        converter__classes=f"{own}:Words",
        qualitychecker__row__policies=f"{own}:Short,NotEmptyPolicy",
        qualitychecker__row__policy__types="ERR_FILE,OPTIONAL",
        qualitychecker__row__err__file=str(tmp_path / "bad"),
        qualitychecker__task__policies=f"{own}:Some,RowCountPolicy",
        qualitychecker__task__policy__types="FAIL,OPTIONAL",
        my__most="3",
        fork__branches="2",
        fork__operator__class=f"{own}:ByCase",
    )
    (outcome,) = report.outcomes
    assert outcome.fault is None
    assert (outcome.counts.read, outcome.counts.converted, outcome.counts.failed_rows) == (2, 5, 1)
    assert job.lines(f"fork_0/{topic}") == [b"a", b"bb", b"e"]
    assert job.lines(f"fork_1/{topic}") == [b"a", b"bb", b"CC", b"e"]
    (bad,) = (tmp_path / "bad" / topic).iterdir()
    assert bad.read_bytes() == b"dddddd\n"


def test_a_unit_that_fails_is_retried(topics: Topics, tmp_path: Path, own: str) -> None:
    """What the failed attempt wrote is not published."""
    topic = topics.create()
    topics.produce(topic, [b"one", b"two", b"three"])
    job = Gobblin(topics, tmp_path, topic)
    tries = tmp_path / "tries"
    over = {"converter__classes": f"{own}:Once", "my__tries": str(tries)}
    assert job.run(**over, task__maxretries="1").failed == []
    assert tries.read_text() == "....."
    assert job.lines() == [b"one", b"two", b"three"]


def test_nothing_is_published_unless_all_units_are_done(
    topics: Topics, tmp_path: Path, own: str
) -> None:
    topic = topics.create(partitions=2)
    topics.produce(topic, [b"a"])
    topics.produce(topic, [b"much too long"], partition=1)
    job = Gobblin(topics, tmp_path, topic)
    over = {
        "qualitychecker__row__policies": f"{own}:Short",
        "qualitychecker__row__policy__types": "FAIL",
        "my__most": "3",
    }
    report = job.run(**over)
    (failed,) = report.failed
    assert failed.unit.name == f"{topic}-1"
    assert failed.fault is not None
    assert "the record at 0 does not meet the policy" in failed.fault
    assert (report.published, job.lines()) == (0, [])
    assert job.run(**over, job__commit__policy="successful").published == 1
    assert job.lines() == [b"a"]
    assert job.run(my__most="100").published == 1
    assert job.lines() == [b"a", b"much too long"]


def test_files_of_any_extension_are_published(topics: Topics, tmp_path: Path) -> None:
    topic = topics.create()
    topics.produce(topic, [b"1"])
    job = Gobblin(topics, tmp_path, topic)
    assert job.run(writer__output__format="v2_json.2026").published == 1
    assert job.lines(topic) == [b"1"]
    assert job.state() == {f"{topic}-0": {"offset": 1}}


def test_a_publication_between_file_systems_is_finished(tmp_path: Path) -> None:
    """What was copied before a crash is not missed where it was."""
    moves = [
        Move(
            Location("/", str(tmp_path / "work" / name).strip("/")),
            Location(str(tmp_path), f"final/{name}"),
        )
        for name in ("a", "b")
    ]
    (tmp_path / "work").mkdir()
    for name in ("a", "b"):
        (tmp_path / "work" / name).write_text(name)
    move_all(moves[:1])
    move_all(moves)
    assert [(tmp_path / "final" / name).read_text() for name in ("a", "b")] == ["a", "b"]
    assert list((tmp_path / "work").iterdir()) == []
    (tmp_path / "final/b").unlink()
    with pytest.raises(LakeFault, match="has vanished before it was published"):
        move_all(moves)


def test_a_publication_that_is_interrupted_is_finished_by_the_next_run(
    topics: Topics, tmp_path: Path
) -> None:
    """A file stands where the folder of the second topic must be: the first one has moved."""
    first, second = sorted((topics.create(), topics.create()))
    topics.produce(first, [b"1"])
    topics.produce(second, [b"2"])
    job = Gobblin(topics, tmp_path, f"{first},{second}")
    job.final.mkdir(parents=True)
    (job.final / second).write_bytes(b"")
    with pytest.raises(LakeFault, match=r"cannot use .*job-output"):
        job.run()
    assert job.lines(first) == [b"1"]
    (job.final / second).unlink()
    topics.produce(first, [b"3"])
    assert job.run().published == 1
    assert (job.lines(first), job.lines(second)) == ([b"1", b"3"], [b"2"])
    assert job.state()[f"{second}-0"] == {"offset": 1}


@pytest.mark.spec("book2:A8-01", "book2:G-04")
def test_another_source_than_kafka(topics: Topics, tmp_path: Path) -> None:
    """Lines of files, by the same stages; a line that has not ended waits."""
    logs = tmp_path / "logs"
    logs.mkdir()
    (logs / "a.log").write_bytes(b"one\ntwo\nthr")
    (logs / "b.log").write_bytes(b"four\n")
    job = Gobblin(topics, tmp_path, "none")
    over = {
        "source__class": "org.apache.gobblin.source.extractor.filebased.TextFileBasedSource",
        "source__filebased__data__directory": str(logs),
    }
    assert job.run(**over).published == 2
    assert sorted(job.lines("logs")) == [b"four", b"one", b"two"]
    with (logs / "a.log").open("ab") as out:
        out.write(b"ee\n")
    assert job.run(**over).published == 1
    assert sorted(job.lines("logs")) == [b"four", b"one", b"three", b"two"]


def test_where_a_job_begins(topics: Topics, tmp_path: Path) -> None:
    """Without state at bootstrap.with.offset, which is kept although there is nothing to read."""
    topic = topics.create()
    topics.produce(topic, [b"old"] * 4)
    job = Gobblin(topics, tmp_path, topic)
    assert job.run(bootstrap__with__offset="latest").outcomes == ()
    topics.produce(topic, [b"new"])
    job.run()
    assert job.lines() == [b"new"]
    topics.produce(topic, [b"lost", b"kept"])
    topics.forget_before(topic, 0, 6)
    job.run()
    assert job.lines() == [b"new", b"kept"]


def test_one_run_at_a_time(topics: Topics, tmp_path: Path) -> None:
    job = Gobblin(topics, tmp_path, topics.create())
    locks = tmp_path / "locks"
    locks.mkdir()
    (locks / "kafkatohdfs.lock").write_text('{"host":"elsewhere","pid":1,"started":"1"}')
    with pytest.raises(Locked, match="kafkatohdfs is already running, as process 1 on elsewhere"):
        job.run(job__lock__enabled="true", job__lock__dir=str(locks))
    assert job.run(job__lock__dir=str(locks)).outcomes == ()


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"job.name": ""}, "job.name is missing"),
        ({"data.publisher.final.dir": ""}, "data.publisher.final.dir is missing"),
        ({"state.store.dir": ""}, "state.store.dir is missing"),
        ({"writer.destination.type": "TAPE"}, "'TAPE'; HDFS or LOCAL or S3 is expected"),
        ({"qualitychecker.row.policies": "A,B"}, "FAIL, ERR_FILE, OPTIONAL for each of 2 policies"),
        ({"metrics.log.dir": "${no.such.key}"}, "${no.such.key} is not a key of this file"),
    ],
)
def test_settings_that_cannot_be(
    topics: Topics, tmp_path: Path, changes: dict[str, str], told: str
) -> None:
    with pytest.raises(ConfigError) as refused:
        read_settings(Gobblin(topics, tmp_path, "x").given | changes, "kafka_to_hdfs.conf")
    assert told in str(refused.value)


def test_settings_refer_to_each_other(
    topics: Topics, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GOBBLIN_WORK_DIR", "/work")
    given = Gobblin(topics, tmp_path, "x").given | {
        "mr.job.root.dir": "${env:GOBBLIN_WORK_DIR}/here",
        "task.data.root.dir": "${mr.job.root.dir}/data",
        "topic.whitelists": "y",
    }
    settings = read_settings(given, "kafka_to_hdfs.conf")
    assert settings.work.path == "work/here/data/kafkatohdfs"
    assert settings.remarks == (
        "topic.whitelists is unknown and has no effect: did you mean topic.whitelist?",
    )


def test_flags_that_are_missing(capsys: pytest.CaptureFixture[str]) -> None:
    assert lake_tools.gobblin(["--help"]) == 0
    assert "--conf FILE" in capsys.readouterr().out
