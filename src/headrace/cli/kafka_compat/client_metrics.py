"""`kafka-client-metrics`: which metrics clients shall push to the brokers (KIP-714)."""

from __future__ import annotations

import uuid
from typing import Final

from headrace.admin.client import Admin, Changes
from headrace.admin.settings import Resource, list_resources, read_settings
from headrace.cli.kafka_compat.administering import CONNECTING, Told, refuse_together
from headrace.cli.kafka_compat.flags import Given, flags
from headrace.cli.kafka_compat.tool import Tool, Work, on_cluster, printed
from headrace.types import uuid_to_text

_SETTINGS: Final = {"--interval": "interval.ms", "--metrics": "metrics", "--match": "match"}
_OF_ALTER: Final = ("--generate-name", *_SETTINGS)


def _plan(given: Given) -> Work:
    action = _checked(given)
    return on_cluster(given, given.needed("--bootstrap-server"), _WORK[action])


def _checked(given: Given) -> str:
    actions = [flag for flag in _WORK if given.has(flag)]
    if len(actions) != 1:
        raise Told(
            "Command must include exactly one action: --alter, --delete, --describe or --list."
        )
    if not given.has("--bootstrap-server"):
        raise Told("--bootstrap-server must be specified.")
    refuse_together(given, "--delete", *_OF_ALTER)
    refuse_together(given, "--describe", *_OF_ALTER)
    refuse_together(given, "--list", "--name", *_OF_ALTER)
    if given.has("--alter"):
        if given.has("--name") == given.has("--generate-name"):
            raise Told("One of --name or --generate-name must be specified with --alter.")
        interval = given.text("--interval")
        if interval and not interval.removeprefix("-").isdecimal():
            raise Told("Invalid interval value. Enter an integer, or leave empty to reset.")
    if given.has("--delete") and not given.has("--name"):
        raise Told("A client metrics resource name must be specified with --delete.")
    return actions[0]


def _alter(admin: Admin, given: Given) -> None:
    name = given.text("--name") or uuid_to_text(uuid.uuid4())
    # An empty value returns the setting to its default.
    values = {key: given.text(flag) or None for flag, key in _SETTINGS.items() if given.has(flag)}
    admin.alter_settings([Changes(Resource.CLIENT_METRICS, name, values)])
    print(f"Altered client metrics config for {name}.")


def _delete(admin: Admin, given: Given) -> None:
    name = given.needed("--name")
    there = [each.name for each in read_settings(admin, Resource.CLIENT_METRICS, name)]
    admin.alter_settings([Changes(Resource.CLIENT_METRICS, name, dict.fromkeys(there))])
    print(f"Deleted client metrics config for {name}.")


def _describe(admin: Admin, given: Given) -> None:
    names = list_resources(admin, Resource.CLIENT_METRICS)
    wanted = given.text("--name")
    if wanted is not None and wanted not in names:
        print(f"The client metric resource {wanted} doesn't exist and doesn't have dynamic config.")
        return
    for name in names if wanted is None else [wanted]:
        print(f"Client metrics configs for {name} are:")
        for each in read_settings(admin, Resource.CLIENT_METRICS, name):
            print(f"  {each.name}={each.value}")


def _list(admin: Admin, given: Given) -> None:
    print("\n".join(list_resources(admin, Resource.CLIENT_METRICS)))


_WORK: Final = {"--alter": _alter, "--delete": _delete, "--describe": _describe, "--list": _list}


run: Final = Tool(
    "kafka-client-metrics",
    flags(CONNECTING, *_WORK, "--name= --generate-name --interval= --match= --metrics="),
    "--bootstrap-server localhost:9092 --alter --name basic "
    "--metrics org.apache.kafka.producer. --interval 60000",
    _plan,
    failed=printed("Error while executing client metrics command : {}"),
)
