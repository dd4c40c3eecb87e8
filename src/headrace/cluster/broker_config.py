"""The settings of one broker: typed, checked, and aware of where each value comes from.

Four levels give a broker setting its value; the first that has it wins:

    1  dynamic, for this broker         changed while it runs
    2  dynamic, for all brokers         changed while it runs
    3  static                           server.properties and the command line
    4  built-in                         the declaration in `config_keys`

The overrides of a topic or a group stand above all four; see `configs`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from headrace.cluster.config_keys import (
    BROKER_KEYS,
    LISTENER_PREFIX,
    broker_key,
    broker_synonyms,
)
from headrace.cluster.config_types import HIDDEN, ConfigType, Settings, fill
from headrace.cluster.keys.topic import Synonym
from headrace.cluster.listeners import (
    Listener,
    advertise,
    check_ports,
    parse_listeners,
    parse_protocol_map,
)
from headrace.errors import ConfigError
from headrace.java.properties import parse_properties


class ConfigSource(IntEnum):
    """Where a value comes from, in the codes of DescribeConfigs."""

    TOPIC_CONFIG = 1
    DYNAMIC_BROKER_CONFIG = 2
    DYNAMIC_DEFAULT_BROKER_CONFIG = 3
    STATIC_BROKER_CONFIG = 4
    DEFAULT_CONFIG = 5
    DYNAMIC_BROKER_LOGGER_CONFIG = 6
    CLIENT_METRICS_CONFIG = 7
    GROUP_CONFIG = 8


@dataclass(frozen=True, slots=True)
class Setting:
    """A value at one level: the key under which it was given, its text and the level."""

    name: str
    text: str
    source: ConfigSource
    unit: int = 1


class BrokerConfig:
    """Immutable; a dynamic change makes another one with `with_dynamic`."""

    def __init__(
        self,
        static: Mapping[str, str] | None = None,
        *,
        dynamic: Mapping[str, str] | None = None,
        dynamic_default: Mapping[str, str] | None = None,
    ) -> None:
        self._levels: dict[ConfigSource, Mapping[str, str]] = {
            ConfigSource.DYNAMIC_BROKER_CONFIG: dict(dynamic or {}),
            ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG: dict(dynamic_default or {}),
            ConfigSource.STATIC_BROKER_CONFIG: dict(static or {}),
        }
        self._values: dict[str, Any] = {}
        for level in self._levels.values():
            for name, text in level.items():
                key = broker_key(name)
                if key is not None:
                    key.parse(text)
        _check_relations(self)

    @classmethod
    def from_properties(cls, text: str, overrides: Mapping[str, str] | None = None) -> BrokerConfig:
        """Settings from the text of a server.properties, with some replaced."""
        return cls({**parse_properties(text), **(overrides or {})})

    def with_dynamic(
        self, dynamic: Mapping[str, str], dynamic_default: Mapping[str, str]
    ) -> BrokerConfig:
        """The same static settings under other dynamic ones."""
        return BrokerConfig(
            self._levels[ConfigSource.STATIC_BROKER_CONFIG],
            dynamic=dynamic,
            dynamic_default=dynamic_default,
        )

    @property
    def unknown_keys(self) -> list[str]:
        """Static keys that nothing here reads: worth a warning, never an error."""
        static = self._levels[ConfigSource.STATIC_BROKER_CONFIG]
        return sorted(
            name
            for name in static
            if broker_key(name) is None and not name.startswith(LISTENER_PREFIX)
        )

    def settings(self, chain: tuple[Synonym, ...]) -> Iterator[Setting]:
        """Every level that gives one of these keys a value, the winner first.

        All keys are asked at one level before the next level is asked, as in Kafka: a dynamic
        `log.retention.ms` beats a static one, and built-in values come last of all.
        """
        for source, level in self._levels.items():
            for synonym in chain:
                text = level.get(synonym.name)
                if text is not None:
                    yield Setting(synonym.name, text, source, synonym.unit)
        for synonym in chain:
            key = broker_key(synonym.name)
            if key is not None and key.default is not None:
                yield Setting(synonym.name, key.default, ConfigSource.DEFAULT_CONFIG, synonym.unit)

    def get(self, name: str) -> Any:
        """The effective value of a key, parsed; None if it has none. Unknown keys are a bug."""
        if name not in self._values:
            key = broker_key(name)
            if key is None:
                raise KeyError(name)
            # Keys with other units (`log.retention.hours`) keep their own value here: whoever
            # wants the chain asks for the topic's setting.
            chain = broker_synonyms(name) if name.startswith(LISTENER_PREFIX) else (Synonym(name),)
            setting = next(self.settings(chain), None)
            self._values[name] = None if setting is None else key.parse(setting.text)
        return self._values[name]

    def is_set(self, name: str) -> bool:
        """Whether anybody has decided about a key; otherwise it has its default."""
        return any(name in level for level in self._levels.values())

    def get_int(self, name: str) -> int:
        value = self.get(name)
        assert isinstance(value, int), name
        return value

    def get_bool(self, name: str) -> bool:
        value = self.get(name)
        assert isinstance(value, bool), name
        return value

    def get_float(self, name: str) -> float:
        value = self.get(name)
        assert isinstance(value, float), name
        return value

    def get_str(self, name: str) -> str:
        value = self.get(name)
        assert isinstance(value, str), name
        return value

    def get_list(self, name: str) -> list[str]:
        value = self.get(name)
        assert isinstance(value, list), name
        return value

    def read(self, settings: type[Settings], **given: object) -> Settings:
        """Typed settings of one part of the broker; see `fill`."""
        return fill(settings, self.get, **given)

    @property
    def broker_id(self) -> int:
        """The broker's own number; -1 asks for a generated one."""
        node_id = self.get("node.id")
        return self.get_int("broker.id") if node_id is None else int(node_id)

    @property
    def log_dirs(self) -> list[str]:
        """The data folders."""
        return self.get("log.dirs") or self.get_list("log.dir")

    @property
    def listeners(self) -> list[Listener]:
        """Where to listen; those of Kafka's controllers are left out."""
        text = self._given("listeners")
        if text is None:
            text = f"PLAINTEXT://{self.get_str('host.name')}:{self.get_int('port')}"
        listeners = parse_listeners("listeners", text, self._protocols())
        check_ports("listeners", text, listeners)
        controllers = self._controller_listeners()
        opened = [listener for listener in listeners if listener.name not in controllers]
        if not opened:
            raise ConfigError(
                f"Invalid value {text} for configuration listeners: at least one is needed"
            )
        return opened

    @property
    def advertised_listeners(self) -> list[Listener]:
        """What clients are told; an empty host is to be filled in with this machine's name."""
        listeners = self.listeners
        text = self._given("advertised.listeners")
        host, port = self.get("advertised.host.name"), self.get("advertised.port")
        if text is None and (host is not None or port is not None):
            first = listeners[0]
            legacy = Listener(
                first.name, host or first.host, port or first.port, first.security_protocol
            )
            text = str(legacy)
        return advertise(listeners, text, ignored=self._controller_listeners())

    def _controller_listeners(self) -> set[str]:
        return {name.upper() for name in self.get("controller.listener.names") or []}

    @property
    def inter_broker_listener(self) -> str:
        """The name of the listener over which brokers reach each other."""
        listeners = self.listeners
        name = self.get("inter.broker.listener.name")
        given_protocol = self._given("security.inter.broker.protocol")
        if name is not None and given_protocol is not None:
            raise ConfigError(
                "inter.broker.listener.name and security.inter.broker.protocol are both set: "
                "remove one of them"
            )
        if name is not None:
            return self._existing_listener("inter.broker.listener.name", name)
        protocol = self.get_str("security.inter.broker.protocol")
        for listener in listeners:
            if listener.name == protocol:
                return listener.name
        if given_protocol is not None:
            return self._existing_listener("security.inter.broker.protocol", protocol)
        return listeners[0].name

    @property
    def control_plane_listener(self) -> str | None:
        """The name of the listener between controller and brokers, if there is a separate one."""
        name = self.get("control.plane.listener.name")
        return (
            None if name is None else self._existing_listener("control.plane.listener.name", name)
        )

    def dump(self) -> str:
        """Every key with its effective value, as Kafka logs them at start."""
        lines = [f"\t{name} = {_shown(name, self.get(name))}\n" for name in BROKER_KEYS]
        return "".join(["KafkaConfig values: \n", *lines])

    def _protocols(self) -> dict[str, str]:
        return parse_protocol_map(self.get_str("listener.security.protocol.map"))

    def _existing_listener(self, key: str, name: str) -> str:
        names = [listener.name for listener in self.listeners]
        if name.upper() not in names:
            raise ConfigError(
                f"Invalid value {name} for configuration {key}: allowed is one of the listeners "
                + ", ".join(names)
            )
        return name.upper()

    def _given(self, name: str) -> str | None:
        """The text of a key that somebody has set, without the built-in value."""
        for level in self._levels.values():
            if name in level:
                return level[name]
        return None


