"""The share consumer of librdkafka as the tools use it (KIP-932)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.cli.failures import Failure
from headrace.cli.reach import reach

if TYPE_CHECKING:
    from headrace.cli.target import Target


def open_share_consumer(target: Target, settings: dict[str, Any]) -> Any:
    """A member of a share group, once a broker answers."""
    import confluent_kafka

    if not hasattr(confluent_kafka, "ShareConsumer"):
        raise Failure(
            f"confluent-kafka {confluent_kafka.version()} has no share consumer",
            "install version 2.16 or newer",
        )
    reach(target)
    quiet = {"bootstrap.servers": target.servers, "log_level": 0}
    try:
        return confluent_kafka.ShareConsumer({**quiet, **settings, **target.properties})
    except confluent_kafka.KafkaException as error:
        raise Failure(f"the client rejects its settings: {error.args[0].str()}") from None
