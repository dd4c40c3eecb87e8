"""`kafka-leader-election`: let partitions choose their preferred, or any, replica as leader."""

from __future__ import annotations

from typing import Final

from headrace.admin.client import PREFERRED, UNCLEAN, Admin
from headrace.admin.faults import Fault
from headrace.cli.kafka_compat.administering import CONNECTING, Told, as_whole_number, complain
from headrace.cli.kafka_compat.flags import Given, flags
from headrace.cli.kafka_compat.java_errors import java_name
from headrace.cli.kafka_compat.tool import Tool, Work, on_cluster
from headrace.cli.replica_plans import BadPlan, parse_partitions
from headrace.cli.small_files import read_text
from headrace.errors import Error
from headrace.types import TopicPartition

_TYPES: Final = {"PREFERRED": PREFERRED, "UNCLEAN": UNCLEAN}
_CHOICES: Final = ("--topic", "--all-topic-partitions", "--path-to-json-file")


def _plan(given: Given) -> Work:
    _check(given)
    kind = given.needed("--election-type").upper()
    if kind not in _TYPES:
        raise Told(f"{kind} is not a type of election: use preferred or unclean")
    wanted = _partitions(given)

    def elect(admin: Admin, _given: Given) -> int:
        return _tell(kind, admin.elect(_TYPES[kind], wanted))

    config = given.text("--command-config", "--admin.config")
    return on_cluster(given, given.needed("--bootstrap-server"), elect, config)


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
        return parse_partitions(read_text(path, failure=BadPlan))
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


run: Final = Tool(
    "kafka-leader-election",
    flags(
        CONNECTING,
        "--admin.config= --election-type= --all-topic-partitions --topic= --partition= "
        "--path-to-json-file=",
    ),
    "--bootstrap-server localhost:9092 --election-type preferred --all-topic-partitions",
    _plan,
)
