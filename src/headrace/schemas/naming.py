"""Which subject the schema of a record is registered under.

The strategies are Confluent's, named by their Java class, its last word, or the word that the REST
API uses. The module refuses to know where a record's name comes from.
"""

from __future__ import annotations

from typing import Final

from headrace.errors import ConfigError
from headrace.schemas.model import InvalidSchema

TOPIC_NAME: Final = "TopicNameStrategy"
RECORD_NAME: Final = "RecordNameStrategy"
TOPIC_RECORD_NAME: Final = "TopicRecordNameStrategy"

JAVA_PACKAGE: Final = "io.confluent.kafka.serializers.subject."

_STRATEGIES: Final = {
    spelling: strategy
    for strategy, api_name in (
        (TOPIC_NAME, "TOPIC_NAME"),
        (RECORD_NAME, "RECORD_NAME"),
        (TOPIC_RECORD_NAME, "TOPIC_RECORD_NAME"),
    )
    for spelling in (strategy, JAVA_PACKAGE + strategy, api_name)
}


def subject_name(strategy: str, topic: str, is_key: bool, record_name: str | None) -> str:
    """The subject for a record of `topic`; `record_name` is the full name in its schema."""
    known = _STRATEGIES.get(strategy)
    if known is None:
        raise ConfigError(
            f"Unknown subject name strategy {strategy!r}: "
            f"{TOPIC_NAME}, {RECORD_NAME} or {TOPIC_RECORD_NAME} is expected"
        )
    if known == TOPIC_NAME:
        return f"{topic}-key" if is_key else f"{topic}-value"
    if not record_name:
        part = "key" if is_key else "value"
        raise InvalidSchema(
            f"With {known} the {part} must have a record schema with a name; "
            f"use {TOPIC_NAME} for other schemas"
        )
    return record_name if known == RECORD_NAME else f"{topic}-{record_name}"
