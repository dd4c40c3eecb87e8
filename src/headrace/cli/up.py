"""`headrace up`: run the platform in the foreground.

The broker alone runs in this very process; with others beside it, each service is a process of its
own (`services`). The module is imported before everything else of a broker, so it loads nothing
that the broker does not need: its options are a table, read by `parse` in the usual case and by
typer (see `app`) for help, completion and complaints.

Settings of the broker come from four places; the later one wins: what `up` chooses, the file of
`--config`, `--data`, `--host`, `--port` and `--zookeeper`, and `--set`. Several brokers on one
machine (`--brokers`) are the matter of `brokers`. The registry, the REST proxy and the Connect
worker listen on the same host; whoever wants more of them than that runs them with
`schema-registry-start`, `kafka-rest-start` and `connect-distributed`.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from headrace.cli.failures import Failure, WrongUsage
from headrace.cli.lines import say, warn

if TYPE_CHECKING:
    import socket

    from headrace.cli.services import Addresses, Service

BROKER: Final = "broker"
REGISTRY: Final = "registry"
REST: Final = "rest"
CONNECT: Final = "connect"
SERVICES: Final = (BROKER, REGISTRY, REST, CONNECT)
DEFAULT_PORTS: Final = {REGISTRY: 8081, REST: 8082, CONNECT: 8083}
METRICS_PORT: Final = 9404
_JSON: Final = "org.apache.kafka.connect.json.JsonConverter"
_CONNECT_SETTINGS: Final = {
    "group.id": "connect-cluster",
    "key.converter": _JSON,
    "value.converter": _JSON,
    "config.storage.topic": "connect-configs",
    "offset.storage.topic": "connect-offsets",
    "status.storage.topic": "connect-status",
    # As many replicas as the cluster takes for granted: there may be one broker only.
    "config.storage.replication.factor": "-1",
    "offset.storage.replication.factor": "-1",
    "status.storage.replication.factor": "-1",
}
"""Names and converters of Kafka's own connect-distributed.properties."""
METRICS: Final = "metrics.listener"
LOG_LEVELS: Final = ("debug", "info", "warning", "error")
MAX_BROKERS: Final = 32


class Flag(NamedTuple):
    """One option: how its value is called and what it does."""

    metavar: str
    help: str


FLAGS: Final = {
    "data": Flag("DIR", "The data folder. Default: $HEADRACE_DATA, else ~/.local/share/headrace."),
    "host": Flag("HOST", "The address to listen on. Default: 127.0.0.1."),
    "port": Flag("PORT", "The port to listen on; 0 takes a free one. Default: 9092."),
    "brokers": Flag("N", "Number of brokers, on consecutive ports from PORT. Default: 1."),
    "zookeeper": Flag(
        "HOST:PORT/PATH", "Connect to this ZooKeeper. Default: with --brokers, start one."
    ),
    "only": Flag("SERVICE,…", f"Which services to run. Default: all, {', '.join(SERVICES)}."),
    "registry-port": Flag("PORT", "The schema registry's port; 0 takes a free one. Default: 8081."),
    "rest-port": Flag("PORT", "The REST proxy's port; 0 takes a free one. Default: 8082."),
    "connect-port": Flag("PORT", "The Connect worker's port; 0 takes a free one. Default: 8083."),
    "config": Flag("FILE", "Read settings from a server.properties file."),
    "set": Flag("KEY=VALUE", "One setting of server.properties; may be repeated."),
    "log-level": Flag("LEVEL", "Log level: debug, info, warning (default) or error."),
    "log-format": Flag("FORM", "Log format: text (default) or json."),
}
REPEATABLE: Final = "set"


class Request(NamedTuple):
    """The options as given; None where nothing was said."""

    data: str | None = None
    host: str | None = None
    port: str | None = None
    brokers: str | None = None
    zookeeper: str | None = None
    only: str | None = None
    registry_port: str | None = None
    rest_port: str | None = None
    connect_port: str | None = None
    config: str | None = None
    log_level: str | None = None
    log_format: str | None = None
    settings: tuple[str, ...] = ()


def parse(words: list[str]) -> Request | None:
    """Read plain `--name value` and `--name=value`; None when typer should have the word."""
    given: dict[str, str] = {}
    settings: list[str] = []
    rest = iter(words)
    for word in rest:
        flag, equals, value = word.partition("=")
        name = flag[2:]
        if not flag.startswith("--") or name not in FLAGS:
            return None
        if not equals:
            following = next(rest, None)
            if following is None:
                return None
            value = following
        if name == REPEATABLE:
            settings.append(value)
        else:
            given[name.replace("-", "_")] = value
    return Request(**given, settings=tuple(settings))


