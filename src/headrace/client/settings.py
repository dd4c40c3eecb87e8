"""What a client is told about a cluster, from the property names that Kafka's clients share.

Both dialects are read: that of the Java client (`ssl.truststore.location`, `sasl.jaas.config`) and
that of librdkafka (`ssl.ca.location`, `sasl.username`). Key stores must be PEM files, since Java's
own formats need Java. The module opens no file and no connection; a bad value is a `ConfigError`
that names the key, the value and what is allowed.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from headrace.client.jaas import parse_jaas
from headrace.errors import ConfigError

SECURITY_PROTOCOLS: Final = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
SASL_MECHANISMS: Final = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
BOOTSTRAP_VARIABLE: Final = "HEADRACE_BOOTSTRAP_SERVERS"
DEFAULT_BOOTSTRAP: Final = "localhost:9092"

Address = tuple[str, int]


@dataclass(frozen=True, slots=True)
class ClientSettings:
    """How to reach a cluster. Hashable and picklable: it travels to workers and keys caches."""

    bootstrap_servers: tuple[Address, ...]
    client_id: str = "headrace"
    security_protocol: str = "PLAINTEXT"
    ssl_ca_location: str | None = None
    ssl_certificate_location: str | None = None
    ssl_key_location: str | None = None
    ssl_key_password: str | None = field(default=None, repr=False)
    ssl_verify_certificate: bool = True
    ssl_verify_hostname: bool = True
    sasl_mechanism: str = "PLAIN"
    sasl_username: str | None = None
    sasl_password: str | None = field(default=None, repr=False)
    request_timeout_ms: int = 30_000
    api_timeout_ms: int = 60_000
    connection_timeout_ms: int = 10_000
    retry_backoff_ms: int = 100
    retry_backoff_max_ms: int = 1_000

    @property
    def has_tls(self) -> bool:
        return self.security_protocol.endswith("SSL")

    @property
    def has_sasl(self) -> bool:
        return self.security_protocol.startswith("SASL")


def client_settings(properties: Mapping[str, str]) -> tuple[ClientSettings, tuple[str, ...]]:
    """The settings in these properties, and the names among them that are not known here.

    Without `bootstrap.servers` the environment variable HEADRACE_BOOTSTRAP_SERVERS counts, and
    without that localhost:9092.
    """
    default = os.environ.get(BOOTSTRAP_VARIABLE) or DEFAULT_BOOTSTRAP
    values: dict[str, Any] = {"bootstrap_servers": _addresses("bootstrap.servers", default)}
    unknown = []
    for name, text in properties.items():
        if name in _READERS:
            key, read = _READERS[name]
            values[key] = read(name, str(text).strip())
        elif name == "sasl.jaas.config":
            values |= _signed_in_as(str(text))
        elif name not in _WITHOUT_EFFECT:
            unknown.append(name)
    _check_stores(properties)
    if "ssl.keystore.location" in properties:
        # A PEM key store has the key and the certificates in one file.
        values.setdefault("ssl_key_location", values["ssl_certificate_location"])
    settings = ClientSettings(**values)
    _check_credentials(settings)
    return settings, tuple(unknown)


def _addresses(name: str, text: str) -> tuple[Address, ...]:
    addresses = tuple(
        _address(name, text, part.strip()) for part in text.split(",") if part.strip()
    )
    if not addresses:
        raise ConfigError(f"{name}={text!r} names no broker: give host:port, several by commas")
    return addresses


def _address(name: str, text: str, part: str) -> Address:
    # librdkafka and Java both take a listener's scheme in front, as in PLAINTEXT://host:9092.
    host, _, port = part.rpartition("://")[2].rpartition(":")
    if not host:
        host, port = part.rpartition("://")[2], "9092"
    if not port.isdecimal() or not 0 < int(port) < 65536:
        raise ConfigError(f"{name}={text!r}: {part!r} has no port from 1 to 65535; give host:port")
    return host.strip("[]"), int(port)


def _text(name: str, text: str) -> str:
    return text


def _choice(*allowed: str) -> Callable[[str, str], str]:
    def read(name: str, text: str) -> str:
        if text.upper() not in allowed:
            raise ConfigError(f"{name}={text!r}: allowed are {', '.join(allowed)}")
        return text.upper()

    return read


def _milliseconds(name: str, text: str) -> int:
    if not text.isdecimal() or not 0 < int(text) <= 0x7FFFFFFF:
        raise ConfigError(f"{name}={text!r}: allowed are milliseconds from 1 to 2147483647")
    return int(text)


def _flag(name: str, text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise ConfigError(f"{name}={text!r}: allowed are true and false")
    return text.lower() == "true"


def _identification(name: str, text: str) -> bool:
    if text.lower() not in ("https", "", "none"):
        raise ConfigError(f"{name}={text!r}: allowed are https, and nothing for no verification")
    return text.lower() == "https"


_READERS: Final[Mapping[str, tuple[str, Callable[[str, str], Any]]]] = {
    "bootstrap.servers": ("bootstrap_servers", _addresses),
    "metadata.broker.list": ("bootstrap_servers", _addresses),
    "client.id": ("client_id", _text),
    "security.protocol": ("security_protocol", _choice(*SECURITY_PROTOCOLS)),
    "ssl.ca.location": ("ssl_ca_location", _text),
    "ssl.truststore.location": ("ssl_ca_location", _text),
    "ssl.certificate.location": ("ssl_certificate_location", _text),
    "ssl.keystore.location": ("ssl_certificate_location", _text),
    "ssl.key.location": ("ssl_key_location", _text),
    "ssl.key.password": ("ssl_key_password", _text),
    "ssl.endpoint.identification.algorithm": ("ssl_verify_hostname", _identification),
    "enable.ssl.certificate.verification": ("ssl_verify_certificate", _flag),
    "sasl.mechanism": ("sasl_mechanism", _choice(*SASL_MECHANISMS)),
    "sasl.mechanisms": ("sasl_mechanism", _choice(*SASL_MECHANISMS)),
    "sasl.username": ("sasl_username", _text),
    "sasl.password": ("sasl_password", _text),
    "request.timeout.ms": ("request_timeout_ms", _milliseconds),
    "socket.timeout.ms": ("request_timeout_ms", _milliseconds),
    "default.api.timeout.ms": ("api_timeout_ms", _milliseconds),
    "socket.connection.setup.timeout.ms": ("connection_timeout_ms", _milliseconds),
    "retry.backoff.ms": ("retry_backoff_ms", _milliseconds),
    "retry.backoff.max.ms": ("retry_backoff_max_ms", _milliseconds),
}
# Read elsewhere in this module, or of no meaning for PEM files.
_WITHOUT_EFFECT: Final = frozenset(
    {
        "ssl.truststore.type",
        "ssl.truststore.password",
        "ssl.keystore.type",
        "ssl.keystore.password",
    }
)


def _signed_in_as(jaas: str) -> dict[str, str]:
    """The credentials of a login module; a module of PLAIN is a choice of mechanism as well."""
    module, options = parse_jaas(jaas)
    found = {f"sasl_{name}": options[name] for name in ("username", "password") if name in options}
    if len(found) < 2:
        raise ConfigError(f'sasl.jaas.config: {module} needs username="…" and password="…"')
    return found


def _check_stores(properties: Mapping[str, str]) -> None:
    for store in ("ssl.truststore", "ssl.keystore"):
        kind = str(properties.get(f"{store}.type", "PEM"))
        location = str(properties.get(f"{store}.location", ""))
        if kind.upper() != "PEM" or location.lower().endswith((".jks", ".p12", ".pfx")):
            raise ConfigError(
                f"{store}.location={location!r} ({store}.type={kind}): only PEM files can be read. "
                "Convert it: keytool -importkeystore … -deststoretype PKCS12, then openssl pkcs12"
            )


def _check_credentials(settings: ClientSettings) -> None:
    if settings.has_sasl and (settings.sasl_username is None or settings.sasl_password is None):
        raise ConfigError(
            f"security.protocol={settings.security_protocol} needs credentials: set sasl.username "
            "and sasl.password, or sasl.jaas.config"
        )
    if settings.ssl_certificate_location is None and settings.ssl_key_location is not None:
        raise ConfigError(
            f"ssl.key.location={settings.ssl_key_location!r} needs ssl.certificate.location too"
        )
