"""Settings of Kafka's own quorum, read so that a Kafka 4 server.properties works as it is.

There is no quorum here: the cluster's state is in the coordination tree. `process.roles` and its
companions are accepted and have no effect.
"""

from __future__ import annotations

from typing import Final

from headrace.cluster.config_types import (
    HIGH,
    LIST,
    STRING,
    ConfigKey,
    list_of,
)

KRAFT_KEYS: Final = (
    ConfigKey(
        "controller.listener.names",
        LIST,
        None,
        "Listeners of Kafka's controllers. Such listeners are not opened.",
        importance=HIGH,
    ),
    ConfigKey(
        "controller.quorum.bootstrap.servers",
        LIST,
        "",
        "Controllers of a Kafka quorum. It has no effect here.",
        importance=HIGH,
    ),
    ConfigKey(
        "controller.quorum.voters",
        LIST,
        "",
        "Voters of a Kafka quorum. It has no effect here.",
        importance=HIGH,
    ),
    ConfigKey(
        "metadata.log.dir",
        STRING,
        None,
        "Folder of Kafka's metadata log. It has no effect here.",
        importance=HIGH,
    ),
    ConfigKey(
        "process.roles",
        LIST,
        None,
        "Roles of a Kafka process. Every broker here can be the controller; it has no effect.",
        list_of("broker", "controller"),
        HIGH,
    ),
)
