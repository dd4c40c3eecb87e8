"""Connectors by name: what is listed is what their classes say, and near misses are named."""

from __future__ import annotations

from pathlib import Path

import pytest

from headrace.pipelines.connect import plugins
from headrace.pipelines.connect.config.plugins import Role
from headrace.pipelines.connect.faults import ConnectException
from headrace.pipelines.connect.tasks import connector_of
from headrace.pipelines.connect.worker.catalogue import Catalogue


@pytest.mark.parametrize("plugin", plugins.BUILT_IN, ids=lambda plugin: plugin.task)
def test_the_list_says_what_the_classes_say(plugin: plugins.Plugin) -> None:
    said = connector_of(plugin.load())
    listed = (plugin.name, plugin.kind, plugin.version, plugin.aliases)
    assert listed == (said.name, said.kind, said.version, said.aliases)
    for name in (plugin.name, *plugin.aliases):
        assert plugins.find(name) is plugin


def test_a_name_that_nobody_has() -> None:
    with pytest.raises(ConnectException, match=r"Did you mean JdbcSink\b.*Available connectors"):
        plugins.find("JdbcSinc")


@pytest.mark.spec("book2:C-12")
def test_a_class_in_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "own_connector.py").write_text(
        "from headrace.connect import SourceTask, source\n"
        "@source('acme.Own', version='1.2')\n"
        "class Own(SourceTask):\n"
        "    def poll(self):\n"
        "        return ()\n"
        "class NotOne: ...\n"
    )
    found = plugins.find("own_connector.py:Own")
    assert (found.name, found.kind, found.version) == ("acme.Own", "source", "1.2")
    with pytest.raises(ConnectException, match="is not a connector"):
        plugins.find("own_connector.py:NotOne")
    with pytest.raises(ConnectException, match="there is no file"):
        plugins.find("other.py:Own")
    (tmp_path / "plain_task.py").write_text(
        "from headrace.connect import SourceTask\nclass Bare(SourceTask): ...\n"
        "def plain(record): ...\n"
    )
    with pytest.raises(ConnectException, match="put @source"):
        plugins.find("plain_task.py:Bare")
    with pytest.raises(ConnectException, match="put @transform"):
        plugins.transform("plain_task.py:plain")


def test_why_a_file_cannot_be_imported_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also by the validation of a connector's settings."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "halfway.py").write_text("import no_such_package_here\n")
    with pytest.raises(ConnectException, match="no_such_package_here"):
        Catalogue().find(Role.CONNECTOR, "halfway.py:Own")
