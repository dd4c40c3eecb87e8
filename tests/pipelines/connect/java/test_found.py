"""Java plugins by the service files of their jars, without a JVM."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from headrace.cli.connect import app
from headrace.pipelines.connect import plugins
from headrace.pipelines.connect.config.plugins import Role
from headrace.pipelines.connect.faults import ConfigException
from headrace.pipelines.connect.java import found
from tests.pipelines.connect.java.jars import jar

SERVICES = "META-INF/services/org.apache.kafka.connect."
SOURCE = f"{SERVICES}source.SourceConnector"
SINK = f"{SERVICES}sink.SinkConnector"


@pytest.fixture(autouse=True)
def no_path() -> Iterator[None]:
    """Each test has a path of its own."""
    yield
    found.look_in({})


def test_folders_and_jars_of_the_path_are_plugins(tmp_path: Path) -> None:
    jar(tmp_path / "path/one/a-1.2.jar", {SOURCE: "acme.One\n"})
    jar(tmp_path / "path/one/lib/b.jar", {"acme/One.class": b""})
    manifest = "Manifest-Version: 1.0\r\nImplementation-Version: 3.4\r\n"
    whole = {SINK: "# who\nacme.Two # it\n\n", "META-INF/MANIFEST.MF": manifest}
    jar(tmp_path / "path/two-9.jar", whole)
    alone = jar(tmp_path / "three.jar", {f"{SERVICES}storage.Converter": "acme.Three"})
    (tmp_path / "path/notes.txt").write_text("not a plugin")
    found.look_in({found.PATH: f" {tmp_path / 'path'} , {alone}"})
    seen = {
        (each.name, each.role, each.is_source, each.version, len(each.jars))
        for each in found.java_classes()
    }
    assert seen == {
        ("acme.One", Role.CONNECTOR, True, "1.2", 2),
        ("acme.Two", Role.CONNECTOR, False, "3.4", 1),
        ("acme.Three", Role.CONVERTER, False, "unknown", 1),
    }


def test_a_name_that_python_has_is_meant_with_a_prefix(tmp_path: Path) -> None:
    """What the house has of its own comes first; `java:` names the other."""
    known = "org.apache.kafka.connect.file.FileStreamSourceConnector"
    jar(tmp_path / "p/a.jar", {SOURCE: f"{known}\nacme.NewConnector\n"})
    found.look_in({found.PATH: str(tmp_path)})
    assert not isinstance(plugins.find(known), plugins.JavaPlugin)
    assert not isinstance(plugins.find("FileStreamSource"), plugins.JavaPlugin)
    assert plugins.find(f"java:{known}").task == known
    for name in ("acme.NewConnector", "NewConnector", "New", "java:acme.NewConnector"):
        assert plugins.find(name).task == "acme.NewConnector", name


def test_the_command_lists_them(tmp_path: Path) -> None:
    jar(tmp_path / "path/a-1.2.jar", {SINK: "acme.One\n"})
    done = CliRunner().invoke(
        app, ["plugins", "--plugin-path", str(tmp_path / "path"), "-o", "json"]
    )
    rows = json.loads(done.output)
    assert {"class": "acme.One", "type": "sink", "version": "1.2"} in rows
    assert sum(row["class"].endswith("FileStreamSinkConnector") for row in rows) == 1


def test_what_is_no_jar_is_named(tmp_path: Path) -> None:
    (tmp_path / "path").mkdir()
    (tmp_path / "path/broken.jar").write_bytes(b"not a zip")
    found.look_in({found.PATH: str(tmp_path / "path")})
    with pytest.raises(ConfigException, match=r"broken\.jar in plugin\.path cannot be read"):
        found.java_classes()
    (tmp_path / "text").write_text("")
    found.look_in({found.PATH: str(tmp_path / "text")})
    with pytest.raises(ConfigException, match="text is neither a folder nor a jar"):
        found.java_classes()


def test_a_folder_that_does_not_exist_is_passed_over(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """As Connect does: files of books name folders that not every machine has."""
    found.look_in({found.PATH: str(tmp_path / "nowhere")})
    with caplog.at_level(logging.INFO):
        assert found.java_classes() == ()
    assert "nowhere in plugin.path does not exist" in caplog.text


def test_connects_own_jars_are_asked_for(tmp_path: Path) -> None:
    """And the plugins of converters that settings name are added to a connector's."""
    own = jar(tmp_path / "path/one/a.jar", {SOURCE: "acme.One"})
    service = f"{SERVICES}storage.Converter"
    converter = jar(tmp_path / "path/two/c.jar", {service: "acme.Converter"})
    path = {found.PATH: str(tmp_path / "path")}
    found.look_in(path)
    with pytest.raises(ConfigException, match=r"set headrace\.java\.connect\.jars to .* libs"):
        found.jars_for("acme.One", {})
    api = jar(tmp_path / "libs/connect-api-4.3.1.jar", {})
    found.look_in({**path, found.JARS: str(tmp_path / "libs")})
    assert found.jars_for("acme.One", {}) == [str(api), str(own)]
    named = {"value.converter": "acme.Converter"}
    assert found.jars_for("acme.One", named) == [str(api), str(own), str(converter)]
