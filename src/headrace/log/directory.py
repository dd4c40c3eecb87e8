"""One entry of `log.dirs`: the partitions of one volume, with lock, owner and checkpoints.

    meta.properties                      whose directory this is, see meta_properties
    .lock                                held while a broker runs
    .kafka_cleanshutdown                 left by an orderly shutdown, see checkpoints
    *-offset-checkpoint                  see checkpoints
    <topic>-<partition>/                 one log
    <topic>-<partition>.<32 hex>-delete/ a deleted log that waits for its removal
    <topic>-<partition>.<32 hex>-future/ a log on its way from another directory, see moving

A partition lives wholly in one directory, and a directory fails as a whole: after an I/O error its
partitions are gone for serving and nothing is written any more, while other directories go on.
Which directory a new partition gets is decided in `placement`. One thread at a time may use an
instance, so several directories can be loaded side by side.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Final
from uuid import UUID

from headrace.errors import ClientFault, ConfigError, CorruptData, Error
from headrace.log import checkpoints, meta_properties, partition_metadata
from headrace.log.config import LogConfig
from headrace.log.log import PartitionLog
from headrace.runtime.disk import Disk, Lock, is_passing
from headrace.types import ZERO_UUID, TopicPartition, uuid_to_text

LOCK: Final = ".lock"
_MAX_NAME_BYTES: Final = 255
_PARTITION: Final = re.compile(r"([a-zA-Z0-9._-]{1,249})-(0|[1-9][0-9]{0,9})")
_DELETED: Final = re.compile(r".*\.[0-9a-f]{32}-delete")
_CLUSTER_METADATA: Final = TopicPartition("__cluster_metadata", 0)
_OWN_FILES: Final = frozenset(
    {
        LOCK,
        meta_properties.FILE_NAME,
        *checkpoints.OFFSET_FILES,
    }
)

Progress = Callable[[int, int], None]
"""Called with the number of logs loaded so far and of all logs."""


@dataclass(slots=True)
class LoadReport:
    """What a start found, for the person who reads the broker's output."""

    was_clean: bool
    loaded: int = 0
    quarantined: dict[str, str] = field(default_factory=dict)
    """Folders that could not be opened, and why. They are left untouched."""
    ignored: list[str] = field(default_factory=list)
    """Names that mean nothing to this broker: moves and strays of Kafka, other people's files."""
    doomed: list[str] = field(default_factory=list)
    """Deleted logs from before, which the next `take_doomed` gives out."""
    warnings: list[str] = field(default_factory=list)
    """Checkpoints that could not be used."""


def folder_name(topic_partition: TopicPartition) -> str:
    return f"{topic_partition.topic}-{topic_partition.partition}"


def parse_folder_name(name: str) -> TopicPartition | None:
    """The partition behind `<topic>-<partition>`; topics may contain dashes and digits too."""
    match = _PARTITION.fullmatch(name)
    return None if match is None else TopicPartition(match[1], int(match[2]))


def deleted_folder_name(topic_partition: TopicPartition, unique: UUID) -> str:
    """The name under which a log waits for its removal; a long topic name is cut to fit."""
    return _suffixed(topic_partition, unique, "delete")


def future_folder_name(topic_partition: TopicPartition, unique: UUID) -> str:
    """The name of a log that is not complete yet; cut in the same way."""
    return _suffixed(topic_partition, unique, "future")


def _suffixed(topic_partition: TopicPartition, unique: UUID, word: str) -> str:
    suffix = f"-{topic_partition.partition}.{unique.hex}-{word}"
    return topic_partition.topic[: _MAX_NAME_BYTES - len(suffix)] + suffix


