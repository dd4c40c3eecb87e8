"""`headrace doctor`: each fault made real, then found."""

from __future__ import annotations

import json
import os
import resource
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headrace.cli.doctor.findings import Finding, Level
from headrace.cli.doctor.machine import examine_clock, examine_handles
from headrace.cli.doctor.pipelines import examine_java, examine_spark, spark_packages
from headrace.cli.doctor.ports import examine_port, owner_of
from headrace.cli.doctor.storage import examine_folder, examine_space, is_locked
from headrace.cli.target import Address
from headrace.testing import Broker
from tests.cli.conftest import Headrace
from tests.cli.platform_process import headrace_up
from tests.client.listeners import http_server, listening, unused_port, zookeeper


def texts(findings: list[Finding], level: Level) -> list[str]:
    return [finding.text for finding in findings if finding.level is level]


def state_of(folder: Path, **options: Any) -> list[Finding]:
    """What is said of a folder itself, and not of the disk of whoever runs the tests."""
    found = examine_folder(folder, **options)
    return [finding for finding in found if not finding.text.endswith("are free")]


def test_a_healthy_cluster_has_no_faults(headrace: Headrace, headrace_broker: Broker) -> None:
    """Bootstrap and advertised address are looked at; exit code 0."""
    outcome = headrace("doctor", "-b", headrace_broker.bootstrap_servers)
    assert outcome.code == 0
    first, second, summary = outcome.out.splitlines()
    assert first == f"OK    {headrace_broker.bootstrap_servers}: a Kafka broker answers"
    assert second.endswith("the advertised address can be reached")
    assert summary == "2 checks, 0 warnings, 0 failures"


def test_every_address_is_looked_at(headrace: Headrace, headrace_broker: Broker) -> None:
    """One fault does not end the examination; each has its remedy."""
    closed = unused_port()
    with listening(zookeeper) as zk:
        servers = [f"127.0.0.1:{closed}", f"127.0.0.1:{zk}", headrace_broker.bootstrap_servers]
        outcome = headrace("doctor", "-b", ",".join(servers), "-o", "json")
    assert outcome.code == 1
    found = json.loads(outcome.out)
    assert [row["level"] for row in found] == ["FAIL", "FAIL", "OK", "OK"]
    assert "refused the connection" in found[0]["text"]
    assert "is ZooKeeper" in found[1]["text"]
    assert all(row["remedy"] for row in found[:2])


def test_another_cluster_behind_the_advertised_address_is_found(
    headrace: Headrace, headrace_broker: Broker, tmp_path: Path
) -> None:
    """Two brokers on one machine, one advertising the other's port."""
    stolen = {"advertised.listeners": f"PLAINTEXT://{headrace_broker.bootstrap_servers}"}
    with Broker(stolen, data=tmp_path) as broker:
        outcome = headrace("doctor", "-b", broker.bootstrap_servers)
    assert outcome.code == 1
    assert "the broker there belongs to cluster" in outcome.out


def test_a_free_port_is_free() -> None:
    """Nothing is left behind by the look."""
    address = Address("127.0.0.1", unused_port())
    assert examine_port(address).level is Level.OK
    assert examine_port(address).level is Level.OK


