"""The parts of an agent, each for itself."""

from __future__ import annotations

import datetime
import threading
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from headrace.cli.failures import Failure
from headrace.cli.kafka_compat import lake_tools
from headrace.errors import ConfigError, HeadraceError
from headrace.java.properties import parse_properties
from headrace.pipelines.lake.faults import LakeFault
from headrace.pipelines.lake.flume.agent_file import read_agent
from headrace.pipelines.lake.flume.channel import ChannelFull, MemoryChannel
from headrace.pipelines.lake.flume.components import Surroundings
from headrace.pipelines.lake.flume.escapes import Escaped, Unresolved
from headrace.pipelines.lake.flume.event import Event, Receipt
from headrace.pipelines.lake.flume.hdfs_sink import HdfsSink
from headrace.pipelines.lake.flume.interceptors import interceptor
from headrace.pipelines.lake.jobs.properties import Properties
from headrace.testing import VirtualClock
from tests.pipelines.lake.flume.agents import FLUMEKAFKA, Running, finished, lines, running


def channel(**settings: str) -> MemoryChannel:
    given = {name.replace("_", "-"): value for name, value in settings.items()}
    return MemoryChannel("c1", Properties({"keep-alive": "0", **given}, "flume.conf", "a1."))


def events(*bodies: bytes) -> list[Event]:
    return [Event(body) for body in bodies]


@pytest.mark.spec("book2:A9-02", "book2:A9-05")
def test_a_transaction_that_is_rolled_back_leaves_events_where_they_were() -> None:
    memory = channel(capacity="4", transactionCapacity="3")
    memory.put(events(b"1", b"2", b"3"))
    taking = memory.take(2, 0)
    assert [event.body for event in taking.events] == [b"1", b"2"]
    assert len(memory) == 3, "what is taken still counts"
    taking.rollback()
    again = memory.take(10, 0)
    assert [event.body for event in again.events] == [b"1", b"2", b"3"]
    again.commit()
    assert len(memory) == 0


@pytest.mark.spec("book2:A9-05")
def test_a_put_is_whole_or_nothing() -> None:
    memory = channel(capacity="4", transactionCapacity="3")
    memory.put(events(b"1", b"2", b"3"))
    with pytest.raises(ChannelFull, match="its sinks are slower than its sources"):
        memory.put(events(b"4", b"5"))
    assert len(memory) == 3
    with pytest.raises(HeadraceError, match="larger than transactionCapacity=3"):
        memory.put(events(b"1", b"2", b"3", b"4"))
    with pytest.raises(ConfigError, match="a number up to the capacity, 2"):
        channel(capacity="2", transactionCapacity="3")


def test_a_receipt_is_settled_by_every_channel() -> None:
    receipt = Receipt(2)
    receipt.expect(2)
    receipt.settle(3)
    assert not receipt.is_settled
    receipt.settle()
    assert receipt.is_settled
    receipt.lose()
    assert not receipt.is_settled


def test_escapes() -> None:
    """Of headers, and of the time that an event carries, in the sink's time zone."""
    headers = {"timestamp": "1763467384005", "host": "n1"}  # 2025-11-18T12:03:04.005Z
    utc = datetime.UTC

    def resolved(text: str, zone: datetime.tzinfo = utc, round_s: int = 0) -> str:
        return Escaped(text, "hdfs.path", zone, round_s).resolved(headers)

    assert resolved("/logs/%{host}/%{none}/%Y/%m/%d/%H%M/%S") == "/logs/n1//2025/11/18/1203/04"
    assert resolved("%y%j %a %A %b %B %I%p %k %l %e %n") == (
        "25322 Tue Tuesday Nov November 12PM 12 12 18 11"
    )
    assert resolved("%s %t %z %D %%") == "1763467384 1763467384005 +0000 11/18/25 %"
    assert resolved("%H", ZoneInfo("America/Los_Angeles")) == "04"
    assert resolved("%H%M%S", round_s=600) == "120000"
    with pytest.raises(ConfigError, match="%Q is not an escape"):
        resolved("%Q")
    with pytest.raises(Unresolved, match="add the interceptor timestamp"):
        Escaped("%Y", "hdfs.path", utc).resolved({})
    assert Escaped("%Y", "hdfs.path", utc).resolved({}, 0) == "1970"


