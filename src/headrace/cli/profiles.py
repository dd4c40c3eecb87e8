"""Named clusters: where they are and how a client gets in, kept in one file of the user's.

A profile holds settings by Kafka's names. Those of the brokers are for its `bootstrap.servers`
alone, and those of the registry for its `schema.registry.url`: whoever names another address on the
command line does not send it a password that was meant for this one. The file is readable by its
owner only. Knows no terminal library, as commands without one look here too.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from headrace.cli.failures import Failure, WrongUsage, did_you_mean

VARIABLE: Final = "HEADRACE_PROFILE"
SERVERS: Final = "bootstrap.servers"
REGISTRY: Final = "schema.registry.url"
_REGISTRY_PREFIXES: Final = ("schema.registry.", "basic.auth.", "bearer.auth.")
_OTHERS_MAY: Final = 0o077


@dataclass(frozen=True, slots=True)
class Profile:
    """One cluster."""

    name: str
    settings: Mapping[str, str]

    @property
    def servers(self) -> str | None:
        return self.settings.get(SERVERS)

    @property
    def registry(self) -> str | None:
        return self.settings.get(REGISTRY)


@dataclass(slots=True)
class Profiles:
    """All of them, and which one is used when none is named."""

    current: str | None = None
    by_name: dict[str, Profile] = field(default_factory=dict)

    def find(self, name: str) -> Profile:
        """The profile, or a failure with the names that look alike."""
        if name not in self.by_name:
            hint = did_you_mean(name, self.by_name) or f'make it: "headrace profile create {name}"'
            raise WrongUsage(f'there is no profile "{name}"', hint)
        return self.by_name[name]


def path() -> Path:
    """Where the file is, or would be."""
    home = os.environ.get("XDG_CONFIG_HOME") or "~/.config"
    return Path(home).expanduser() / "headrace" / "profiles.json"


def read() -> Profiles:
    """The profiles in the file; none if there is no file."""
    where = path()
    try:
        with where.open(encoding="utf-8") as file:
            if os.fstat(file.fileno()).st_mode & _OTHERS_MAY:
                raise Failure(f"others may read {where}", f"chmod 600 {where}")
            told = json.load(file)
        by_name = {
            str(name): Profile(str(name), {str(key): str(value) for key, value in each.items()})
            for name, each in told["profiles"].items()
        }
        return Profiles(told.get("current"), by_name)
    except FileNotFoundError:
        return Profiles()
    except OSError as error:
        raise Failure(f"{where} cannot be read ({error.strerror})", "see its permissions") from None
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise Failure(f"{where} is damaged ({error!r})", "correct or remove it") from None


def write(profiles: Profiles) -> None:
    """Replace the file as a whole: a crash leaves the old one or the new one."""
    import tempfile

    where = path()
    told = {
        "current": profiles.current,
        "profiles": {name: dict(each.settings) for name, each in profiles.by_name.items()},
    }
    try:
        where.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        # mkstemp makes it readable by its owner only, from its first byte on.
        handle, unfinished = tempfile.mkstemp(dir=where.parent, prefix=".profiles-")
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump(told, file, indent=2)
            file.write("\n")
        os.replace(unfinished, where)
    except OSError as error:
        raise Failure(f"{where} cannot be written ({error.strerror})", "see its folder") from None


# -- the one in force -----------------------------------------------------------------------------

_IN_FORCE: ContextVar[Profile | None] = ContextVar("profile", default=None)


def choose(named: str | None) -> Profile | None:
    """The one that was named, else that of the environment, else the current one."""
    wanted = named or os.environ.get(VARIABLE)
    if wanted:
        return read().find(wanted)
    if not path().exists():
        return None
    profiles = read()
    return profiles.find(profiles.current) if profiles.current else None


@contextmanager
def in_force(profile: Profile | None) -> Iterator[None]:
    """Let the commands inside the block use this profile."""
    token = _IN_FORCE.set(profile)
    try:
        yield
    finally:
        _IN_FORCE.reset(token)


def current_servers() -> str | None:
    """The brokers of the profile in force."""
    profile = _IN_FORCE.get()
    return None if profile is None else profile.servers


def is_of_registry(key: str) -> bool:
    """Whether a setting is for the client of a schema registry."""
    return key.startswith(_REGISTRY_PREFIXES)


def settings_for_servers(servers: str) -> dict[str, str]:
    """What the profile says of a client of these brokers; nothing if they are not its own."""
    profile = _IN_FORCE.get()
    if profile is None or profile.servers != servers:
        return {}
    return {
        key: value
        for key, value in profile.settings.items()
        if key != SERVERS and not is_of_registry(key)
    }


def settings_for_registry(url: str) -> dict[str, str]:
    """What the profile says of a client of this registry; nothing if it is not its own."""
    profile = _IN_FORCE.get()
    if profile is None or profile.registry != url:
        return {}
    return {
        key: value
        for key, value in profile.settings.items()
        if key != REGISTRY and is_of_registry(key)
    }
