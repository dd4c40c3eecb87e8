"""The files of `deploy`: each names a command and an environment, and a broker runs by them.

What only exists on the target is put in its place here: its folders are folders of the test, its
ports free ones, its names this machine. The command's words, their order and the variables are
those of the file, and nothing else: no HOME to write to, no variable of whoever runs the tests.
"""

from __future__ import annotations

import configparser
import json
import os
import shlex
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml  # type: ignore[import-untyped]
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient

from tests.client.listeners import unused_port

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"
HEADRACE = Path(sys.executable).with_name("headrace")
START_TIMEOUT_S = 60


class Environment(NamedTuple):
    """What a file of `deploy` says."""

    command: list[str]
    variables: dict[str, str]
    stop_timeout_s: int
    user: str
    health: list[str]


def from_systemd() -> Environment:
    unit = configparser.RawConfigParser(strict=False)
    unit.optionxform = str  # type: ignore[assignment, method-assign]
    unit.read(DEPLOY / "systemd" / "headrace.service")
    service = unit["Service"]
    assert service["StateDirectory"] == "headrace"
    assert service["KillSignal"] == "SIGTERM"
    variables = dict(pair.split("=", 1) for pair in shlex.split(service["Environment"]))
    return Environment(
        shlex.split(service["ExecStart"]),
        variables,
        int(service["TimeoutStopSec"]),
        service["User"],
        [],
    )


def from_docker() -> Environment:
    lines = [
        line.partition(" ")[::2]
        for line in (DEPLOY / "docker" / "Dockerfile").read_text().splitlines()
        if line and not line.startswith("#")
    ]
    last = dict(lines)
    for word, rest in lines:
        if word == "COPY":
            assert all((ROOT / source).exists() for source in rest.split()[:-1]), rest
    assert last["STOPSIGNAL"] == "SIGTERM"
    assert last["VOLUME"] == "/var/lib/headrace"
    variables = dict(pair.split("=", 1) for pair in shlex.split(last["ENV"]))
    told = ["--set", "advertised.listeners=PLAINTEXT://localhost:9092"]
    return Environment(
        [*json.loads(last["ENTRYPOINT"]), *told],
        variables,
        10,  # Docker's own
        last["USER"],
        json.loads(last["HEALTHCHECK"].partition(" CMD ")[2]),
    )


def from_kubernetes() -> Environment:
    text = (DEPLOY / "kubernetes" / "headrace.yaml").read_text()
    (stateful,) = [each for each in yaml.safe_load_all(text) if each["kind"] == "StatefulSet"]
    pod: dict[str, Any] = stateful["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert container["volumeMounts"][0]["mountPath"] == "/var/lib/headrace"
    assert container["securityContext"]["readOnlyRootFilesystem"] is True
    image = from_docker()
    name = f"{stateful['metadata']['name']}-0"
    args = [word.replace("$(POD_NAME)", name) for word in container["args"]]
    args = [word.replace(f"{name}.{stateful['spec']['serviceName']}", "localhost") for word in args]
    return Environment(
        [*image.command[:-2], *args],
        {**image.variables, "POD_NAME": name},
        pod["terminationGracePeriodSeconds"],
        str(pod["securityContext"]["runAsUser"]),
        [],
    )


class Target:
    """A machine as far as a file of `deploy` knows it: its folders and ports."""

    def __init__(self, folder: Path) -> None:
        self.port, self.metrics_port = unused_port(), unused_port()
        self.data = folder / "data"
        self.data.mkdir()
        config = folder / "server.properties"
        self._places = {
            "/etc/headrace/server.properties": str(config),
            "/var/lib/headrace": str(self.data),
            "/run/headrace": str(folder / "run"),
            "0.0.0.0": "127.0.0.1",
            "ADVERTISED_HOST": "localhost",
            "9092": str(self.port),
            "9404": str(self.metrics_port),
        }
        config.write_text(self.here((DEPLOY / "server.properties").read_text()))

    def here(self, text: str) -> str:
        for there, here in self._places.items():
            text = text.replace(there, here)
        return text

    def words(self, words: list[str]) -> list[str]:
        assert Path(words[0]).name == "headrace"
        return [str(HEADRACE), *map(self.here, words[1:])]

    def variables(self, variables: Mapping[str, str]) -> dict[str, str]:
        there = {name: self.here(value) for name, value in variables.items()}
        # Nobody can write below /proc, root neither: who tries to is seen to fail.
        return {"PATH": os.defpath, "HOME": "/proc/no-home", **there}


def await_ready(process: subprocess.Popen[str]) -> None:
    """Return when the broker has said so; what it says later is read and forgotten."""
    assert process.stdout is not None
    alarm = threading.Timer(START_TIMEOUT_S, process.kill)
    alarm.start()
    said = []
    for line in process.stdout:
        said.append(line)
        if line.startswith("broker ready"):
            break
    alarm.cancel()
    assert said, "it ended without a word"
    assert said[-1].startswith("broker ready"), "".join(said)


@pytest.mark.parametrize("read", [from_systemd, from_docker, from_kubernetes])
def test_a_broker_runs_as_the_file_says(read: Any, tmp_path: Path) -> None:
    """It answers under the advertised name, keeps records in its folder, and obeys SIGTERM."""
    wanted = read()
    target = Target(tmp_path)
    assert wanted.user.split(":")[0] not in ("root", "0")
    with subprocess.Popen(
        target.words(wanted.command),
        env=target.variables(wanted.variables),
        cwd="/",
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        try:
            await_ready(process)
            servers = f"localhost:{target.port}"
            (broker,) = (
                AdminClient({"bootstrap.servers": servers}).list_topics("orders").brokers.values()
            )
            assert (str(broker.host), broker.port) == ("localhost", target.port)
            producer = Producer({"bootstrap.servers": servers})
            producer.produce("orders", b"one")
            assert producer.flush(30) == 0
            socket.create_connection(("127.0.0.1", target.metrics_port), 10).close()
            if wanted.health:
                environment = target.variables(wanted.variables)
                subprocess.run(target.words(wanted.health), env=environment, check=True, timeout=30)
            assert (target.data / "orders-0").is_dir()
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=wanted.stop_timeout_s)
        finally:
            process.kill()
    assert process.returncode == 0