class LogDirectory:
    """See the module. Use `open`, then `load`, and `close` in the end."""

    def __init__(
        self,
        disk: Disk,
        path: str,
        lock: Lock,
        directory_id: UUID,
        uuid_factory: Callable[[], UUID],
        *,
        was_clean: bool,
    ) -> None:
        self.path = path
        self.directory_id = directory_id
        self.offline_reason = ""
        self.logs: dict[TopicPartition, PartitionLog] = {}
        self.quarantined: dict[TopicPartition, str] = {}
        self.without_room: set[TopicPartition] = set()  # quarantined for now: the disk was full
        self._disk = disk
        self._lock: Lock | None = lock
        self._uuid_factory = uuid_factory
        self._was_clean = was_clean
        self._doomed: list[tuple[int, str]] = []  # when, which folder
        self.has_unsynced_deletions = False
        self._checkpoints: dict[str, dict[TopicPartition, int]] = {}

    @property
    def online(self) -> bool:
        return not self.offline_reason

    def room(self) -> tuple[int, int]:
        """(total, free) bytes of the file system below the directory."""
        return self._disk.room(self.path)

    # Coming up.

    @classmethod
    def open(
        cls,
        disk: Disk,
        path: str,
        *,
        cluster_id: str,
        node_id: int,
        uuid_factory: Callable[[], UUID],
    ) -> LogDirectory:
        """Take possession of the folder; ConfigError if it cannot be had."""
        try:
            disk.make_folder(path)
            lock = disk.lock(f"{path}/{LOCK}")
        except BlockingIOError:
            raise ConfigError(
                f"{path} is in use by another broker, or listed twice; stop the other broker or "
                f"give each broker its own log.dirs"
            ) from None
        except OSError as fault:
            raise ConfigError(
                f"cannot use {path} for logs: {fault.strerror}; log.dirs must name folders that "
                f"the broker may write to"
            ) from None
        try:
            _keep_private(disk, path)
            directory_id = meta_properties.settle(
                disk, path, cluster_id=cluster_id, node_id=node_id, uuid_factory=uuid_factory
            )
            was_clean = checkpoints.take_clean_shutdown(disk, path)
        except BaseException:
            lock.release()
            raise
        return cls(disk, path, lock, directory_id, uuid_factory, was_clean=was_clean)

    def load(
        self,
        config_of: Callable[[str], LogConfig],
        now_ms: int,
        on_progress: Progress | None = None,
    ) -> LoadReport:
        """Open every log in the folder, recovering those that a crash left behind.

        A log that cannot be opened is put in quarantine with the reason, and the others go on.
        """
        report = LoadReport(self._was_clean)
        self._checkpoints = {
            name: self._read_checkpoint(name, report) for name in checkpoints.OFFSET_FILES
        }
        found = self._sort_names(report, now_ms)
        for count, topic_partition in enumerate(found, start=1):
            try:
                self._load_log(topic_partition, config_of(topic_partition.topic), now_ms)
                report.loaded += 1
            except (CorruptData, OSError) as fault:
                reason = str(fault)
                self.quarantined[topic_partition] = reason
                report.quarantined[folder_name(topic_partition)] = reason
                if is_passing(fault):
                    self.without_room.add(topic_partition)
            if on_progress is not None:
                on_progress(count, len(found))
        self._correct_checkpoints(report)
        return report

    def load_again(self, topic_partition: TopicPartition, config: LogConfig, now_ms: int) -> None:
        """Open a log whose recovery found no room; OSError if there is none yet."""
        assert topic_partition in self.without_room, f"{topic_partition} was not waiting for room"
        self._check_online()
        try:
            self._load_log(topic_partition, config, now_ms)
            del self.quarantined[topic_partition]
        except CorruptData as fault:
            self.quarantined[topic_partition] = str(fault)
        self.without_room.discard(topic_partition)

    def _load_log(self, topic_partition: TopicPartition, config: LogConfig, now_ms: int) -> None:
        log = self._open_log(topic_partition, config, now_ms)
        if log.flush_due(now_ms):
            # The last process was killed before its flush; what it wrote counts only now.
            log.flush()
        self.logs[topic_partition] = log

    def _correct_checkpoints(self, report: LoadReport) -> None:
        """Take back what a power loss has made untrue, before other records take its place.

        A high watermark or recovery point beyond the end of its log would come true again, and
        wrongly, once the log has grown past it.
        """
        noted = (checkpoints.RECOVERY_POINTS, checkpoints.HIGH_WATERMARKS)
        if any(
            self._checkpointed(name, topic_partition) > log.log_end_offset
            for topic_partition, log in self.logs.items()
            for name in noted
        ):
            try:
                self.write_checkpoints()
            except OSError as fault:  # a full disk; they are written as soon as there is room
                report.warnings.append(f"The checkpoints of {self.path} cannot be written: {fault}")

    def _read_checkpoint(self, name: str, report: LoadReport) -> dict[TopicPartition, int]:
        try:
            return checkpoints.read_offsets(self._disk, f"{self.path}/{name}")
        except (CorruptData, OSError) as fault:
            report.warnings.append(str(fault))
            return {}

    def _sort_names(self, report: LoadReport, now_ms: int) -> list[TopicPartition]:
        found = []
        for name in self._disk.list(self.path):
            topic_partition = parse_folder_name(name)
            if topic_partition is not None and topic_partition != _CLUSTER_METADATA:
                found.append(topic_partition)
            elif _DELETED.fullmatch(name):
                report.doomed.append(name)
                self._doomed.append((now_ms, f"{self.path}/{name}"))
            elif name.removesuffix(".tmp") not in _OWN_FILES:
                report.ignored.append(name)
        return found

    def _open_log(
        self, topic_partition: TopicPartition, config: LogConfig, now_ms: int
    ) -> PartitionLog:
        log = PartitionLog.open(
            self._disk,
            self._folder(topic_partition),
            topic_partition,
            config,
            recovery_point=self._checkpointed(checkpoints.RECOVERY_POINTS, topic_partition),
            log_start_offset=self._checkpointed(checkpoints.LOG_START_OFFSETS, topic_partition),
            clean_offset=self._checkpointed(checkpoints.CLEAN_OFFSETS, topic_partition),
            clean=self._was_clean,
            now_ms=now_ms,
        )
        log.high_watermark = self._checkpointed(checkpoints.HIGH_WATERMARKS, topic_partition)
        return log

    def _checkpointed(self, name: str, topic_partition: TopicPartition) -> int:
        return self._checkpoints[name].get(topic_partition, 0)

    # Partitions come and go.

    def create(
        self, topic_partition: TopicPartition, topic_id: UUID, config: LogConfig, now_ms: int
    ) -> PartitionLog:
        """An empty log in a new folder."""
        log = self.make(topic_partition, topic_id, config, now_ms)
        self.logs[topic_partition] = log
        return log

    def make(
        self, topic_partition: TopicPartition, topic_id: UUID, config: LogConfig, now_ms: int
    ) -> PartitionLog:
        """An empty log in a new folder that is not one of `logs` yet; a thread may do it."""
        self._check_online()
        folder = self._folder(topic_partition)
        if self._disk.exists(folder):
            reason = self.quarantined.get(topic_partition, "the folder exists already")
            raise ClientFault(
                Error.KAFKA_STORAGE_ERROR, f"{topic_partition} cannot be created: {reason}"
            )
        try:
            return PartitionLog.create(
                self._disk, folder, topic_partition, topic_id, config, now_ms
            )
        except OSError:
            # Half a folder must not keep the next try from making a whole one.
            if self._disk.exists(folder):
                self._disk.remove_folder(folder)
            raise

    def assign_topic_id(self, topic_partition: TopicPartition, topic_id: UUID) -> None:
        """Hold a log to its topic's id; one from before topics had ids gets it now."""
        self._check_online()
        log = self.logs[topic_partition]
        if log.topic_id == ZERO_UUID:
            partition_metadata.write(self._disk, log.folder, topic_id, sync=True)
            log.topic_id = topic_id
        elif log.topic_id != topic_id:
            raise ClientFault(
                Error.INCONSISTENT_TOPIC_ID,
                f"{self._folder(topic_partition)} belongs to the topic with id "
                f"{uuid_to_text(log.topic_id)}, not {uuid_to_text(topic_id)}: the topic was "
                f"deleted and created again",
            )

    def delete(self, topic_partition: TopicPartition, now_ms: int) -> None:
        """Take a log out of service at once; its files go after `file.delete.delay.ms`. It comes
        back after a power cut unless `sync_deletions` follows.

        The new name is longer and may find no room: an OSError leaves everything as it was.
        """
        self._check_online()
        log = self.logs[topic_partition]
        doomed = self._doomed_folder(log)
        self._disk.rename(log.folder, doomed)
        self._doom(log, doomed, now_ms)
        del self.logs[topic_partition]
        _let_go(log)
        self.has_unsynced_deletions = True

    def delete_at_once(self, topic_partition: TopicPartition) -> None:
        """Remove a log that has no readers; unlike a rename, this needs no free space."""
        self._check_online()
        log = self.logs[topic_partition]
        self._disk.remove_folder(log.folder)
        del self.logs[topic_partition]
        _let_go(log)
        self.has_unsynced_deletions = True

    def sync_deletions(self) -> None:
        """Make deletions durable; a thread may do it. After an OSError they still are not."""
        if self.has_unsynced_deletions:
            self.has_unsynced_deletions = False  # before: others may be made meanwhile
            try:
                self._disk.sync_folder(self.path)
            except OSError:
                self.has_unsynced_deletions = True
                raise

    def create_future(
        self, topic_partition: TopicPartition, topic_id: UUID, config: LogConfig, now_ms: int
    ) -> PartitionLog:
        """An empty log in a folder of its own, where a partition can move to; it is not served."""
        self._check_online()
        folder = f"{self.path}/{future_folder_name(topic_partition, self._uuid_factory())}"
        return PartitionLog.create(self._disk, folder, topic_partition, topic_id, config, now_ms)

    def retire(self, topic_partition: TopicPartition, now_ms: int) -> None:
        """Let go of a log that lives in another directory now; who reads from it can finish."""
        self._check_online()
        log = self.logs.pop(topic_partition)
        kept = self._doomed_folder(log)
        self._doom(log, kept, now_ms)
        self._disk.make_folder(kept)
        for segment in log.segments:
            segment.rename(kept)
        for _, doomed in log.doomed:
            doomed.abandon()
        # What is left goes by its folder's name: a cleaner may be writing into it at this moment.
        rest = self._doomed_folder(log)
        self._doom(log, rest, now_ms)
        self._disk.rename(log.folder, rest)
        self._disk.sync_folder(self.path)

    def _doomed_folder(self, log: PartitionLog) -> str:
        """A folder name that no log has."""
        return f"{self.path}/{deleted_folder_name(log.topic_partition, self._uuid_factory())}"

    def _doom(self, log: PartitionLog, folder: str, now_ms: int) -> None:
        """Put a folder on the list of what will be removed."""
        self._doomed.append((now_ms + log.config.file_delete_delay_ms, folder))

    def take_doomed(self, now_ms: int) -> list[str]:
        """The folders of deleted logs whose time has come; the caller removes them."""
        self._check_online()
        due = [folder for due_ms, folder in self._doomed if due_ms <= now_ms]
        if due:
            self._doomed = [entry for entry in self._doomed if entry[0] > now_ms]
        return due

    def remove_folders(self, folders: Iterable[str]) -> dict[str, OSError]:
        """Remove what `take_doomed` gave; a thread may do it. Returns those that could not be
        removed, and why: the caller gives them back with `doom_again`.
        """
        faults = {}
        for folder in folders:
            try:
                self._disk.remove_folder(folder)
            except FileNotFoundError:
                continue  # Someone was faster.
            except OSError as fault:
                faults[folder] = fault
        return faults

    def doom_again(self, folders: Iterable[str], due_ms: int) -> None:
        """Let folders that could not be removed be taken once more."""
        self._doomed += [(due_ms, folder) for folder in folders]

    # Checkpoints and the end.

    def write_checkpoints(self) -> None:
        """Note the offsets that the next start needs; a file without news is not written."""
        self._check_online()
        logs = self.logs.items()
        current = {
            checkpoints.RECOVERY_POINTS: {tp: log.recovery_point for tp, log in logs},
            checkpoints.HIGH_WATERMARKS: {tp: log.high_watermark for tp, log in logs},
            checkpoints.LOG_START_OFFSETS: {
                tp: log.log_start_offset
                for tp, log in logs
                if log.log_start_offset > log.segments[0].base_offset
            },
            checkpoints.CLEAN_OFFSETS: {
                tp: log.clean_offset for tp, log in logs if log.clean_offset > 0
            },
        }
        for name, offsets in current.items():
            known = self._checkpoints.get(name, {})
            for topic_partition in self.quarantined:
                # Whoever mends a quarantined log needs to know what was known of it.
                if topic_partition in known:
                    offsets[topic_partition] = known[topic_partition]
            if offsets != known:
                checkpoints.write_offsets(self._disk, f"{self.path}/{name}", offsets)
                self._checkpoints[name] = offsets

    def forget_recovery_points(self) -> None:
        """Where a log was cut and there is no room to note it: what was noted must not be believed
        after a crash, so the next start validates everything.
        """
        self._check_online()
        try:
            self._disk.remove(f"{self.path}/{checkpoints.RECOVERY_POINTS}")
        except FileNotFoundError:
            pass
        self._checkpoints.pop(checkpoints.RECOVERY_POINTS, None)
        self._disk.sync_folder(self.path)

    def fail(self, reason: str) -> None:
        """Go offline after an I/O error: serve nothing, write nothing, keep others out."""
        if self.online:
            self.offline_reason = reason
            for log in self.logs.values():
                for segment in log.segments:
                    segment.close()
            self.logs.clear()

    def close(self) -> None:
        """Flush every log, write the checkpoints and the marker that the next start trusts.

        If the disk fails over it the directory goes offline, as `offline_reason` tells, and the
        next start recovers the logs. The lock is released in any case.
        """
        if self._lock is None:
            return
        try:
            if self.online:
                for log in self.logs.values():
                    log.close()
                self.write_checkpoints()
                checkpoints.write_clean_shutdown(self._disk, self.path)
                self.logs.clear()
        except OSError as fault:
            self.fail(f"{self.path} could not be closed in order: {fault}")
        finally:
            self.release()

    def release(self) -> None:
        """Let others have the folder, without a word about the logs in it."""
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    def _check_online(self) -> None:
        if not self.online:
            raise ClientFault(Error.KAFKA_STORAGE_ERROR, self.offline_reason)

    def _folder(self, topic_partition: TopicPartition) -> str:
        return f"{self.path}/{folder_name(topic_partition)}"


def _let_go(log: PartitionLog) -> None:
    """Give back a log's handles without writing anything; its readers can not go on."""
    for segment in (*log.segments, *(doomed for _, doomed in log.doomed)):
        segment.abandon()


def _keep_private(disk: Disk, path: str) -> None:
    """Let only the broker's user read the logs; earlier releases left them open to all."""
    if not disk.make_private(path):
        return
    for name in disk.list(path):
        inner = f"{path}/{name}"
        if name in _OWN_FILES:
            disk.make_private(inner)
        elif parse_folder_name(name) or _DELETED.fullmatch(name):
            disk.make_private(inner)
            for file in disk.list(inner) if disk.is_folder(inner) else ():
                disk.make_private(f"{inner}/{file}")
