"""Records that move, and do not, as a worker is told over REST."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.pipelines.connect.api.running import beside
from tests.pipelines.connect.recorded.asking import answer, settled
from tests.pipelines.connect.worker.running import values, write

FULL = "org.apache.kafka.connect.file.FileStreamSourceConnector"


def tell(url: str, method: str, path: str, body: object = None) -> object:
    """Ask, and be answered well."""
    told = answer(url, method, path, body)
    assert str(told["code"]).startswith("2"), told
    return told["answer"]


@pytest.mark.spec("slides:H04", "admin:CN-05", "book2:C-08")
def test_a_source_goes_on_after_a_pause_and_begins_again_after_a_reset(
    bootstrap: str, tmp_path: Path
) -> None:
    lines = tmp_path / "in.txt"
    lines.write_text("one\n")
    config = {"connector.class": FULL, "file": str(lines), "topic": "told"}
    with beside(bootstrap, tmp_path) as (url, _):
        tell(url, "POST", "/connectors", {"name": "in", "config": config})
        assert values(bootstrap, "told", 1) == [b"one"]
        tell(url, "PUT", "/connectors/in/pause")
        settled(url, "in", "PAUSED,PAUSED")
        with lines.open("a") as file:
            file.write("two\n")
        tell(url, "PUT", "/connectors/in/resume")
        assert values(bootstrap, "told", 2) == [b"one", b"two"]
        tell(url, "PUT", "/connectors/in/stop")
        assert tell(url, "GET", "/connectors/in/offsets") == {
            "offsets": [{"partition": {"filename": str(lines)}, "offset": {"position": 8}}]
        }
        place = {"partition": {"filename": str(lines)}, "offset": {"position": 4}}
        tell(url, "PATCH", "/connectors/in/offsets", {"offsets": [place]})
        tell(url, "PUT", "/connectors/in/resume")
        assert values(bootstrap, "told", 3) == [b"one", b"two", b"two"]
        tell(url, "PUT", "/connectors/in/stop")
        tell(url, "DELETE", "/connectors/in/offsets")
        tell(url, "PUT", "/connectors/in/resume")
        assert values(bootstrap, "told", 5)[3:] == [b"one", b"two"]


def test_a_sink_goes_on_where_its_offsets_say(bootstrap: str, tmp_path: Path) -> None:
    write(bootstrap, "sunk", b"a", b"b", b"c")
    out = tmp_path / "out.txt"
    config = {"connector.class": "FileStreamSink", "file": str(out), "topics": "sunk"}
    body = {"name": "out", "config": config, "initial_state": "STOPPED"}
    place = {"kafka_topic": "sunk", "kafka_partition": 0}
    with beside(bootstrap, tmp_path) as (url, worker):
        tell(url, "POST", "/connectors", body)
        moved = {"offsets": [{"partition": place, "offset": {"kafka_offset": 2}}]}
        tell(url, "PATCH", "/connectors/out/offsets", moved)
        assert tell(url, "GET", "/connectors/out/offsets") == moved
        tell(url, "PUT", "/connectors/out/resume")
        with worker.changed:
            assert worker.changed.wait_for(lambda: worker.topics("out") == ["sunk"], 60)
        tell(url, "PUT", "/connectors/out/stop")
        assert out.read_bytes() == b"c\n"
        told = tell(url, "GET", "/connectors/out/offsets")
        assert told == {"offsets": [{"partition": place, "offset": {"kafka_offset": 3}}]}
