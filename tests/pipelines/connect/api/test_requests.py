"""Requests that nobody planned for, settings of the service, and a request for another worker."""

from __future__ import annotations

import json
import socket
import subprocess
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from headrace.pipelines.connect.state.records import Settings, TargetState
from headrace.pipelines.connect.worker.standalone import Standalone
from headrace.pipelines.connect.worker.worker import ConnectorInfo, NotTheLeader
from tests.pipelines.connect.api.running import beside, command
from tests.pipelines.connect.recorded.asking import answer
from tests.pipelines.connect.recorded.rest import properties, settings

PATIENCE_S = 120
STOPPED = {"initial_state": "STOPPED"}


def sink(name: str, **more: object) -> dict[str, object]:
    """A request for a connector that need not run."""
    config = {"connector.class": "FileStreamSink", "topics": "lines", "name": name}
    return {"name": name, "config": {**config, **more}, **STOPPED}


def test_a_body_that_is_too_large_is_not_read(bootstrap: str, tmp_path: Path) -> None:
    with beside(bootstrap, tmp_path, request_max_bytes="1000") as (url, _):
        told = answer(url, "POST", "/connectors", sink("big", file="x" * 2000))
        assert told["code"] == 413
        assert "request.max.bytes" in json.dumps(told["answer"])
        assert answer(url, "GET", "/connectors")["answer"] == []


def test_one_of_many_clients_creates_a_connector(bootstrap: str, tmp_path: Path) -> None:
    """The same name at once: one is told 201, the others 409."""
    with beside(bootstrap, tmp_path) as (url, _), ThreadPoolExecutor(8) as clients:
        told = clients.map(lambda _: answer(url, "POST", "/connectors", sink("one")), range(24))
        codes = [each["code"] for each in told]
        assert (codes.count(201), codes.count(409)) == (1, 23)
        many = clients.map(
            lambda number: answer(url, "POST", "/connectors", sink(f"c{number}")), range(24)
        )
        assert {each["code"] for each in many} == {201}
        found = answer(url, "GET", "/connectors?expand=status&expand=info")["answer"]
        assert isinstance(found, dict)
        assert len(found) == 25
        told = clients.map(
            lambda name: answer(url, "DELETE", f"/connectors/{name}"), list(found) * 2
        )
        codes = [each["code"] for each in told]
        assert (codes.count(204), codes.count(404)) == (25, 25)


def test_a_new_connector_has_a_status_at_once(bootstrap: str, tmp_path: Path) -> None:
    """Java's distributed worker answers 404 for a while."""
    (tmp_path / "in.txt").write_text("")
    config = {
        "connector.class": "FileStreamSource",
        "topic": "lines",
        "file": f"{tmp_path}/in.txt",
    }
    with beside(bootstrap, tmp_path) as (url, _):
        made = answer(url, "POST", "/connectors", {"name": "in", "config": config})
        assert made["code"] == 201
        told = answer(url, "GET", "/connectors/in/status")
        assert told["code"] == 200
        status = told["answer"]
        assert isinstance(status, dict)
        assert status["tasks"][0]["state"] in ("UNASSIGNED", "RUNNING")


