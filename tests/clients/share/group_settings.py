"""Settings of share groups, as an administrator gives them."""

from __future__ import annotations

from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._config import AlterConfigOpType, ConfigEntry, ConfigResource

PATIENCE_SECONDS = 20.0


def configure(bootstrap: str, group: str, **settings: str) -> None:
    """Settings of a group, with underscores for dots."""
    resource = ConfigResource(
        ConfigResource.Type.GROUP,
        group,
        incremental_configs=[
            ConfigEntry(name.replace("_", "."), value, incremental_operation=AlterConfigOpType.SET)
            for name, value in settings.items()
        ],
    )
    admin = AdminClient({"bootstrap.servers": bootstrap})
    for future in admin.incremental_alter_configs([resource]).values():
        future.result(PATIENCE_SECONDS)
