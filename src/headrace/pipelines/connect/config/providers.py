"""Values that stand elsewhere: `${file:/etc/secrets:password}`, `${env:HOME}` and the like.

A reference names a provider, a path and a key; one to a provider or key that does not exist stays
as it is written. Settings are kept and shown with their references; values come in when a task or
connector starts. Reading is the caller's: providers are given functions for files and variables.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from posixpath import normpath
from typing import Final, Protocol

from headrace.errors import ConfigError
from headrace.java.properties import parse_properties
from headrace.java.regex import compile_java
from headrace.pipelines.connect.config.patterns import a_pattern
from headrace.pipelines.connect.faults import ConfigException

_REFERENCE: Final = re.compile(r"\$\{([^}]*?):(?:([^}]*?):)?([^}]*?)\}")
_PARAMETERS: Final = "param."
_PACKAGE: Final = "org.apache.kafka.common.config.provider."


class Provider(Protocol):
    """Where values stand."""

    def get(self, path: str, keys: Iterable[str]) -> Mapping[str, str]:
        """The values of those keys that exist at a path."""


@dataclass(frozen=True, slots=True)
class Machine:
    """What providers read. Both functions raise OSError for what is not there."""

    read_file: Callable[[str], str]
    list_folder: Callable[[str], list[str]]
    """The names of the files in a folder, without folders."""
    variables: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class _Allowed:
    paths: tuple[str, ...]

    def __contains__(self, path: str) -> bool:
        if not self.paths:
            return True
        place = PurePosixPath(normpath(path))
        return any(place.is_relative_to(normpath(allowed)) for allowed in self.paths)


@dataclass(frozen=True, slots=True)
class FileProvider:
    """A path is a properties file."""

    machine: Machine
    allowed: _Allowed

    def get(self, path: str, keys: Iterable[str]) -> Mapping[str, str]:
        """The values of a file's keys; none of a file that may not be read."""
        if not path or path not in self.allowed:
            return {}
        try:
            known = parse_properties(self.machine.read_file(path))
        except (OSError, ConfigError) as fault:
            raise ConfigException(f"Could not read properties from file {path}: {fault}") from None
        return {key: known[key] for key in keys if key in known}


@dataclass(frozen=True, slots=True)
class DirectoryProvider:
    """A path is a folder; each of its files is a key, and its text the value."""

    machine: Machine
    allowed: _Allowed

    def get(self, path: str, keys: Iterable[str]) -> Mapping[str, str]:
        """The texts of a folder's files; none of a folder that may not be read."""
        if not path or path not in self.allowed:
            return {}
        try:
            known = self.machine.list_folder(path)
        except OSError:
            return {}
        wanted = [key for key in keys if key in known]
        try:
            return {key: self.machine.read_file(f"{path.rstrip('/')}/{key}") for key in wanted}
        except OSError as fault:
            raise ConfigException(f"Could not read a file of {path}: {fault}") from None


@dataclass(frozen=True, slots=True)
class EnvironmentProvider:
    """Keys are environment variables; there are no paths."""

    variables: Mapping[str, str]

    def get(self, path: str, keys: Iterable[str]) -> Mapping[str, str]:
        """The values of variables."""
        if path:
            raise ConfigException(
                f"Path is not supported for EnvVarConfigProvider, invalid value '{path}'"
            )
        return {key: self.variables[key] for key in keys if key in self.variables}


def _files(machine: Machine, parameters: Mapping[str, str]) -> Provider:
    return FileProvider(machine, _allowed(parameters))


def _directories(machine: Machine, parameters: Mapping[str, str]) -> Provider:
    return DirectoryProvider(machine, _allowed(parameters))


def _environment(machine: Machine, parameters: Mapping[str, str]) -> Provider:
    allowed = parameters.get("allowlist.pattern", ".*")
    a_pattern("allowlist.pattern", allowed)
    pattern = compile_java(allowed)
    return EnvironmentProvider(
        {name: value for name, value in machine.variables.items() if pattern.fullmatch(name)}
    )


def _allowed(parameters: Mapping[str, str]) -> _Allowed:
    listed = parameters.get("allowed.paths", "")
    paths = tuple(part.strip() for part in listed.split(",") if part.strip())
    for path in paths:
        if not path.startswith("/"):
            raise ConfigException.of("allowed.paths", listed, f"Path {path} is not absolute")
    return _Allowed(paths)


_CLASSES: Final = {
    "FileConfigProvider": _files,
    "DirectoryConfigProvider": _directories,
    "EnvVarConfigProvider": _environment,
}


def configured(worker: Mapping[str, str], machine: Machine) -> dict[str, Provider]:
    """The providers that a worker's file names in `config.providers`, by their names there."""
    made: dict[str, Provider] = {}
    for name in (part.strip() for part in worker.get("config.providers", "").split(",")):
        if not name:
            continue
        prefix = f"config.providers.{name}."
        chosen = worker.get(prefix + "class", "")
        known = _CLASSES.get(chosen.removeprefix(_PACKAGE))
        if known is None:
            offered = ", ".join(_PACKAGE + each for each in _CLASSES)
            raise ConfigException.of(prefix + "class", chosen, f"the providers are {offered}")
        start = prefix + _PARAMETERS
        parameters = {
            key.removeprefix(start): value for key, value in worker.items() if key.startswith(start)
        }
        made[name] = known(machine, parameters)
    return made


def resolved(settings: Mapping[str, str], providers: Mapping[str, Provider]) -> dict[str, str]:
    """Settings with the values that they refer to."""
    wanted: dict[tuple[str, str], set[str]] = {}
    for text in settings.values():
        for provider, path, key in _REFERENCE.findall(text):
            if provider in providers:
                wanted.setdefault((provider, path), set()).add(key)
    found = {
        (provider, path): providers[provider].get(path, sorted(keys))
        for (provider, path), keys in wanted.items()
    }

    def value(match: re.Match[str]) -> str:
        known = found.get((match[1], match[2] or ""), {})
        return known.get(match[3], match[0])

    return {name: _REFERENCE.sub(value, text) for name, text in settings.items()}
