"""`schema-registry-start` and `kafka-rest-start` with a properties file."""

from __future__ import annotations

import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from headrace.cli.kafka_compat.starting import schema_registry
from tests.cli.kafka_compat.conftest import Tool


@pytest.mark.spec("slides:G27", "slides:N16")
@pytest.mark.parametrize(
    ("tool", "service", "properties", "path"),
    [
        ("schema-registry-start", "registry", "kafkastore.bootstrap.servers={}", "/subjects"),
        ("kafka-rest-start", "rest", "bootstrap.servers={}", "/topics"),
    ],
)
def test_a_service_runs_from_its_file(
    services: dict[str, str],
    tmp_path: Path,
    tool: str,
    service: str,
    properties: str,
    path: str,
) -> None:
    """Confluent's file works as it is and is shown; SIGTERM is a clean stop."""
    file = tmp_path / "service.properties"
    lines = ["listeners=http://127.0.0.1:0", properties.format(services["broker"])]
    file.write_text("\n".join([*lines, "ssl.key.password=secret"]))
    with subprocess.Popen(
        [sys.executable, "-m", "headrace.cli.kafka_compat", tool, str(file)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stdout is not None
            ready, name, url = process.stdout.readline().split()
            assert (ready, name) == ("ready", service)
            with urllib.request.urlopen(url + path, timeout=30) as answer:
                assert answer.status == 200
            process.terminate()
            _, err = process.communicate(timeout=60)
        finally:
            process.kill()
    assert process.returncode == 0, err
    name = {"registry": "SchemaRegistryConfig", "rest": "KafkaRestConfig"}[service]
    assert err.startswith(f"{name} values:\n\t")
    assert "\tlisteners = http://127.0.0.1:0\n" in err
    assert "secret" not in err


def test_daemon_is_refused(tool: Tool) -> None:
    """What a script of Confluent's does in the background, an init system does better."""
    refused = tool(schema_registry, "-daemon", "x.properties")
    assert refused.code == 2
    assert "use your init system" in refused.err
