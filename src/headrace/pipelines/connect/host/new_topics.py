"""Topics that a source's connector creates, as its `topic.creation.*` say."""

from __future__ import annotations

from collections.abc import Mapping

from headrace.admin.client import Admin
from headrace.admin.faults import Refused
from headrace.client.settings import ClientSettings
from headrace.errors import Error
from headrace.pipelines.connect.config.topic_creation import group_of, topic_groups
from headrace.pipelines.connect.faults import ConnectException


class TopicCreation:
    """Of one connector; `client` is how its `admin` reaches the cluster."""

    def __init__(self, settings: Mapping[str, str], client: ClientSettings) -> None:
        self._groups = topic_groups(settings)
        self._client = client

    def create(self, topic: str) -> bool:
        """Create a topic that is missing; false if no group of the settings is meant for it."""
        group = group_of(self._groups, topic)
        if group is None:
            return False
        try:
            with Admin(self._client) as admin:
                admin.create(topic, group.partitions, group.replication_factor, {}, group.settings)
        except Refused as fault:
            if fault.error is not Error.TOPIC_ALREADY_EXISTS:
                raise ConnectException(
                    f"the topic {topic} cannot be created as topic.creation.{group.name}.* say: "
                    f"{fault}"
                ) from fault
        return True
