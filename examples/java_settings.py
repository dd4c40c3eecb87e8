"""Settings as Java's clients take them, for librdkafka, which refuses what it does not know.

The Java clients warn of a setting that they do not know and go on; so do these. Serializers and
serdes are classes of Java: here text is encoded where it is made.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

from confluent_kafka import KafkaException

LOGGER = logging.getLogger(__name__)
Client = TypeVar("Client")
_UNKNOWN: Final = re.compile(r'No such configuration property: "(?P<key>[^"]+)"')
_CLASSES: Final = ("serializer", "deserializer", "serde")


def open_client(kind: Callable[[dict[str, Any]], Client], settings: Mapping[str, Any]) -> Client:
    """A client with what it knows of these settings; the rest is said and left out."""
    known = {key: value for key, value in settings.items() if not key.endswith(_CLASSES)}
    while True:
        try:
            return kind(known)
        except KafkaException as fault:
            unknown = _UNKNOWN.search(fault.args[0].str())
            if unknown is None:
                raise
            LOGGER.warning("the client does not know %s; it is left out", unknown["key"])
            del known[unknown["key"]]