def test_a_taken_port_names_its_owner() -> None:
    """Process id and name, where the system lets us see them."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        owner = owner_of(port)
        finding = examine_port(Address("127.0.0.1", port))
    assert owner is not None
    assert owner[0] == os.getpid()
    assert finding.level is Level.FAIL
    assert f"is in use by pid {os.getpid()} (" in finding.text


def test_a_running_broker_on_the_port_is_recognized(headrace_broker: Broker) -> None:
    """It may be the very one that was to be started, so it is a warning."""
    finding = examine_port(Address("127.0.0.1", headrace_broker.port))
    assert finding.level is Level.WARN
    assert f"pid {headrace_broker.pid}" in finding.text
    assert finding.text.endswith("a Kafka broker")


def test_an_address_of_another_machine_cannot_be_listened_on() -> None:
    """192.0.2.1 is reserved for documents, so nobody has it."""
    finding = examine_port(Address("192.0.2.1", unused_port()))
    assert finding.level is Level.FAIL
    assert finding.remedy == "give an address of this machine in listeners"


def test_an_http_server_on_the_port_is_a_fault() -> None:
    """Port 8080 and the like."""
    with http_server() as port:
        assert examine_port(Address("127.0.0.1", port)).level is Level.FAIL


def test_a_new_folder_is_fine(tmp_path: Path) -> None:
    """A broker will create it."""
    (finding,) = examine_folder(tmp_path / "a" / "b")
    assert finding.level is Level.OK


def test_a_folder_that_cannot_be_written_is_a_fault() -> None:
    """/proc takes no files from anyone."""
    (fault,) = texts(list(examine_folder(Path("/proc")))[:1], Level.FAIL)
    assert "no file can be written in it" in fault


def test_a_file_in_place_of_the_folder_is_a_fault(tmp_path: Path) -> None:
    """--data names folders."""
    file = tmp_path / "data"
    file.write_text("")
    (finding,) = examine_folder(file)
    assert finding.level is Level.FAIL


@pytest.mark.parametrize(
    ("total_gib", "free_gib", "level"),
    [(100, 50, Level.OK), (100, 9, Level.WARN), (5, 0.9, Level.WARN), (100, 0.05, Level.FAIL)],
)
def test_free_space_is_judged(total_gib: float, free_gib: float, level: Level) -> None:
    """Below a tenth or a gibibyte is a warning, below 100 MiB a fault."""
    finding = examine_space("disk", int(total_gib * 2**30), int(free_gib * 2**30))
    assert finding.level is level


@pytest.mark.parametrize(
    ("limit", "level"),
    [
        (resource.RLIM_INFINITY, Level.OK),
        (100_000, Level.OK),
        (4096, Level.WARN),
        (256, Level.FAIL),
    ],
)
def test_the_limit_of_file_handles_is_judged(limit: int, level: Level) -> None:
    """A broker holds a handle per connection and per open segment."""
    assert examine_handles(limit).level is level


def test_a_clock_that_was_never_set_is_a_fault() -> None:
    """Retention believes the clock."""
    assert examine_clock(0).level is Level.FAIL
    assert examine_clock(1_800_000_000).level is Level.OK


def test_a_data_folder_tells_its_state(tmp_path: Path, headrace: Headrace) -> None:
    """Running, stopped in order, killed: each is told apart."""
    with Broker(data=tmp_path) as broker:
        servers = broker.bootstrap_servers
        assert headrace("topic", "create", "a", "-p", "2", "-b", servers).code == 0
        running = state_of(tmp_path)
        assert texts(running, Level.WARN) == ["a running broker holds it"]
        broker.stop()
        stopped = state_of(tmp_path)
        assert [finding.level for finding in stopped] == [Level.OK] * len(stopped)
        assert stopped[-1].text == "holds 2 partitions"
        broker.start()
        broker.kill()
        (warning,) = texts(state_of(tmp_path), Level.WARN)
        assert warning == "the last broker did not shut down cleanly (2 partitions)"
        other = state_of(tmp_path, node_id=77)
    (fault,) = texts(other, Level.FAIL)
    assert fault.startswith("it belongs to broker ")
    assert fault.endswith("but node.id is 77")


def test_a_damaged_owner_is_a_fault(tmp_path: Path) -> None:
    """meta.properties that nobody can believe."""
    (tmp_path / "meta.properties").write_text("version=9\n")
    (fault,) = texts(state_of(tmp_path), Level.FAIL)
    assert "meta.properties cannot be used" in fault


@pytest.mark.parametrize("kind", ["flock", "lockf"])
def test_both_kinds_of_locks_are_seen(tmp_path: Path, kind: str) -> None:
    """Ours, and the record locks with which a Java broker holds its folder."""
    path = tmp_path / ".lock"
    path.write_text("")
    assert not is_locked(path)
    holder = (
        "import fcntl, sys\n"
        f"file = open({str(path)!r}, 'r+')\n"
        f"fcntl.{kind}(file, fcntl.LOCK_EX)\n"
        "print('held', flush=True)\n"
        "sys.stdin.read()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", holder], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"held\n"
        held = is_locked(path)
        process.communicate(timeout=30)
    assert held
    assert not is_locked(path)


def test_a_configuration_is_examined_with_all_that_it_names(
    headrace: Headrace, tmp_path: Path
) -> None:
    """Values, folders, ports and names; a misspelt key is answered with the right one."""
    port = unused_port()
    file = tmp_path / "server.properties"
    file.write_text(
        f"listeners=PLAINTEXT://127.0.0.1:{port}\n"
        f"advertised.listeners=PLAINTEXT://headrace.invalid:{port}\n"
        f"log.dirs={tmp_path}/one\nnum.partition=3\n"
    )
    outcome = headrace("doctor", "--config", str(file))
    assert outcome.code == 1
    lines = outcome.out.splitlines()
    assert lines[0] == f"OK    {file}: every value can be used"
    assert 'num.partition is not known and does nothing; did you mean "num.partitions"' in lines[1]
    assert lines[2] == f"OK    {tmp_path}/one: does not exist yet; a broker will create it"
    assert lines[3] == f"OK    port {port}: 127.0.0.1:{port} is free"
    assert lines[4].startswith("FAIL  advertised headrace.invalid: the name cannot be resolved")


def test_folders_of_two_brokers_are_found(headrace: Headrace, tmp_path: Path) -> None:
    """log.dirs that mix what belongs apart."""
    for name, node in (("one", 1), ("two", 2)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "meta.properties").write_text(
            f"version=1\ncluster.id=abc\nnode.id={node}\n"
        )
    file = tmp_path / "server.properties"
    port = unused_port()
    file.write_text(
        f"log.dirs={tmp_path}/one,{tmp_path}/two\nlisteners=PLAINTEXT://127.0.0.1:{port}\n"
    )
    outcome = headrace("doctor", "--config", str(file))
    assert outcome.code == 1
    assert "give log.dirs of one broker only" in outcome.out


@pytest.mark.parametrize(
    ("text", "complaint"),
    [("num.partitions=many\n", "num.partitions"), ("listeners=nonsense\n", "listeners")],
)
def test_an_invalid_configuration_is_a_fault(
    headrace: Headrace, tmp_path: Path, text: str, complaint: str
) -> None:
    """The key and what is allowed."""
    file = tmp_path / "server.properties"
    file.write_text(text)
    outcome = headrace("doctor", "--config", str(file))
    assert outcome.code == 1
    assert outcome.out.startswith(f"FAIL  {file}: Invalid value")
    assert complaint in outcome.out


def test_without_options_the_defaults_are_examined(
    headrace: Headrace, headrace_broker: Broker, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Machine, default data folder, and the cluster that the environment names."""
    monkeypatch.setenv("HEADRACE_DATA", str(tmp_path / "none"))
    monkeypatch.delenv("SCHEMA_REGISTRY_URL", raising=False)
    monkeypatch.setenv("HEADRACE_BOOTSTRAP_SERVERS", headrace_broker.bootstrap_servers)
    outcome = headrace("doctor")
    subjects = [line.split(":")[0].split("  ")[-1] for line in outcome.out.splitlines()]
    assert subjects[:5] == ["file handles", "clock", "Java", "Spark", str(tmp_path / "none")]
    for port in (8081, 8082):
        assert str(port) in outcome.out, "the registry and the REST Proxy are looked for"
    assert "the advertised address can be reached" in outcome.out