def run(request: Request) -> int:
    """Run until SIGTERM or Ctrl-C; returns the exit code."""
    _check(request)
    chosen = chosen_services(request)
    count = broker_count(request)
    if count > 1:
        from headrace.cli.brokers import several

        brokers = several(request, count) if BROKER in chosen else []
        return _supervise(request, chosen, brokers)
    settings = broker_settings(request, os.environ)
    from headrace.cluster.broker_config import BrokerConfig

    if chosen != (BROKER,):
        # As Kafka's own server.properties for one machine has it: the registry chooses its primary
        # through a group, and its first client should not wait three seconds for members to come.
        settings.setdefault("group.initial.rebalance.delay.ms", "0")
    # A mistake in the settings is reported before anything is started.
    config = BrokerConfig(settings)
    if BROKER in chosen:
        check_port(request, settings["listeners"])
        check_folders(config.log_dirs)
    if chosen == (BROKER,):
        return run_broker(request, settings)
    from headrace.cli.services import Service

    broker = Service(
        BROKER,
        lambda known: run_broker(request, pinned(settings, known.get(BROKER))),
        essential=True,
    )
    return _supervise(request, chosen, [broker] if BROKER in chosen else [])


def _supervise(request: Request, chosen: Sequence[str], brokers: Sequence[Service]) -> int:
    from headrace.cli.services import Supervisor

    needed = tuple(service.name for service in brokers)
    ports = {name: _port_of(request, name) for name in chosen if name != BROKER}
    http = [_http_service(request, name, port, needed) for name, port in ports.items()]
    return Supervisor([*brokers, *(service for service in http if service is not None)]).run()


def broker_count(request: Request) -> int:
    """What `--brokers` says."""
    text = request.brokers or "1"
    if not (text.isascii() and text.isdigit() and 1 <= int(text) <= MAX_BROKERS):
        raise WrongUsage(
            f'--brokers "{text}" is not a number', f"use a number from 1 to {MAX_BROKERS}"
        )
    return int(text)


def chosen_services(request: Request) -> tuple[str, ...]:
    """What `--only` names, in the order in which they are started."""
    if request.only is None:
        return SERVICES if has_connect() else SERVICES[:-1]
    named = [name.strip() for name in request.only.split(",")]
    for name in named:
        if name not in SERVICES:
            raise WrongUsage(f'--only "{name}" is not a service', f"use {', '.join(SERVICES)}")
    return tuple(name for name in SERVICES if name in named)


def has_connect() -> bool:
    """Whether what a Connect worker needs is installed."""
    from importlib.util import find_spec

    return all(find_spec(name) is not None for name in ("pyarrow", "polars", "sqlalchemy"))


def pinned(settings: Mapping[str, str], address: str | None) -> dict[str, str]:
    """The settings with the port that was taken for 0: a broker that is started again keeps it."""
    listeners = settings["listeners"].split(",")
    if address is not None and listeners[0].endswith(":0"):
        listeners[0] = f"{listeners[0][:-1]}{address.rpartition(':')[2]}"
    return {**settings, "listeners": ",".join(listeners)}


def run_broker(request: Request, settings: Mapping[str, str]) -> int:
    # From here on a broker is loaded, which takes most of the start.
    from headrace.broker import app
    from headrace.cli.processes import recorded
    from headrace.cluster.broker_config import BrokerConfig

    _configure_logs(request)
    settings, metrics_socket, left_out = with_metrics(request, settings)
    config = BrokerConfig(settings)
    folders = ", ".join(map(os.path.abspath, config.log_dirs))

    def announce(line: str) -> None:
        if not line.startswith(BROKER):
            say(line)
            return
        say(f"{line} (data in {folders})")
        if left_out:
            warn(left_out)

    with recorded(config):
        return app.run(config, announce=announce, metrics_socket=metrics_socket)