OWN = """\
class Marked:
    def __init__(self, settings): self.mark = settings["mark"].encode()
    def __call__(self, event): return event.but(body=event.body + self.mark)

def drop(event): return None
"""


@pytest.mark.spec("book2:A9-04")
def test_interceptors(tmp_path: Path) -> None:
    own = tmp_path / f"own_{tmp_path.name.replace('-', '_')}.py"
    own.write_text(OWN)
    clock = VirtualClock()

    def intercepted(event: Event, **settings: str) -> Event | None:
        return interceptor(Properties(settings, "flume.conf"), clock)(event)

    event = Event(b"body", {"timestamp": "1", "key": "old"})
    assert intercepted(event, type="timestamp") == Event(
        b"body", {"timestamp": str(clock.now_ms()), "key": "old"}
    )
    kept = {"type": "org.apache.flume.interceptor.TimestampInterceptor$Builder"}
    assert intercepted(event, **kept, preserveExisting="true") == event
    assert intercepted(event, type="static", value="new") == event
    named = intercepted(event, type="host", hostHeader="at", useIP="false")
    assert named is not None
    assert named.headers["at"]
    assert intercepted(event, type="regex_filter", regex="od") == event
    assert intercepted(event, type="regex_filter", regex="od", excludeEvents="true") is None
    assert intercepted(event, type=f"{own}:Marked", mark="!") == event.but(body=b"body!")
    assert intercepted(event, type=f"{own}:drop") is None
    with pytest.raises(ConfigError, match="did you mean timestamp"):
        intercepted(event, type="timestamps")


@pytest.mark.spec("book2:A9-07", "book2:A9-08")
@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("sinks.hdfssink.channel = channel9", "pipeline.sinks.hdfssink.channel is 'channel9'; one"),
        ("sinks.hdfssink.channel =", "(a source has `channels`)"),
        ("sources.kafka1.channels =", "(a sink has `channel`)"),
        ("sources.kafka1.type =", "pipeline.sources.kafka1.type is missing"),
        ("sources.kafka1.topic =", "pipeline.sources.kafka1.kafka.topics is missing"),
        ("sources.kafka1.selector.type = multiplexing", "replicating is expected"),
        ("sinks.hdfssink.hdfs.fileType = SequenceFile", "set it to DataStream"),
        ("sinks.hdfssink.hdfs.path =", "pipeline.sinks.hdfssink.hdfs.path is missing"),
        ("sinks.hdfssink.hdfs.rollCount = x", "'x'; a whole number of 0 or more"),
        ("sinks.hdfssink.type = hfds", "did you mean hdfs?"),
        ("channels.channel1.type = file", "known are memory, MemoryChannel"),
    ],
)
def test_agent_files_that_cannot_be(line: str, told: str, tmp_path: Path) -> None:
    text = FLUMEKAFKA.format(topic="t", folder=tmp_path) + f"pipeline.{line}\n"
    with pytest.raises(ConfigError) as refused:
        Running(text, "127.0.0.1:9")
    assert told in str(refused.value)


def test_an_agent_has_the_name_of_its_keys(tmp_path: Path) -> None:
    given = parse_properties(FLUMEKAFKA.format(topic="t", folder=tmp_path))
    with pytest.raises(ConfigError, match="did you mean -n pipeline"):
        read_agent(given, "pipelin", "flume.conf")
    remarks = read_agent(given | {"pipeline.sink.x.type": "hdfs"}, "pipeline", "f").remarks
    assert remarks == ("pipeline.sink.x.type is unknown and has no effect",)


def test_flume_ng_says_what_is_missing(capsys: pytest.CaptureFixture[str]) -> None:
    assert lake_tools.flume(["help"]) == 0
    assert lake_tools.flume(["version"]) == 0
    assert "Flume 1.11" in capsys.readouterr().out
    with pytest.raises(Failure, match="--conf-file is missing"):
        lake_tools.flume(["agent", "-n", "a"])
    with pytest.raises(Failure, match="has no command avro-client"):
        lake_tools.flume(["avro-client"])


