"""`kafka-storage`: ids for clusters, and folders that belong to one before its broker has started.

A broker here takes an empty folder by itself. `format` is for whoever wants to choose the cluster's
id: it writes `meta.properties`, and the broker that is then started with the same file makes that
id its own. There is no metadata log to format, so what only concerns a quorum of controllers is
taken and told to have no meaning; passwords cannot be put into a log that is not there.
"""

from __future__ import annotations

import sys
import uuid
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from headrace.cli.kafka_compat.administering import FAILED, Told
from headrace.cli.kafka_compat.arguments import read_command
from headrace.cli.kafka_compat.flags import Given, flags
from headrace.cli.kafka_compat.release_report import (
    feature_dependencies,
    parse_level,
    version_mapping,
)
from headrace.cli.kafka_compat.releases import METADATA_VERSION, NEWEST, highest, level_of, name_of
from headrace.cli.kafka_compat.tool import Tool, Work
from headrace.cli.small_files import read_properties
from headrace.errors import HeadraceError
from headrace.types import uuid_to_text

if TYPE_CHECKING:
    from headrace.log.meta_properties import MetaProperties

_OF_A_QUORUM: Final = ("--standalone", "--no-initial-controllers", "--initial-controllers")
_LEGACY: Final = (
    "The kafka configuration file appears to be for a legacy cluster. Formatting is only supported "
    "for clusters in KRaft mode."
)


def _plan(given: Given) -> Work:
    return lambda: _WORK[given.command](given)


def _version_mapping(given: Given) -> None:
    print("\n".join(version_mapping(given.text("--release-version"))))


def _feature_dependencies(given: Given) -> None:
    if not given.has("--feature"):
        raise Told("kafka-storage: error: argument --feature/-f is required")
    print("\n".join(feature_dependencies(given.all("--feature"))))


def random_id() -> str:
    """An id that no command line takes for a flag."""
    while (text := uuid_to_text(uuid.uuid4())).startswith("-"):
        pass
    return text


def _settings(given: Given) -> Mapping[str, str]:
    path = given.text("--config")
    if not path:
        raise Told("kafka-storage: error: argument --config/-c is required")
    return read_properties(path)


def _folders(settings: Mapping[str, str]) -> list[str]:
    from headrace.cluster.broker_config import BrokerConfig

    folders = set(BrokerConfig(settings).log_dirs)
    if metadata := settings.get("metadata.log.dir"):
        folders.add(metadata)
    return sorted(folders)


# -- info -----------------------------------------------------------------------------------------


def _info(given: Given) -> int:
    folders = _folders(_settings(given))
    problems: list[str] = []
    found: list[str] = []
    first: MetaProperties | None = None
    for folder in folders:
        if not Path(folder).is_dir():
            there = Path(folder).exists()
            problems.append(f"{folder} {'is not a directory' if there else 'does not exist'}")
            continue
        found.append(folder)
        owner = _owner(folder, problems)
        if owner is not None and first is not None:
            if owner.cluster_id != first.cluster_id:
                problems.append("Mismatched cluster IDs between storage directories.")
            elif owner.node_id != first.node_id:
                problems.append("Mismatched node IDs between storage directories.")
        first = first or owner
    if found:
        _listed("Found log directory:", "Found log directories:", found)
    if first is not None:
        print(f"Found metadata: {_as_java_map(first)}\n")
    if problems:
        _listed("Found problem:", "Found problems:", problems)
        return FAILED
    return 0


def _owner(folder: str, problems: list[str]) -> MetaProperties | None:
    from headrace.log import meta_properties
    from headrace.runtime.os_disk import OsDisk

    try:
        owner = meta_properties.read(OsDisk(), folder)
    except HeadraceError as error:
        problems.append(f"Error loading {folder}/{meta_properties.FILE_NAME}: {error}")
        return None
    if owner is None:
        problems.append(f"{folder} is not formatted.")
    return owner


