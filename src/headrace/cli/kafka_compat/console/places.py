"""Where a console consumer reads: topics of a group, topics by an expression, or one partition."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from headrace.cli.failures import Failure
from headrace.cli.kafka import TIMEOUT_S, explained, read_metadata
from headrace.cli.kafka_compat.administering import Told, as_whole_number
from headrace.cli.kafka_compat.flags import Given

if TYPE_CHECKING:
    from confluent_kafka import Consumer

    from headrace.cli.target import Target

_LATEST: Final = -1
# Of expressions alone: who names an internal topic wants to read it.
HIDDEN_TOPICS: Final = "^__consumer_offsets$,^__transaction_state$,^__share_group_state$"
_OFFSETS: Final = {"earliest": -2, "latest": _LATEST}


class Place(NamedTuple):
    """A topic or an expression; a partition only with a topic."""

    topic: str | None
    include: str | None
    partition: int | None
    offset: int


def place_of(given: Given) -> Place:
    """What the flags say, or a refusal in Kafka's words."""
    topic, include = given.text("--topic"), _included(given)
    if (topic is None) == (include is None):
        raise Told('Exactly one of the following arguments is required: "[topic], [include]"')
    partition = as_whole_number(given, "--partition")
    beginning, wanted = given.has("--from-beginning"), given.text("--offset")
    if partition is None:
        if wanted is not None:
            raise Told("The partition is required when offset is specified.")
    elif topic is None:
        raise Told("The topic is required when partition is specified.")
    elif beginning and wanted is not None:
        raise Told("Options from-beginning and offset cannot be specified together.")
    wanted = (wanted or ("earliest" if beginning else "latest")).lower()
    if wanted not in _OFFSETS and not wanted.isdecimal():
        raise Told(
            f"The provided offset value '{given.text('--offset')}' is incorrect. Valid values are "
            "'earliest', 'latest', or a non-negative long."
        )
    offset = _OFFSETS[wanted] if wanted in _OFFSETS else int(wanted)
    return Place(topic, include, partition, offset)


def _included(given: Given) -> str | None:
    """The expression; the flag of the past took a list of them, too."""
    if (include := given.text("--include")) is not None:
        return include
    whitelist = given.text("--whitelist")
    return None if whitelist is None else whitelist.replace(",", "|")


def read_from(consumer: Consumer, target: Target, place: Place) -> None:
    """Let the consumer read there."""
    if place.partition is None:
        if place.topic is not None:
            consumer.subscribe([place.topic])
        else:
            # Java's expressions stand for whole names.
            consumer.subscribe([f"^({place.include})$"])
        return
    assert place.topic is not None
    _assign(consumer, target, place.topic, place.partition, place.offset)


def _assign(consumer: Consumer, target: Target, topic: str, partition: int, offset: int) -> None:
    from confluent_kafka import TopicPartition

    known = read_metadata(consumer, target).topics.get(topic)
    if known is not None and partition not in known.partitions:
        raise Failure(
            f'topic "{topic}" has no partition {partition}',
            f"it has 0 to {len(known.partitions) - 1}",
        )
    if known is not None and offset == _LATEST:
        # Asked now: "from now on" means from the start of the command, not of the fetching.
        with explained(target, f'topic "{topic}"'):
            place = TopicPartition(topic, partition)
            offset = consumer.get_watermark_offsets(place, timeout=TIMEOUT_S)[1]
    consumer.assign([TopicPartition(topic, partition, offset)])
