"""`kafka-groups`: the groups of every kind, with their type and protocol."""

from __future__ import annotations

from typing import Final

from headrace.admin.client import Admin
from headrace.admin.groups import (
    CONSUMER,
    CONSUMER_PROTOCOL,
    GroupListing,
    list_groups,
)
from headrace.admin.share_groups import SHARE
from headrace.cli.kafka_compat.administering import CONNECTING, Told, refuse_together
from headrace.cli.kafka_compat.columns import Column, lines_of
from headrace.cli.kafka_compat.flags import Given, flags
from headrace.cli.kafka_compat.superseded import OF_THE_PAST, servers_of
from headrace.cli.kafka_compat.tool import Tool, Work, on_cluster, printed

TYPES: Final = ("Classic", CONSUMER, SHARE, "Streams")
_KINDS: Final = ("--consumer", "--share", "--streams")
_EXCLUDED: Final = ("--group-type", "--protocol")


def _plan(given: Given) -> Work:
    servers = servers_of(given, "Missing required option(s) [bootstrap-server]")
    _check(given)
    return on_cluster(given, servers, _show)


def _check(given: Given) -> None:
    if not given.has("--list"):
        raise Told("Command must include exactly one action: --list.")
    if given.has("--group-type") and _type(given) is None:
        raise Told("--group-type must be a valid group type.")
    for flag in _KINDS:
        refuse_together(given, flag, *_EXCLUDED, *(other for other in _KINDS if other != flag))


def _type(given: Given) -> str | None:
    text = given.text("--group-type")
    return next((each for each in TYPES if text and each.lower() == text.lower()), None)


def _is_wanted(group: GroupListing, given: Given) -> bool:
    protocol = given.text("--protocol")
    if (kind := _type(given)) is not None:
        return group.type == kind and protocol in (None, group.protocol)
    if protocol is not None:
        return group.protocol == protocol
    if given.has("--consumer"):
        return group.protocol in ("", CONSUMER_PROTOCOL) or group.type == CONSUMER
    if given.has("--share"):
        return group.type == SHARE
    return not given.has("--streams") or group.type == "Streams"


def _show(admin: Admin, given: Given) -> None:
    groups = [each for each in list_groups(admin) if _is_wanted(each, given)]
    cells = [[each.group for each in groups], [each.type for each in groups]]
    cells.append([each.protocol for each in groups])
    width = max(20, *(len(text) for texts in cells for text in texts), 0)
    heads = ("GROUP", "TYPE", "PROTOCOL")
    head, *rows = lines_of(*(Column(*each, width) for each in zip(heads, cells, strict=True)))
    print("\n".join([head, *(f"{line} " for line in rows)]))


run: Final = Tool(
    "kafka-groups",
    flags(CONNECTING, OF_THE_PAST, "--list --group-type= --protocol= --consumer --share --streams"),
    "--bootstrap-server localhost:9092 --list",
    _plan,
    failed=printed("Error while executing groups command : {}"),
)
