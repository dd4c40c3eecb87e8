"""Checks a server.properties: can a broker be built from it, and on what it would stand."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from headrace.cli.doctor.findings import Finding, fail, ok, warn
from headrace.cli.doctor.ports import examine_listeners
from headrace.cli.doctor.storage import examine_folder, examine_folders_together, read_owner
from headrace.cli.failures import did_you_mean
from headrace.cluster.broker_config import BrokerConfig
from headrace.cluster.config_keys import BROKER_KEYS
from headrace.errors import HeadraceError
from headrace.log.meta_properties import MetaProperties


def examine_config(path: Path) -> Iterator[Finding]:
    """The file itself, then its folders and ports."""
    subject = str(path)
    try:
        config = BrokerConfig.from_properties(path.read_text(encoding="utf-8"))
        listeners, advertised = config.listeners, config.advertised_listeners
    except (OSError, UnicodeDecodeError) as error:
        yield fail(subject, f"it cannot be read ({error})", "give the path of a server.properties")
        return
    except HeadraceError as error:
        yield fail(subject, str(error), "correct the value")
        return
    yield ok(subject, "every value can be used")
    for name in config.unknown_keys:
        guess = did_you_mean(name, BROKER_KEYS)
        yield warn(subject, f"{name} is not known and does nothing", guess or "remove it")
    node_id = config.broker_id if config.broker_id >= 0 else None
    folders = [Path(folder) for folder in config.log_dirs]
    for folder in folders:
        yield from examine_folder(folder, node_id)
    yield from examine_folders_together(_owners(folders))
    yield from examine_listeners(listeners, advertised)


def _owners(folders: list[Path]) -> list[tuple[str, MetaProperties]]:
    owners = []
    for folder in folders:
        try:
            owner = read_owner(folder)
        except (HeadraceError, OSError):
            continue  # Told by `examine_folder` already.
        if owner is not None:
            owners.append((str(folder), owner))
    return owners