def _shown(name: str, value: Any) -> str:
    if value is None:
        return "null"
    if BROKER_KEYS[name].type is ConfigType.PASSWORD:
        return HIDDEN
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return f"[{', '.join(value)}]"
    return str(value)


def _check_relations(config: BrokerConfig) -> None:
    """Refuse values that are right alone and wrong together."""
    node_id, broker_id = config.get("node.id"), config.get_int("broker.id")
    if node_id is not None and broker_id not in (-1, node_id):
        raise ConfigError(
            f"node.id is {node_id} and broker.id is {broker_id}: they are the same setting, "
            "remove one of them"
        )
    for smaller, larger in (
        ("replica.fetch.wait.max.ms", "replica.socket.timeout.ms"),
        ("replica.fetch.wait.max.ms", "replica.lag.time.max.ms"),
        ("group.min.session.timeout.ms", "group.max.session.timeout.ms"),
        ("log.cleaner.min.compaction.lag.ms", "log.cleaner.max.compaction.lag.ms"),
    ):
        if config.get_int(smaller) > config.get_int(larger):
            raise ConfigError(
                f"{smaller} is {config.get_int(smaller)}, which is more than the "
                f"{config.get_int(larger)} of {larger}"
            )
    if config.get_bool("remote.log.storage.system.enable"):
        raise ConfigError(
            "Invalid value true for configuration remote.log.storage.system.enable: "
            "there is no tiered storage, allowed is false"
        )