def _http_service(
    request: Request, name: str, port: int, brokers: tuple[str, ...] = (BROKER,)
) -> Service | None:
    """One that speaks HTTP; None, and a line that says so, if its port is taken."""
    from headrace.cli.services import Service

    host = request.host or "127.0.0.1"
    given = _given_port(request, name)
    if port and not _is_free(host, port):
        cause = f"service {name} cannot listen on {joined(host, port)}, which is in use"
        remedy = f"--{name}-port 0 takes a free port"
        if given is not None:
            raise Failure(cause, remedy)
        warn(f"{cause}, and is left out; {remedy}")
        return None
    return Service(
        name,
        lambda known: _run_http(request, name, http_settings(request, name, port, known)),
        needs=(*brokers, REGISTRY) if name == REST else brokers,
        address=f"http://{joined(_reachable(host), port)}" if port else None,
    )


def http_settings(request: Request, name: str, port: int, known: Addresses) -> dict[str, str]:
    """The settings of a service that speaks HTTP, as Confluent and Kafka call them."""
    host = request.host or "127.0.0.1"
    if name in known:
        port = int(known[name].rstrip("/").rpartition(":")[2])
    brokers = [address for known_name, address in known.items() if known_name.startswith(BROKER)]
    bootstrap = ",".join(
        _reachable_address(broker)
        for broker in brokers or [joined(host, number("port", request.port or "9092"))]
    )
    settings = {"listeners": f"http://{joined(host, port)}"}
    if name == REGISTRY:
        # As many replicas as the cluster takes for granted: there may be one broker only.
        settings["kafkastore.topic.replication.factor"] = "-1"
        return {**settings, "kafkastore.bootstrap.servers": bootstrap}
    if name == CONNECT:
        return {**settings, **_CONNECT_SETTINGS, "bootstrap.servers": bootstrap}
    registry = known.get(REGISTRY) or os.environ.get("SCHEMA_REGISTRY_URL")
    if registry:
        settings["schema.registry.url"] = registry
    return {**settings, "bootstrap.servers": bootstrap}


def _run_http(request: Request, name: str, settings: Mapping[str, str]) -> int:
    """In the child: load the service and run it."""
    _configure_logs(request)
    if name == REGISTRY:
        from headrace.registry.app import serve as serve_registry
        from headrace.registry.settings import registry_settings

        return serve_registry(registry_settings(settings)[0])
    if name == CONNECT:
        from headrace.cli.connect_worker import serve_distributed

        return serve_distributed(settings, lambda url: say(f"ready {CONNECT} {url}"))
    from headrace.rest.app import serve as serve_rest
    from headrace.rest.settings import rest_settings

    return serve_rest(rest_settings(settings)[0])


def _configure_logs(request: Request) -> None:
    from headrace.broker.watching import logs

    logs.configure((request.log_level or "warning").upper(), request.log_format or "text")


def check_folders(folders: Sequence[str]) -> None:
    """Create the data folders; one of several may fail later, as disks do, a single one may not."""
    for folder in folders if len(folders) == 1 else ():
        try:
            os.makedirs(folder, exist_ok=True)
        except OSError as error:
            reason = (
                "it is a file"
                if isinstance(error, FileExistsError)
                else (error.strerror or str(error))
            )
            raise Failure(
                f"{folder} cannot be used as a data folder ({reason})",
                "name a folder that you may write to with --data",
            ) from None


def listener_of(request: Request, index: int = 0) -> str:
    """What `--host` and `--port` say; brokers on one machine count on from the port."""
    port = number("port", request.port or "9092")
    return f"PLAINTEXT://{joined(request.host or '127.0.0.1', port + index if port else 0)}"


def check_port(request: Request, listeners: str, index: int = 0) -> None:
    """Report a port that cannot be taken, in the words of the options that chose it."""
    host, _, text = listeners.removeprefix("PLAINTEXT://").rpartition(":")
    if listeners != listener_of(request, index) or text == "0":
        # They come from a file or from --set: the broker itself names that.
        return
    address, port = f"{host}:{text}", int(text)
    try:
        _taken(host.strip("[]"), port).close()
    except OSError as error:
        if error.errno != errno.EADDRINUSE:
            raise Failure(
                f"the broker cannot listen on {address} ({error.strerror or error})",
                "name an address of this machine with --host, and a port above 1023 with --port",
            ) from None
        from headrace.cli.doctor.ports import owner_of

        owner = owner_of(port)
        by = f" by {owner[1]}, pid {owner[0]}" if owner else ""
        raise Failure(
            f"the broker cannot listen on {address}, which is in use{by}",
            "stop that process, or choose another port with --port; 0 takes a free one",
        ) from None


def _is_free(host: str, port: int) -> bool:
    try:
        _taken(host, port).close()
    except OSError as error:
        # Anything else is reported by the service itself, in its own words.
        return error.errno != errno.EADDRINUSE
    return True


