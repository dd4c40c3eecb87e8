"""What becomes of a connector: each decision reads the snapshot and returns the records to write.

A decision that cannot be raises the fault that Connect answers with, in its words. Only the leader
of the cluster decides; that it is the leader, and that its snapshot is new enough, is for the
caller to know. The caller validates settings first (`config.validate`) and hands over the report.
"""

from __future__ import annotations

from collections.abc import Mapping

from headrace.pipelines.connect.config.connector import NAME
from headrace.pipelines.connect.config.report import ConfigInfos, faults
from headrace.pipelines.connect.faults import (
    AlreadyExistsException,
    BadRequestException,
    NotFoundException,
)
from headrace.pipelines.connect.state import records
from headrace.pipelines.connect.state.config_log import Snapshot
from headrace.pipelines.connect.state.records import Settings, TargetState, Write


def known(snapshot: Snapshot, name: str) -> Settings:
    """The settings of a connector; NotFoundException if there is none of that name."""
    settings = snapshot.connectors.get(name)
    if settings is None:
        raise NotFoundException(f"Connector {name} not found")
    return settings


# --- settings ---


def named(name: str, settings: Mapping[str, str]) -> dict[str, str]:
    """A connector's settings with its name in them; it may not say another one."""
    said = settings.get(NAME, name)
    if said != name:
        raise BadRequestException(
            f"Connector name configuration ({said}) doesn't match connector name in the URL "
            f"({name})"
        )
    return {**settings, NAME: name}


def create(
    snapshot: Snapshot,
    name: str,
    settings: Settings,
    infos: ConfigInfos,
    initial: TargetState | None = None,
) -> list[Write]:
    """A new connector, which at first does what `initial` says."""
    _refuse_faults(infos)
    if name in snapshot.connectors:
        raise AlreadyExistsException(f"Connector {name} already exists")
    # The state comes first: whoever reads the settings must not start what shall be stopped.
    state = [] if initial is None else [records.target_state(name, initial)]
    return [*state, records.connector_config(name, settings)]


def configure(name: str, settings: Settings, infos: ConfigInfos) -> list[Write]:
    """A connector, new or not, with these settings."""
    _refuse_faults(infos)
    return [records.connector_config(name, settings)]


def patched(snapshot: Snapshot, name: str, changes: Mapping[str, str | None]) -> dict[str, str]:
    """A connector's settings with some of them changed; null takes one away."""
    merged = {**known(snapshot, name), **changes}
    return {key: value for key, value in merged.items() if value is not None}


def delete(snapshot: Snapshot, name: str) -> list[Write]:
    """The end of a connector."""
    known(snapshot, name)
    return records.removal(name)


def _refuse_faults(infos: ConfigInfos) -> None:
    if infos.error_count:
        listed = "".join(f"\n{error}" for error in faults(infos))
        raise BadRequestException(
            f"Connector configuration is invalid and contains the following {infos.error_count} "
            f"error(s):{listed}\nYou can also find the above list of errors at the endpoint "
            "`/connector-plugins/{connectorType}/config/validate`"
        )


# --- what a connector shall do ---


def pause(snapshot: Snapshot, name: str) -> list[Write]:
    """Tasks stay and do nothing."""
    return _aim(snapshot, name, TargetState.PAUSED)


def resume(snapshot: Snapshot, name: str) -> list[Write]:
    """Go on after a pause or a stop."""
    return _aim(snapshot, name, TargetState.STARTED)


def stop(snapshot: Snapshot, name: str) -> list[Write]:
    """Tasks go; settings and offsets stay."""
    aim = _aim(snapshot, name, TargetState.STOPPED)
    return [records.tasks_commit(name, 0), *aim]


def _aim(snapshot: Snapshot, name: str, state: TargetState) -> list[Write]:
    if name not in snapshot.connectors:
        raise NotFoundException(f"Unknown connector {name}")
    return [records.target_state(name, state)]
