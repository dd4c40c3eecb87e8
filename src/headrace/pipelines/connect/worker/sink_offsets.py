"""Offsets of a sink: those that its consumer group has committed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from headrace.admin.client import Admin
from headrace.admin.faults import Refused
from headrace.admin.groups import delete_group, delete_offsets
from headrace.client.faults import BrokerRefused
from headrace.client.group_offsets import commit_offsets, committed_offsets
from headrace.client.settings import ClientSettings
from headrace.errors import Error
from headrace.pipelines.connect.faults import BadRequestException, ConnectException
from headrace.pipelines.connect.herder.offsets import OFFSET, PARTITION, TOPIC
from headrace.pipelines.connect.host.clients import connection_of, properties_of
from headrace.types import TopicPartition

_GROUP: Final = "group.id"


class SinkOffsets:
    """Of one connector, whose settings are without references."""

    def __init__(self, name: str, worker: Mapping[str, str], config: Mapping[str, str]) -> None:
        self._name = name
        properties = properties_of("consumer", worker, config)
        self._group = properties.get(_GROUP, f"connect-{name}")
        self._client: ClientSettings = connection_of(
            properties_of("admin", worker, config), f"connector-adminclient-{name}"
        )

    def all(self) -> list[tuple[dict[str, object], dict[str, object]]]:
        """What the group has committed."""
        with Admin(self._client) as admin:
            found = committed_offsets(admin.cluster, self._group, require_stable=False)
        return [
            ({TOPIC: place.topic, PARTITION: place.partition}, {OFFSET: each[0]})
            for place, each in sorted(found.items())
        ]

    def alter(self, offsets: Mapping[tuple[str, int], int | None]) -> None:
        """Commit these for the group; None: forget what it has committed."""
        places = {TopicPartition(*place): offset for place, offset in offsets.items()}
        moved = {place: (at, "") for place, at in places.items() if at is not None}
        forgotten = [place for place, at in places.items() if at is None]
        with Admin(self._client) as admin:
            try:
                commit_offsets(admin.cluster, self._group, moved)
                failed = delete_offsets(admin, self._group, forgotten) if forgotten else {}
            except (BrokerRefused, Refused) as fault:
                if fault.error is Error.GROUP_ID_NOT_FOUND:
                    return
                raise self._refused("alter", fault.error, str(fault)) from fault
        for place, error in failed.items():
            if error is not None:
                raise self._refused("alter", error.error, f"{place}: {error.message}")

    def reset(self) -> None:
        """Forget everything that the group has committed."""
        with Admin(self._client) as admin:
            fault = delete_group(admin, self._group)
        if fault is not None and fault.error is not Error.GROUP_ID_NOT_FOUND:
            raise self._refused("reset", fault.error, fault.message)

    def _refused(self, doing: str, error: Error, message: str) -> ConnectException:
        if error in (Error.UNKNOWN_MEMBER_ID, Error.NON_EMPTY_GROUP):
            return BadRequestException(
                f"Failed to {doing} consumer group offsets for connector {self._name} either "
                "because its tasks haven't stopped completely yet or the connector was resumed "
                f"before the request to {doing} its offsets could be successfully completed. If "
                "the connector is in a stopped state, this operation can be safely retried. If it "
                "doesn't eventually succeed, the Connect cluster may need to be restarted to get "
                "rid of the zombie sink tasks."
            )
        return ConnectException(
            f"Failed to {doing} consumer group offsets for connector {self._name}: "
            f"{message or error.name}"
        )