def _taken(host: str, port: int) -> socket.socket:
    """The address, nobody else's from now on."""
    import socket

    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    return socket.create_server((host, port), family=family)


def _reachable(host: str) -> str:
    """Where a neighbour finds who listens on all addresses."""
    return {"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)


def _reachable_address(address: str) -> str:
    host, _, port = address.rpartition(":")
    return joined(_reachable(host.strip("[]")), port)


def joined(host: str, port: int | str) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _port_of(request: Request, name: str) -> int:
    given = _given_port(request, name)
    return DEFAULT_PORTS[name] if given is None else number(f"{name}-port", given)


def _given_port(request: Request, name: str) -> str | None:
    given = {
        REGISTRY: request.registry_port,
        REST: request.rest_port,
        CONNECT: request.connect_port,
    }
    return given[name]


def number(flag: str, port: str) -> int:
    if not (port.isascii() and port.isdigit() and int(port) < 65536):
        raise WrongUsage(f'--{flag} "{port}" is not a port', "use a number from 0 to 65535")
    return int(port)


def _check(request: Request) -> None:
    if request.log_level is not None and request.log_level not in LOG_LEVELS:
        raise WrongUsage(
            f'--log-level "{request.log_level}" is not known', f"use {', '.join(LOG_LEVELS)}"
        )
    if request.log_format not in (None, "text", "json"):
        raise WrongUsage(f'--log-format "{request.log_format}" is not known', "use text or json")


def broker_settings(request: Request, environment: Mapping[str, str]) -> dict[str, str]:
    """The static settings of the broker, as Kafka calls them."""
    settings = read_config(request)
    if request.zookeeper is not None:
        settings["zookeeper.connect"] = request.zookeeper
    if request.data is not None:
        settings["log.dirs"] = request.data
    elif "log.dirs" not in settings and "log.dir" not in settings:
        settings["log.dirs"] = default_data(environment)
    if request.host is not None or request.port is not None or "listeners" not in settings:
        settings["listeners"] = listener_of(request)
    return {**settings, **set_by_hand(request)}


def with_metrics(
    request: Request, settings: Mapping[str, str]
) -> tuple[dict[str, str], socket.socket | None, str]:
    """The settings with a place for the metrics, unless somebody has decided about that.

    It is a convenience: where the port is taken, by another broker perhaps, the broker does
    without, and the last part of the answer says so. A free one is taken at once, as the second
    part: of brokers that start together, one gets it.
    """
    broker = int(settings.get("broker.id", 0)) if broker_count(request) > 1 else 0
    if METRICS in settings:
        given = settings[METRICS]
        host, _, port = given.rpartition(":")
        if broker and port.isdecimal() and int(port):
            given = f"{host}:{int(port) + broker}"
        return {**settings, METRICS: given}, None, ""
    host = request.host or "127.0.0.1"
    port_number = 0 if request.port == "0" else METRICS_PORT + broker
    address = joined(host, port_number)
    try:
        return {**settings, METRICS: address}, _taken(host, port_number), ""
    except OSError as error:
        if error.errno != errno.EADDRINUSE:
            # The broker finds the same, and reports it in its own words.
            return {**settings, METRICS: address}, None, ""
    remedy = f"--set {METRICS}={joined(host, 0)} takes a free port"
    return {**settings, METRICS: ""}, None, f"metrics left out: {address} is in use; {remedy}"


def set_by_hand(request: Request) -> dict[str, str]:
    """What `--set` says."""
    settings = {}
    for pair in request.settings:
        key, equals, value = pair.partition("=")
        if not equals or not key.strip():
            raise WrongUsage(f'--set "{pair}" has no value', "write --set KEY=VALUE")
        settings[key.strip()] = value.strip()
    return settings


def default_data(environment: Mapping[str, str]) -> str:
    """$HEADRACE_DATA, else `headrace` in the folder where a user's programs keep their data.

    Not the working directory: a broker started from another folder would seem to have lost all.
    """
    if chosen := environment.get("HEADRACE_DATA"):
        return chosen
    base = environment.get("XDG_DATA_HOME") or os.path.expanduser("~/.local/share")
    return os.path.join(base, "headrace")


def read_config(request: Request) -> dict[str, str]:
    """The settings of the file that --config names."""
    from headrace.cli.small_files import read_properties

    path = request.config
    return {} if path is None else read_properties(path, f"--config {path}", failure=Failure)