def test_where_a_new_connector_is(bootstrap: str, tmp_path: Path) -> None:
    with beside(bootstrap, tmp_path) as (url, _):
        request = urllib.request.Request(
            f"{url}/connectors",
            json.dumps(sink("a b/c")).encode(),
            {"Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=PATIENCE_S) as reply:
            place = reply.headers["location"]
        assert place == "/connectors/a%20b%2Fc"
        assert answer(url, "DELETE", place)["code"] == 204


def test_topics_are_tracked_unless_the_worker_is_told_not_to(
    bootstrap: str, tmp_path: Path
) -> None:
    with beside(bootstrap, tmp_path, topic_tracking_enable="false") as (url, _):
        for method, path in (("GET", "/topics"), ("PUT", "/topics/reset")):
            told = answer(url, method, f"/connectors/x{path}")
            assert (told["code"], told["answer"]) == (
                403,
                {"error_code": 403, "message": "Topic tracking is disabled."},
            )
    with beside(bootstrap, tmp_path, topic_tracking_allow_reset="false") as (url, _):
        assert answer(url, "PUT", "/connectors/x/topics/reset")["answer"] == {
            "error_code": 403,
            "message": "Topic tracking reset is disabled.",
        }


def test_the_admin_part_may_be_nowhere(bootstrap: str, tmp_path: Path) -> None:
    with beside(bootstrap, tmp_path, admin_listeners="") as (url, _):
        assert answer(url, "GET", "/admin/loggers")["code"] == 404
        assert answer(url, "GET", "/connectors")["code"] == 200


def test_pages_of_allowed_sites_may_call(bootstrap: str, tmp_path: Path) -> None:
    origin = "https://console.example"
    with beside(bootstrap, tmp_path, access_control_allow_origin=origin) as (url, _):
        request = urllib.request.Request(f"{url}/connectors", headers={"Origin": origin})
        with urllib.request.urlopen(request, timeout=PATIENCE_S) as reply:
            assert reply.headers["access-control-allow-origin"] == origin


def test_what_every_service_has(bootstrap: str, tmp_path: Path) -> None:
    with beside(bootstrap, tmp_path) as (url, _):
        described = answer(url, "GET", "/openapi.json")["answer"]
        assert isinstance(described, dict)
        operations = sum(
            method in ("get", "put", "post", "patch", "delete")
            for path in described["paths"].values()
            for method in path
        )
        assert operations == 30, "28 for clients and two for workers"
        assert answer(url, "GET", "/healthz")["code"] == 200
        assert answer(url, "GET", "/connectors")["code"] == 200
        with urllib.request.urlopen(f"{url}/metrics", timeout=PATIENCE_S) as reply:
            assert b"kafka_connect_rest_requests_total" in reply.read()


def test_loggers_below_one_follow_it(bootstrap: str, tmp_path: Path) -> None:
    one = "/admin/loggers/headrace.pipelines.connect.host"
    with beside(bootstrap, tmp_path) as (url, _):
        changed = answer(url, "PUT", one, {"level": "debug"})["answer"]
        assert isinstance(changed, list)
        assert "headrace.pipelines.connect.host.host" in changed
        told = answer(url, "GET", f"{one}.host")["answer"]
        assert isinstance(told, dict)
        assert told["level"] == "DEBUG"
        assert isinstance(told["last_modified"], int)
        assert answer(url, "PUT", f"{one}?scope=cluster", {"level": "WARN"})["code"] == 204
        told = answer(url, "GET", f"{one}.host")["answer"]
        assert isinstance(told, dict)
        assert told["level"] == "WARN"


class Follower(Standalone):
    """Leaves it to another worker to create connectors, as all but the leader of a cluster do."""

    leader: str | None = None

    def create(self, name: str, config: Settings, initial: TargetState | None) -> ConnectorInfo:
        raise NotTheLeader("Only the leader can create connectors", self.leader)


def test_a_request_is_carried_to_the_worker_that_must_answer(
    bootstrap: str, tmp_path: Path
) -> None:
    for name in ("leader", "follower"):
        (tmp_path / name).mkdir()
    with (
        beside(bootstrap, tmp_path / "leader") as (leader, _),
        beside(bootstrap, tmp_path / "follower", Follower) as (url, worker),
    ):
        assert isinstance(worker, Follower)
        told = answer(url, "POST", "/connectors", sink("k"))
        assert told["code"] == 409
        assert "no known leader URL" in json.dumps(told["answer"])
        worker.leader = leader
        made = answer(url, "POST", "/connectors?forward=true", sink("k"))
        assert made["code"] == 201
        assert made["answer"] == answer(leader, "GET", "/connectors/k")["answer"]
        again = answer(url, "POST", "/connectors", sink("k"))
        assert again["answer"] == {"error_code": 409, "message": "Connector k already exists"}
        carried = answer(url, "POST", "/connectors?forward=false", sink("l"))
        assert carried["code"] == 409
        assert "conflicting operation" in json.dumps(carried["answer"])
        worker.leader = url
        assert answer(url, "POST", "/connectors", sink("l"))["code"] == 409, "once, not for ever"
        worker.leader = "http://127.0.0.1:1"
        lost = answer(url, "POST", "/connectors", sink("l"))
        assert lost["code"] == 500
        assert "did not answer" in json.dumps(lost["answer"])


@pytest.mark.parametrize("scheme", ["http", "ftp"])
def test_a_worker_that_cannot_listen_says_why(bootstrap: str, tmp_path: Path, scheme: str) -> None:
    """One line, with what to change."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        where = f"{scheme}://127.0.0.1:{taken.getsockname()[1]}"
        file = tmp_path / "worker.properties"
        given = {**settings(bootstrap, tmp_path, "standalone"), "listeners": where}
        file.write_text(properties(given))
        done = subprocess.run(
            command("connect-standalone", file),
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )
    assert done.returncode == 1
    assert where in done.stderr
    assert "listeners" in done.stderr
    assert len(done.stderr.splitlines()) == 1
