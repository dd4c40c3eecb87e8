"""What lies in `plugin.path`: classes by the service files of their jars, found without a JVM.

Each folder and each jar in a folder of `plugin.path` is a plugin, with class loader and jars of its
own, as in Connect; a jar may be named itself. A plugin whose jars have no service files is not
found: classes are not scanned. The path is that of the process, which is one worker or one of its
hosts.
"""

from __future__ import annotations

import logging
import re
import zipfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final

from headrace.pipelines.connect.config.plugins import Role
from headrace.pipelines.connect.faults import ConfigException

_LOG: Final = logging.getLogger(__name__)
PATH: Final = "plugin.path"
JARS: Final = "headrace.java.connect.jars"
_UNKNOWN: Final = "unknown"
_CONNECT: Final = "org.apache.kafka.connect."
_SERVICES: Final[Mapping[str, tuple[Role, bool]]] = {
    _CONNECT + "source.SourceConnector": (Role.CONNECTOR, True),
    _CONNECT + "sink.SinkConnector": (Role.CONNECTOR, False),
    _CONNECT + "storage.Converter": (Role.CONVERTER, False),
    _CONNECT + "storage.HeaderConverter": (Role.HEADER_CONVERTER, False),
    _CONNECT + "transforms.Transformation": (Role.TRANSFORM, False),
    _CONNECT + "transforms.predicates.Predicate": (Role.PREDICATE, False),
}
_API: Final = "connect-api-"
_VERSION: Final = "Implementation-Version:"
_IN_NAME: Final = re.compile(r"-(\d[\w.-]*)\.jar$")
_REMEDY: Final = (
    f"set {JARS} to the folder libs of Apache Kafka 4.x, or to jars of connect-api, connect-json, "
    "connect-transforms, kafka-clients and what they need, separated by commas"
)


@dataclass(frozen=True, slots=True)
class JavaClass:
    """A class that settings may name. `version` is its jar's, unknown if neither the jar nor its
    name says one: what the class itself says needs a JVM."""

    name: str
    role: Role
    is_source: bool
    version: str
    jars: tuple[str, ...]

    @property
    def aliases(self) -> tuple[str, ...]:
        """Shorter names: the last part, of connectors without `Connector` too."""
        last = self.name.rpartition(".")[2]
        return tuple(dict.fromkeys((last, last.removesuffix("Connector"))))


_places: dict[str, tuple[str, ...]] = {PATH: (), JARS: ()}


def look_in(settings: Mapping[str, str]) -> None:
    """Let this process know the worker's `plugin.path` and `headrace.java.connect.jars`."""
    for key in _places:
        named = (each.strip() for each in settings.get(key, "").split(","))
        _places[key] = tuple(each for each in named if each)


def java_classes() -> tuple[JavaClass, ...]:
    """All that is found."""
    return _found_in(_places[PATH])


def java_class(role: Role, name: str) -> JavaClass | None:
    """The class of that name in a role, in full or its last part; None if none is found."""
    for each in java_classes():
        if each.role is role and (name == each.name or name in each.aliases):
            return each
    return None


def jars_for(name: str, settings: Mapping[str, str]) -> list[str]:
    """The jars that a connector or other class runs with: Connect's, its own, and those of the
    converters, transforms and predicates that `settings` name."""
    shared = [str(jar) for place in _places[JARS] for jar in _jars(Path(place))]
    named = {name, *(text.strip() for text in settings.values())}
    plugins = [each.jars for each in java_classes() if each.name in named]
    jars = list(dict.fromkeys([*shared, *(jar for plugin in plugins for jar in plugin)]))
    if not any(Path(jar).name.startswith(_API) for jar in jars):
        raise ConfigException(f"{name} needs Connect's own jars beside it: {_REMEDY}")
    return jars


@lru_cache(maxsize=8)
def _found_in(path: tuple[str, ...]) -> tuple[JavaClass, ...]:
    found = [
        each for place in path for plugin in _plugins(Path(place)) for each in _classes(plugin)
    ]
    return tuple({(each.role, each.name): each for each in reversed(found)}.values())[::-1]


def _plugins(place: Path) -> list[tuple[str, ...]]:
    """The jars of each plugin at an entry of the path."""
    if not place.exists():
        _LOG.info("%s in %s does not exist and is passed over", place, PATH)
        return []
    if not place.is_dir():
        return [tuple(map(str, _jars(place)))]
    inside = sorted(each for each in place.iterdir() if each.is_dir() or each.suffix == ".jar")
    return [tuple(map(str, _jars(each))) for each in inside]


def _jars(place: Path) -> list[Path]:
    if place.is_dir():
        return sorted(place.rglob("*.jar"))
    if place.suffix == ".jar" and place.is_file():
        return [place]
    raise ConfigException(f"{place} is neither a folder nor a jar: see {PATH} and {JARS}")


def _classes(jars: tuple[str, ...]) -> Iterable[JavaClass]:
    for jar in jars:
        try:
            with zipfile.ZipFile(jar) as opened:
                names = set(opened.namelist())
                for service, (role, is_source) in _SERVICES.items():
                    file = f"META-INF/services/{service}"
                    if file in names:
                        version = _version(opened, names)
                        for name in _lines(opened, file):
                            yield JavaClass(name, role, is_source, version, jars)
        except (OSError, zipfile.BadZipFile) as fault:
            raise ConfigException(f"{jar} in {PATH} cannot be read as a jar: {fault}") from fault


def _lines(jar: zipfile.ZipFile, file: str) -> list[str]:
    """A service file without its comments."""
    text = jar.read(file).decode("utf-8", "replace")
    lines = (line.partition("#")[0].strip() for line in text.splitlines())
    return [line for line in lines if line]


def _version(jar: zipfile.ZipFile, names: set[str]) -> str:
    if "META-INF/MANIFEST.MF" in names:
        for line in _lines(jar, "META-INF/MANIFEST.MF"):
            if line.startswith(_VERSION):
                return line.removeprefix(_VERSION).strip()
    named = _IN_NAME.search(str(jar.filename))
    return _UNKNOWN if named is None else named[1]