def hdfs_sink(folder: str, **settings: str) -> HdfsSink:
    given = {f"hdfs.{name}": value for name, value in settings.items()}
    usual = {"type": "hdfs", "hdfs.fileType": "DataStream", "hdfs.path": folder}
    around = Surroundings(VirtualClock(), threading.Event(), lambda line: None)
    return HdfsSink("k1", Properties(usual | given, "flume.conf"), around)


def test_headers_lead_to_no_folder_outside(tmp_path: Path) -> None:
    """Whoever writes to the topic writes its headers."""
    deep = tmp_path / "a/b/c/d/e"  # what led out would still be in the test's own folder
    sink = hdfs_sink(f"{deep}/lake/%{{who}}/%{{dot}}%{{dot}}", filePrefix="%{key}")
    up = {"who": "../../outside", "dot": ".", "key": "../../../x"}
    sink.write([Event(b"body", up), Event(b"other", {"who": "a/b", "dot": "d", "key": "k\0"})])
    sink.close()
    found = {str(path.relative_to(tmp_path)).rpartition(".")[0] for path in finished(tmp_path)}
    assert {path.removeprefix("a/b/c/d/e/") for path in found} == {
        "lake/%2E%2E/%2E%2E/outside/%2E%2E/%2E%2E/%2E%2E/%2E%2E/x",
        "lake/a/b/dd/k%00",
    }


def test_a_transaction_that_comes_again_settles_no_event_twice(tmp_path: Path) -> None:
    """One event of a transaction is written, the other cannot be: both come again. The batch is
    not safe before both are."""
    sink = hdfs_sink(f"{tmp_path}/%{{to}}", rollCount="1")
    (tmp_path / "bad").write_bytes(b"in the way")
    receipt = Receipt(3)
    good, bad = (Event(b"", {"to": to}, receipt) for to in ("good", "bad"))
    for _ in range(3):
        with pytest.raises(LakeFault, match="a file stands where a folder must be"):
            sink.write([good, bad])
    assert not receipt.is_settled
    (tmp_path / "bad").unlink()
    sink.write([good, bad])
    assert not receipt.is_settled, "the third event has not come yet"
    sink.write([good])
    assert receipt.is_settled
    sink.close()


OWN_PARTS = """\
class Once:
    def __init__(self, name, settings, around): self.stopping = around.stopping
    def run(self, deliver):
        from headrace.pipelines.lake.flume.event import Event, Receipt
        deliver([Event(b"body", receipt=Receipt(1))])
        self.stopping.wait(60)
    def close(self): ...

class Late:
    batch_size = 10
    def __init__(self, name, settings, around): self.tell, self.fails = around.tell, False
    def write(self, events):
        self.tell(f"written {len(events)}")
        self.fails = True
    def tick(self):
        if self.fails:
            self.fails = False
            raise OSError("what is due cannot be published")
        self.tell("tick")
    def close(self): ...
"""


def test_what_is_due_is_no_part_of_a_transaction(tmp_path: Path) -> None:
    """Events that were taken are not given again because an older file cannot be published."""
    own = tmp_path / f"own_{tmp_path.name.replace('-', '_')}.py"
    own.write_text(OWN_PARTS)
    text = f"""\
        pipeline.sources = r
        pipeline.channels = c
        pipeline.sinks = k
        pipeline.sources.r.type = {own}:Once
        pipeline.sources.r.channels = c
        pipeline.channels.c.type = memory
        pipeline.sinks.k.type = {own}:Late
        pipeline.sinks.k.channel = c
    """
    with running(text, "127.0.0.1:9") as agent:
        agent.until(lambda: any("cannot be published" in line for line in agent.told))
        agent.until(lambda: agent.told.count("tick") >= 2)
    assert agent.told.count("written 1") == 1


def test_a_file_of_another_sink_is_not_replaced(tmp_path: Path) -> None:
    """Two agents with one folder and one prefix begin to count at the same moment."""
    for body in (b"one", b"two"):
        sink = hdfs_sink(str(tmp_path / "shared") + "/", rollCount="1")
        sink.write([Event(body)])
        sink.close()
    assert sorted(lines(tmp_path)) == [b"one", b"two"]