def _listed(one: str, many: str, lines: Sequence[str]) -> None:
    print(one if len(lines) == 1 else many)
    for line in lines:
        print(f"  {line}")
    print()


def _as_java_map(owner: MetaProperties) -> str:
    values = {
        "cluster.id": owner.cluster_id,
        "directory.id": None if owner.directory_id is None else uuid_to_text(owner.directory_id),
        "node.id": owner.node_id,
        "version": 1,
    }
    shown = ", ".join(f"{key}={value}" for key, value in values.items() if value is not None)
    return f"{{{shown}}}"


# -- format ---------------------------------------------------------------------------------------


def _format(given: Given) -> None:
    from headrace.cluster.broker_config import BrokerConfig
    from headrace.log import meta_properties
    from headrace.runtime.os_disk import OsDisk

    settings = _settings(given)
    cluster_id = given.text("--cluster-id")
    if not cluster_id:
        raise Told("kafka-storage: error: argument --cluster-id/-t is required")
    release = _check_format(given)
    config = BrokerConfig(settings)
    if config.get("zookeeper.connect"):
        raise Told(_LEGACY)
    if config.broker_id < 0:
        raise Told("You must specify a valid non-negative node ID.")
    disk = OsDisk()
    empty = []
    for folder in _folders(settings):
        if meta_properties.read(disk, folder) is None:
            empty.append(folder)
        elif not given.has("--ignore-formatted"):
            raise Told(
                f"Log directory {folder} is already formatted. Use --ignore-formatted to ignore "
                "this directory and format the others."
            )
    if not empty:
        print("All of the log directories are already formatted.")
    for folder in empty:
        print(f"Formatting data directory {folder} with {METADATA_VERSION} {release}.")
        disk.make_folder(folder)
        meta_properties.settle(
            disk, folder, cluster_id=cluster_id, node_id=config.broker_id, uuid_factory=uuid.uuid4
        )


def _check_format(given: Given) -> str:
    """The release to format for, once what has no meaning here was told."""
    if given.has("--add-scram"):
        raise Told(
            "--add-scram cannot be done: there is no metadata log to keep credentials in, and the "
            "broker does not serve SCRAM yet"
        )
    for flag in _OF_A_QUORUM:
        if given.has(flag):
            print(
                f"headrace: {flag} has no meaning here: the cluster's state is kept in SQLite or "
                "ZooKeeper, not by a quorum of controllers",
                file=sys.stderr,
            )
    for text in given.all("--feature"):
        name, level = parse_level(text)
        top = highest(name)
        if top is None:
            raise Told(f"Unsupported feature: {name}")
        print(
            f"headrace: --feature {name}={level} is not kept: change it with kafka-features when "
            "the broker runs",
            file=sys.stderr,
        )
    release = given.text("--release-version")
    level_wanted = NEWEST if release is None else level_of(release)
    if level_wanted is None:
        raise Told(f"Unknown release version '{release}'")
    return name_of(level_wanted) or ""


_WORK: Final[Mapping[str, Callable[[Given], int | None]]] = {
    "info": _info,
    "format": _format,
    "version-mapping": _version_mapping,
    "feature-dependencies": _feature_dependencies,
    "random-uuid": lambda _given: print(random_id()),
}
_FLAGS: Final = flags(
    "--config= --cluster-id= --add-scram= --ignore-formatted --release-version= --feature= "
    "--standalone --no-initial-controllers --initial-controllers="
)
run: Final = Tool(
    "kafka-storage",
    _FLAGS,
    "format -t $(kafka-storage random-uuid) -c server.properties",
    _plan,
    read=read_command,
    commands={
        "info": ("--config",),
        "format": tuple(_FLAGS),
        "version-mapping": ("--release-version",),
        "feature-dependencies": ("--feature",),
        "random-uuid": (),
    },
    short={
        **dict(zip(("-c", "-t", "-S", "-g", "-r", "-f", "-s", "-N", "-I"), _FLAGS, strict=True)),
        "-h": "--help",
    },
)
