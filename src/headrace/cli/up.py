"""`headrace up`: run the platform in the foreground.

A single service runs in this very process. The module is imported before everything else of a
broker, so it loads nothing that the broker does not need: its options are a table, read by `parse`
in the usual case and by typer (see `app`) for help, completion and complaints.

Settings come from four places; the later one wins: what `up` chooses, the file of `--config`,
`--data`, `--host` and `--port`, and `--set`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Final, NamedTuple

from headrace.cli.failures import Failure, WrongUsage

SERVICES: Final = ("broker",)
LOG_LEVELS: Final = ("debug", "info", "warning", "error")
MAX_CONFIG_BYTES: Final = 1 << 20


class Flag(NamedTuple):
    """One option: how its value is called and what it does."""

    metavar: str
    help: str


FLAGS: Final = {
    "data": Flag("DIR", "Where records are kept. Default: $HEADRACE_DATA, else the user's data."),
    "host": Flag("HOST", "The address to listen on. Default: 127.0.0.1."),
    "port": Flag("PORT", "The port to listen on; 0 takes a free one. Default: 9092."),
    "brokers": Flag("N", "How many brokers to run. This version runs one."),
    "only": Flag("SERVICE,…", f"Which services to run. This version has {', '.join(SERVICES)}."),
    "config": Flag("FILE", "Settings in the form of Kafka's server.properties."),
    "set": Flag("KEY=VALUE", "One setting of server.properties; may be repeated."),
    "log-level": Flag("LEVEL", "What to log: debug, info, warning (default) or error."),
    "log-format": Flag("FORM", "How to log: text (default) or json."),
}
REPEATABLE: Final = "set"


class Request(NamedTuple):
    """The options as given; None where nothing was said."""

    data: str | None = None
    host: str | None = None
    port: str | None = None
    brokers: str | None = None
    only: str | None = None
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
    settings = broker_settings(request, os.environ)
    # From here on a broker is loaded, which takes most of the start.
    from headrace.broker import app, logs
    from headrace.cluster.broker_config import BrokerConfig

    logs.configure((request.log_level or "warning").upper(), request.log_format or "text")
    config = BrokerConfig(settings)
    folders = ", ".join(map(os.path.abspath, config.log_dirs))
    return app.run(config, announce=lambda line: print(f"{line} (data in {folders})", flush=True))


def _check(request: Request) -> None:
    if request.brokers not in (None, "1"):
        raise Failure(
            f"--brokers {request.brokers}: this version runs a single broker, not clusters",
            "leave --brokers out",
        )
    for service in (request.only or "broker").split(","):
        if service.strip() not in SERVICES:
            raise WrongUsage(
                f'--only "{service}" is no service of this version', f"use {', '.join(SERVICES)}"
            )
    if request.log_level is not None and request.log_level not in LOG_LEVELS:
        raise WrongUsage(
            f'--log-level "{request.log_level}" is not known', f"use {', '.join(LOG_LEVELS)}"
        )
    if request.log_format not in (None, "text", "json"):
        raise WrongUsage(f'--log-format "{request.log_format}" is not known', "use text or json")


def broker_settings(request: Request, environment: Mapping[str, str]) -> dict[str, str]:
    """The static settings of the broker, as Kafka calls them."""
    settings = _read_config(request.config) if request.config is not None else {}
    if request.data is not None:
        settings["log.dirs"] = request.data
    elif "log.dirs" not in settings and "log.dir" not in settings:
        settings["log.dirs"] = default_data(environment)
    if request.host is not None or request.port is not None or "listeners" not in settings:
        host = request.host or "127.0.0.1"
        port = request.port or "9092"
        if not (port.isascii() and port.isdigit() and int(port) < 65536):
            raise WrongUsage(f'--port "{port}" is no port', "use a number from 0 to 65535")
        where = f"[{host}]" if ":" in host else host
        settings["listeners"] = f"PLAINTEXT://{where}:{port}"
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


def _read_config(path: str) -> dict[str, str]:
    from headrace.cluster.properties import parse_properties

    try:
        with open(path, encoding="utf-8") as file:
            text = file.read(MAX_CONFIG_BYTES + 1)
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise Failure(f"--config {path} cannot be read ({reason})") from None
    if len(text) > MAX_CONFIG_BYTES:
        raise Failure(f"--config {path} is larger than {MAX_CONFIG_BYTES} bytes")
    return parse_properties(text)
