"""`kafka-leader-election`: let partitions choose their preferred, or any, replica as leader."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from headrace.cli.administration.client import PREFERRED, UNCLEAN, Fault
from headrace.cli.administration.plans import BadPlan, parse_partitions
from headrace.cli.kafka_compat.administering import (
    CONNECTING,
    Told,
    as_whole_number,
    bare,
    complain,
    open_admin,
    read_flags,
)
from headrace.cli.kafka_compat.flags import Given, Takes
from headrace.cli.kafka_compat.java_errors import java_name
from headrace.errors import Error, HeadraceError
from headrace.types import TopicPartition

FLAGS: Final = {
    **CONNECTING,
    "--admin.config": Takes.VALUE,
    "--election-type": Takes.VALUE,
    "--all-topic-partitions": Takes.NOTHING,
    "--topic": Takes.VALUE,
    "--partition": Takes.VALUE,
    "--path-to-json-file": Takes.VALUE,
}
_EXAMPLE: Final = (
    "kafka-leader-election --bootstrap-server localhost:9092 --election-type preferred "
    "--all-topic-partitions"
)
_TYPES: Final = {"PREFERRED": PREFERRED, "UNCLEAN": UNCLEAN}
_CHOICES: Final = ("--topic", "--all-topic-partitions", "--path-to-json-file")


def run(words: list[str]) -> int:
    try:
        given = read_flags("kafka-leader-election", words, FLAGS, _EXAMPLE)
        if given is None:
            return 0
        _check(given)
        kind = given.needed("--election-type").upper()
        if kind not in _TYPES:
            raise Told(f"{kind} is not a type of election: use preferred or unclean")
        wanted = _partitions(given)
        config = given.text("--command-config", "--admin.config")
        with open_admin(given.needed("--bootstrap-server"), config) as admin:
            outcome = admin.elect(_TYPES[kind], wanted)
    except HeadraceError as error:
        return complain(bare(error))
    return _tell(kind, outcome)


def _check(given: Given) -> None:
    missing = [
        flag[2:] for flag in ("--bootstrap-server", "--election-type") if not given.has(flag)
    ]
    if missing:
        raise Told(f"Missing required option(s): {', '.join(missing)}")
    if sum(map(given.has, _CHOICES)) != 1:
        names = ", ".join(flag[2:] for flag in _CHOICES)
        raise Told(f"One and only one of the following options is required: {names}")
    if given.has("--topic") and not given.has("--partition"):
        raise Told("Missing required option(s): partition")
    if given.has("--partition") and not given.has("--topic"):
        raise Told("Option partition is only allowed if topic is used")


def _partitions(given: Given) -> list[TopicPartition] | None:
    """Those that were named; None means all."""
    if topic := given.text("--topic"):
        return [TopicPartition(topic, as_whole_number(given, "--partition") or 0)]
    if path := given.text("--path-to-json-file"):
        try:
            return parse_partitions(Path(path).read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError) as error:
            raise BadPlan(f"{path} cannot be read ({error})") from None
    return None


def _tell(kind: str, outcome: dict[TopicPartition, Fault | None]) -> int:
    elected = sorted(where for where, fault in outcome.items() if fault is None)
    faults = {where: fault for where, fault in outcome.items() if fault is not None}
    needless = sorted(
        where for where, fault in faults.items() if fault.error is Error.ELECTION_NOT_NEEDED
    )
    if elected:
        listed = ", ".join(map(str, elected))
        print(f"Successfully completed leader election ({kind}) for partitions {listed}")
    if needless:
        print(f"Valid replica already elected for partitions {', '.join(map(str, needless))}")
    failed = sorted(faults.keys() - set(needless))
    for where in failed:
        error, message = faults[where]
        print(
            f"Error completing leader election ({kind}) for partition: {where}: "
            f"{java_name(error)}: {message}"
        )
    return complain(f"{len(failed)} replica(s) could not be elected") if failed else 0
