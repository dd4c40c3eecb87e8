"""Checks a data folder: can a broker write there, whose is it, was the last shutdown clean?"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from headrace.cli.doctor.findings import Finding, fail, ok, warn
from headrace.cli.lines import counted
from headrace.errors import HeadraceError
from headrace.log import checkpoints, meta_properties
from headrace.log.directory import LOCK, parse_folder_name
from headrace.log.meta_properties import MetaProperties

_MANY_BYTES: Final = 1 << 30
_FEW_BYTES: Final = 100 << 20
_SMALL_SHARE: Final = 0.10


def examine_folder(folder: Path, node_id: int | None = None) -> Iterator[Finding]:
    """One entry of `log.dirs`; `node_id` is the broker's, if a configuration names it."""
    subject = str(folder)
    if not folder.exists():
        yield _examine_parent(folder)
        return
    if not folder.is_dir():
        yield fail(subject, "it is a file, not a folder", "give a folder in --data or log.dirs")
        return
    yield _examine_access(folder)
    yield examine_space(subject, *shutil.disk_usage(folder)[::2])
    yield from _examine_owner(folder, node_id)
    locked = is_locked(folder / LOCK)
    if locked:
        yield warn(
            subject, "a running broker holds it", "stop that broker before you start another there"
        )
    partitions = [each for each in folder.iterdir() if parse_folder_name(each.name)]
    if partitions and not locked and not (folder / checkpoints.CLEAN_SHUTDOWN).exists():
        yield warn(
            subject,
            f"the last broker did not shut down cleanly ({counted(len(partitions), 'partition')})",
            "nothing to do: the next start checks and recovers the logs",
        )
    else:
        yield ok(subject, f"holds {counted(len(partitions), 'partition')}")


def examine_folders_together(owners: list[tuple[str, MetaProperties]]) -> Iterator[Finding]:
    """Folders of one broker must agree about whose they are."""
    for folder, owner in owners[1:]:
        first_folder, first = owners[0]
        if owner.cluster_id != first.cluster_id or owner.node_id != first.node_id:
            yield fail(
                folder,
                f"it belongs to broker {owner.node_id} of cluster {owner.cluster_id}, "
                f"but {first_folder} to broker {first.node_id} of {first.cluster_id}",
                "give log.dirs of one broker only",
            )


def _examine_parent(folder: Path) -> Finding:
    parent = folder
    while not parent.exists():
        parent = parent.parent
    if parent.is_dir() and os.access(parent, os.W_OK | os.X_OK):
        return ok(str(folder), "does not exist yet; a broker will create it")
    return fail(
        str(folder), f"it cannot be created in {parent}", "give a folder that you may write to"
    )


def _examine_access(folder: Path) -> Finding:
    try:
        with tempfile.TemporaryFile(dir=folder) as probe:
            probe.write(b"\0")
            probe.flush()
    except OSError as error:
        return fail(
            str(folder),
            f"no file can be written in it ({error.strerror})",
            "correct its permissions",
        )
    return ok(str(folder), "can be written")


def examine_space(subject: str, total: int, free: int) -> Finding:
    """Judge the free space of the file system."""
    shown = f"{free / (1 << 30):.1f} GiB of {total / (1 << 30):.1f} GiB are free"
    remedy = "free some space, or lower log.retention.bytes or log.retention.hours"
    if free < _FEW_BYTES:
        return fail(subject, f"the disk is full: {shown}", remedy)
    if free < _MANY_BYTES or free < total * _SMALL_SHARE:
        return warn(subject, f"the disk is nearly full: {shown}", remedy)
    return ok(subject, shown)


def read_owner(folder: Path) -> MetaProperties | None:
    """What `meta.properties` says; None when it is not there."""
    try:
        data = (folder / meta_properties.FILE_NAME).read_bytes()
    except FileNotFoundError:
        return None
    return meta_properties.decode(data, str(folder / meta_properties.FILE_NAME))


def _examine_owner(folder: Path, node_id: int | None) -> Iterator[Finding]:
    try:
        owner = read_owner(folder)
    except (HeadraceError, OSError) as error:
        yield fail(str(folder), f"meta.properties cannot be used ({error})", "restore the file")
        return
    if owner is None:
        return
    if node_id is not None and owner.node_id not in (None, node_id):
        yield fail(
            str(folder),
            f"it belongs to broker {owner.node_id}, but node.id is {node_id}",
            "correct node.id, or give this broker its own folder",
        )
        return
    yield ok(str(folder), f"belongs to broker {owner.node_id} of cluster {owner.cluster_id}")


def is_locked(path: Path) -> bool:
    """Whether a broker, ours or Apache Kafka's, holds the folder.

    Java locks through POSIX record locks, which know nothing of `flock`, so both are asked.
    """
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False