def test_java_is_found_or_what_to_install_is_named(tmp_path: Path) -> None:
    """A broker needs none, so it is a warning."""
    (missing,) = examine_java({"PATH": ""}, places=())
    assert missing.level is Level.WARN
    assert "there is no Java" in missing.text
    assert "install Java 17" in missing.remedy
    home = tmp_path / "jdk"
    (home / "bin").mkdir(parents=True)
    (home / "bin" / "java").touch()
    (home / "release").write_text('JAVA_VERSION="21.0.1"\n')
    (found,) = examine_java({"JAVA_HOME": str(home)})
    assert (found.level, found.text) == (Level.OK, f"version 21 in {home}")


def test_spark_is_found_with_its_packages() -> None:
    """All of the extra, as it is declared; one that is missing is named with the command."""
    wanted = spark_packages()
    assert wanted[0] == "pyspark"
    assert "pyarrow" in wanted
    (found,) = examine_spark()
    assert found.level is Level.OK, found
    assert found.text.startswith("pyspark 4.")
    (missing,) = examine_spark(["pyspark", "no_such_package"])
    assert missing.level is Level.WARN
    assert "no_such_package" in missing.text
    assert "headrace[spark]" in missing.remedy


@pytest.fixture(scope="module")
def platform() -> Iterator[dict[str, str]]:
    with headrace_up("broker", "registry", "rest") as addresses:
        yield addresses


def test_the_services_are_checked(headrace: Headrace, platform: dict[str, str]) -> None:
    """A registry with its subjects and mode, a REST Proxy with its cluster."""
    words = ("--registry", platform["registry"], "--rest", platform["rest"])
    outcome = headrace("doctor", *words)
    assert outcome.code == 0, outcome.out
    registry, rest, summary = outcome.out.splitlines()
    assert registry.endswith("answers, with 0 subjects, in mode READWRITE")
    assert "answers, for cluster " in rest
    assert summary == "2 checks, 0 warnings, 0 failures"


def test_what_is_no_such_service_is_reported(headrace: Headrace, platform: dict[str, str]) -> None:
    """Addresses that were swapped, and one where nothing listens: cause and remedy."""
    swapped = headrace("doctor", "--registry", platform["rest"], "--rest", platform["registry"])
    assert swapped.code == 1
    assert "is not a schema registry; correct the address; its port is 8081" in swapped.out
    assert "is not a REST Proxy; correct the address; its port is 8082" in swapped.out
    nothing = f"http://127.0.0.1:{unused_port()}"
    closed = headrace("doctor", "-r", nothing, "--rest", nothing)
    assert closed.out.count("FAIL") == 2
    assert closed.out.count("Connection refused") == 2


def test_a_registry_that_only_reads_is_a_warning(
    headrace: Headrace, platform: dict[str, str]
) -> None:
    """Its mode says why nothing can be registered."""
    url = platform["registry"]
    assert headrace("schema", "mode", "--set", "READONLY", "-r", url).code == 0
    try:
        outcome = headrace("doctor", "-r", url)
        assert outcome.code == 0
        assert "mode READONLY: it registers no schemas" in outcome.out
    finally:
        assert headrace("schema", "mode", "--set", "READWRITE", "-r", url).code == 0
