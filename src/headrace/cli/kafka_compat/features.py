"""`kafka-features`: the features of a cluster, the levels they have, and how these change."""

from __future__ import annotations

from typing import Final, NamedTuple

from headrace.admin.client import Admin
from headrace.admin.faults import Refused
from headrace.cli.kafka_compat.administering import CONNECTING, Told, as_whole_number, complain
from headrace.cli.kafka_compat.arguments import read_command
from headrace.cli.kafka_compat.flags import Given, flags
from headrace.cli.kafka_compat.release_report import (
    feature_dependencies,
    parse_level,
    version_mapping,
)
from headrace.cli.kafka_compat.releases import (
    METADATA_VERSION,
    features_of,
    known_versions,
    level_of,
    name_of,
)
from headrace.cli.kafka_compat.tool import Tool, Work, on_cluster
from headrace.errors import Error

_UPGRADE: Final = 1
_SAFE_DOWNGRADE: Final = 2
_UNSAFE_DOWNGRADE: Final = 3


class Update(NamedTuple):
    """What shall happen to features: the level of each, and how it is told."""

    verb: str
    kind: int
    levels: dict[str, int]
    is_dry: bool


def _plan(given: Given) -> Work:
    command = given.command
    if command == "version-mapping":
        return lambda: _print(version_mapping(given.text("--release-version")))
    if command == "feature-dependencies":
        return lambda: _print(feature_dependencies(given.all("--feature")))
    if given.has("--bootstrap-controller"):
        raise Told("this cluster has no controllers of its own; give --bootstrap-server")
    servers = given.text("--bootstrap-server")
    if servers is None:
        raise Told(
            "kafka-features: error: one of the arguments --bootstrap-server "
            "--bootstrap-controller is required"
        )
    if command == "describe":
        return on_cluster(given, servers, lambda admin, given: _print(_describe(admin, given)))
    update = _update(command, given)
    return on_cluster(given, servers, lambda admin, _given: _apply(admin, update))


def _print(lines: list[str]) -> None:
    for line in lines:
        print(line)


def _describe(admin: Admin, given: Given) -> list[str]:
    from headrace.wire.messages.api_versions import ApiVersionsRequest

    node = as_whole_number(given, "--node-id")
    if node is not None and node < 0:
        raise Told(f"Invalid node id {node}: must be non-negative.")
    connection = admin.cluster.any_broker() if node is None else admin.connection(node)
    answer = connection.call(
        ApiVersionsRequest(
            client_software_name="headrace", client_software_version="kafka-features"
        )
    )
    finalized = {each.name: each.max_version_level for each in answer.finalized_features}
    epoch = answer.finalized_features_epoch
    return [
        f"Feature: {each.name:<40}  SupportedMinVersion: {_level(each.name, each.min_version):<15}"
        f"  SupportedMaxVersion: {_level(each.name, each.max_version):<15}"
        f"  FinalizedVersionLevel: {_level(each.name, finalized.get(each.name, 0)):<15}"
        f"  Epoch: {epoch if epoch >= 0 else '-'}"
        for each in sorted(answer.supported_features, key=lambda each: str(each.name))
    ]


def _level(feature: str, level: int) -> str:
    if feature != METADATA_VERSION:
        return str(level)
    return name_of(level) or f"UNKNOWN {level}"


def _update(command: str, given: Given) -> Update:
    kind = _UPGRADE
    if command != "upgrade":
        kind = _UNSAFE_DOWNGRADE if given.has("--unsafe") else _SAFE_DOWNGRADE
    levels: dict[str, int] = {}
    if release := given.text("--release-version"):
        if given.has("--metadata") or given.has("--feature"):
            raise Told("Can not specify `release-version` with other feature flags.")
        level = _release(release)
        levels = {METADATA_VERSION: level, **features_of(level)}
    if metadata := given.text("--metadata"):
        complain(" `metadata` flag is deprecated and may be removed in a future release.")
        levels[METADATA_VERSION] = _release(metadata)
    for text in given.all("--feature"):
        name, level = (text, 0) if command == "disable" else parse_level(text)
        if name in levels:
            raise Told(f"Feature {name} was specified more than once.")
        levels[name] = level
    if not levels:
        raise Told(f"You must specify at least one feature to {command}")
    return Update(command, kind, levels, given.has("--dry-run"))


def _release(name: str) -> int:
    level = level_of(name)
    if level is None:
        raise Told(
            f"Unknown metadata.version {name}. Supported metadata.version are {known_versions()}"
        )
    return level


def _apply(admin: Admin, update: Update) -> None:
    from headrace.wire.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest

    is_old = admin.cluster.any_broker().newest(UpdateFeaturesRequest) == 0
    if is_old and update.is_dry:
        raise Told("the brokers cannot try out a change of features; leave out --dry-run")
    request = UpdateFeaturesRequest(
        feature_updates=[
            FeatureUpdateKey(
                feature=name,
                max_version_level=level,
                allow_downgrade=is_old and update.kind != _UPGRADE,
                upgrade_type=_UPGRADE if is_old else update.kind,
            )
            for name, level in update.levels.items()
        ],
        validate_only=update.is_dry,
    )
    answer = admin.ask(request)
    faults = {each.feature: Refused(each.error_code, each.error_message) for each in answer.results}
    faults = {name: fault for name, fault in faults.items() if fault.error is not Error.NONE}
    if answer.error_code != Error.NONE and not faults:
        # All of them or none: an error for the whole is that of each.
        refused = Refused(answer.error_code, answer.error_message)
        faults = dict.fromkeys(update.levels, refused)
    for name, level in sorted(update.levels.items()):
        print(_told(update, name, level, faults.get(name)))
    if faults:
        raise Told(f"{len(faults)} out of {len(update.levels)} operation(s) failed.")


def _told(update: Update, name: str, level: int, fault: Refused | None) -> str:
    if fault is not None:
        begin = "Can not" if update.is_dry else "Could not"
        what = f"disable {name}" if update.verb == "disable" else f"{update.verb} {name} to {level}"
        return f"{begin} {what}. {fault}"
    done = "disabled." if update.verb == "disable" else f"{update.verb}d to {level}."
    return f"{name} {'can be' if update.is_dry else 'was'} {done}"


_CHANGING: Final = ("--metadata", "--release-version", "--feature", "--dry-run")
run: Final = Tool(
    "kafka-features",
    flags(
        CONNECTING,
        "--bootstrap-controller= --node-id= --metadata= --release-version= --feature= --unsafe "
        "--dry-run",
    ),
    "--bootstrap-server localhost:9092 describe",
    _plan,
    read=read_command,
    commands={
        "describe": ("--node-id",),
        "upgrade": _CHANGING,
        "downgrade": (*_CHANGING, "--unsafe"),
        "disable": ("--feature", "--unsafe", "--dry-run"),
        "version-mapping": ("--release-version",),
        "feature-dependencies": ("--feature",),
    },
    short={"-h": "--help"},
)
