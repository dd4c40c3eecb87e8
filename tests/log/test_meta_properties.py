"""`meta.properties`: whose directory this is."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.errors import ConfigError
from headrace.log import meta_properties
from headrace.log.meta_properties import MetaProperties
from headrace.runtime.os_disk import OsDisk
from tests.log.format_page import text_example

DIRECTORY_ID = UUID("3fc95771-bcff-4d3b-80bd-51ab2ebf2727")


def ids(*values: UUID) -> Callable[[], UUID]:
    remaining: Iterator[UUID] = iter(values)
    return lambda: next(remaining)


def settle(folder: Path, cluster_id: str = "lab", node_id: int = 1) -> UUID:
    return meta_properties.settle(
        OsDisk(),
        str(folder),
        cluster_id=cluster_id,
        node_id=node_id,
        uuid_factory=ids(DIRECTORY_ID),
    )


def test_an_empty_directory_is_taken(tmp_path: Path) -> None:
    """A new directory is marked as ours, with an id of its own."""
    assert meta_properties.read(OsDisk(), str(tmp_path)) is None
    assert settle(tmp_path) == DIRECTORY_ID
    assert (tmp_path / "meta.properties").read_text() == (
        "version=1\ncluster.id=lab\nnode.id=1\ndirectory.id=P8lXcbz_TTuAvVGrLr8nJw\n"
    )


def test_our_own_directory_is_left_as_it_is(tmp_path: Path) -> None:
    """A second start finds the same id and writes nothing; Kafka's comments and order survive."""
    text = (
        "#\n#Sat Nov 15 10:00:00 UTC 2025\nnode.id=1\ndirectory.id=P8lXcbz_TTuAvVGrLr8nJw\n"
        "version=1\ncluster.id=lab\n"
    )
    (tmp_path / "meta.properties").write_text(text)
    assert settle(tmp_path) == DIRECTORY_ID
    assert (tmp_path / "meta.properties").read_text() == text


@pytest.mark.parametrize("cluster_line", ["cluster.id=lab\n", ""])
def test_a_directory_of_the_zookeeper_era_is_accepted(tmp_path: Path, cluster_line: str) -> None:
    """Version 0 with broker.id is ours and is brought to version 1 with a directory id."""
    (tmp_path / "meta.properties").write_text(f"version=0\nbroker.id=1\n{cluster_line}")
    assert settle(tmp_path) == DIRECTORY_ID
    assert meta_properties.read(OsDisk(), str(tmp_path)) == ("lab", 1, DIRECTORY_ID)
    assert "version=1" in (tmp_path / "meta.properties").read_text()


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (
            "version=1\ncluster.id=other\nnode.id=1\n",
            "belongs to cluster other, this broker to lab; point log.dirs elsewhere",
        ),
        (
            "version=1\ncluster.id=lab\nnode.id=2\n",
            "belongs to broker 2, this broker is 1; correct node.id",
        ),
        ("version=0\ncluster.id=lab\nbroker.id=2\n", "belongs to broker 2"),
        ("version=2\ncluster.id=lab\nnode.id=1\n", "version=2, only 0 and 1 are known; restore"),
        ("cluster.id=lab\n", "version=None"),
        ("version=1\nnode.id=one\n", "node.id=one is not a number; restore"),
        ("version=1\ndirectory.id=short\n", "'short' is not an id"),
    ],
)
def test_a_foreign_or_damaged_directory_is_refused(
    tmp_path: Path, text: str, complaint: str
) -> None:
    """The broker starts on nobody else's data; one line names cause and remedy."""
    file = tmp_path / "meta.properties"
    file.write_text(text)
    with pytest.raises(ConfigError, match=complaint) as refusal:
        settle(tmp_path)
    assert str(tmp_path) in str(refusal.value)
    assert "\n" not in str(refusal.value)
    assert file.read_text() == text


def test_an_unwritable_directory_is_refused(tmp_path: Path) -> None:
    """Missing write access is told as such."""
    (tmp_path / "meta.properties.tmp").mkdir()
    with pytest.raises(ConfigError, match=r"cannot write .*; the broker needs write access"):
        settle(tmp_path)


def test_an_unreadable_file_is_refused(tmp_path: Path) -> None:
    """Missing read access is told as such."""
    (tmp_path / "meta.properties").mkdir()
    with pytest.raises(ConfigError, match=r"cannot read .*; check its permissions") as refusal:
        settle(tmp_path)
    assert os.strerror(errno.EISDIR) in str(refusal.value)


def test_reserved_and_awkward_ids_are_not_used(tmp_path: Path) -> None:
    """KIP-858 reserves the first hundred ids; one that begins with a dash looks like an option."""
    awkward = UUID(bytes=b"\xf8" + bytes(15))
    found = meta_properties.settle(
        OsDisk(),
        str(tmp_path),
        cluster_id="lab",
        node_id=1,
        uuid_factory=ids(UUID(int=0), UUID(int=99), awkward, DIRECTORY_ID),
    )
    assert found == DIRECTORY_ID


def test_java_escapes_are_undone() -> None:
    """Java's property writer puts backslashes before some characters."""
    text = b"version=1\ncluster.id=a\\=b\\:c\nnode.id=-1\n"
    assert meta_properties.decode(text, "f") == MetaProperties("a=b:c", -1, None)


@given(st.binary(max_size=80))
def test_any_bytes_give_properties_or_a_clear_error(data: bytes) -> None:
    """No content of the file raises anything but ConfigError."""
    for content in (data, b"version=1\n" + data, b"version=0\nbroker.id=" + data):
        with contextlib.suppress(ConfigError):
            found = meta_properties.decode(content, "f")
            assert meta_properties.decode(meta_properties.encode(found), "f") is not None


def test_the_documented_example_is_true() -> None:
    """docs/formats/meta-properties.md shows a file as it is written."""
    properties = MetaProperties("4L6g3nShT-eMCtK--X86sw", 1, DIRECTORY_ID)
    assert text_example("meta-properties.md") == meta_properties.encode(properties)
