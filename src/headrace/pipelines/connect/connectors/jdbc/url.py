"""Addresses of databases: JDBC's URLs, and SQLAlchemy's, as what the drivers here take.

| given | driver |
|---|---|
| `jdbc:sqlite:<file>`, `sqlite:///<file>` | ADBC for SQLite |
| `jdbc:postgresql://host:port/database?…`, `postgresql://…` | ADBC for PostgreSQL (libpq) |
| `jdbc:mysql://…`, `jdbc:mariadb://…` | SQLAlchemy with PyMySQL |
| any other URL of SQLAlchemy | SQLAlchemy with the driver that it names |

Options that tune Java's drivers and have no counterpart are passed over, as Java's drivers pass
over options that they do not know.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final
from urllib.parse import parse_qsl, quote, unquote, urlencode

from headrace.pipelines.connect.config.definition import HIDDEN, Password
from headrace.pipelines.connect.faults import ConfigException

URL: Final = "connection.url"


@dataclass(frozen=True, slots=True)
class Address:
    """Where a database is. `dialect` names its kind; `uri` is for ADBC or, if not, SQLAlchemy.
    `lock_wait_ms` is how long SQLite waits for another writer."""

    dialect: str
    uri: str
    adbc: bool
    lock_wait_ms: int = 3000

    def __repr__(self) -> str:
        return sanitized(self.uri)


def address(url: str, user: str | None = None, password: Password | None = None) -> Address:
    """The address that a URL and the credentials beside it mean."""
    secret = None if password is None else password.clear
    kind, rest = _kind(url)
    if kind == "sqlite":
        return _sqlite(rest)
    if kind == "postgresql":
        return Address(kind, _network(kind, rest, user, secret, _LIBPQ), adbc=True)
    if kind == "mysql":
        return Address(kind, _network("mysql+pymysql", rest, user, secret, _PYMYSQL), adbc=False)
    return Address("generic", _with_credentials(url, user, secret), adbc=False)


def sanitized(url: str) -> str:
    """The URL without its passwords, to be shown."""
    hidden = re.sub(r"(?i)([?&;][^=&;]*password[^=&;]*=)[^&;]*", rf"\1{HIDDEN}", url)
    return re.sub(r"(://[^:/@]*:)[^@/]*@", rf"\1{HIDDEN}@", hidden)


_KINDS: Final = {
    "sqlite": "sqlite",
    "postgresql": "postgresql",
    "postgres": "postgresql",
    "mysql": "mysql",
    "mariadb": "mysql",
}


def _kind(url: str) -> tuple[str, str]:
    """The kind of database, and what follows the kind and its colon."""
    given = url.strip()
    jdbc = given.lower().startswith("jdbc:")
    scheme, colon, rest = (given[5:] if jdbc else given).partition(":")
    if not colon:
        raise ConfigException.of(URL, url, f"Expected a URL such as {_EXAMPLE}")
    kind = _KINDS.get(scheme.lower().partition("+")[0], "generic")
    if jdbc and kind == "generic":
        raise ConfigException.of(
            URL,
            sanitized(url),
            f"No driver for jdbc:{scheme}; give SQLAlchemy's URL of the database, or one of "
            f"jdbc:sqlite, jdbc:postgresql, jdbc:mysql, jdbc:mariadb",
        )
    return kind, rest if jdbc or kind != "sqlite" else _sqlalchemy_file(rest)


_EXAMPLE: Final = "jdbc:postgresql://host:5432/database"


def _sqlalchemy_file(rest: str) -> str:
    """SQLAlchemy's `//` and `///file` as JDBC writes them."""
    return rest.removeprefix("///") if rest.startswith("///") else rest.removeprefix("//")


def _sqlite(rest: str) -> Address:
    path, _, query = rest.partition("?")
    options = dict(parse_qsl(query))
    wait = options.get("busy_timeout", "")
    uri = rest if rest.startswith("file:") else path or ":memory:"
    made = Address("sqlite", uri, adbc=True)
    return replace(made, lock_wait_ms=int(wait)) if wait.isdigit() else made


# JDBC's options as the drivers here call them.
_LIBPQ: Final = {
    "user": "user",
    "password": "password",
    "host": "host",
    "port": "port",
    "sslmode": "sslmode",
    "sslrootcert": "sslrootcert",
    "sslcert": "sslcert",
    "sslkey": "sslkey",
    "ApplicationName": "application_name",
    "application_name": "application_name",
    "connectTimeout": "connect_timeout",
    "connect_timeout": "connect_timeout",
    "options": "options",
    "target_session_attrs": "target_session_attrs",
    "gssEncMode": "gssencmode",
}
_SERVERS: Final = {
    "master": "primary",
    "slave": "standby",
    "secondary": "standby",
    "preferSlave": "prefer-standby",
    "preferSecondary": "prefer-standby",
}
_PYMYSQL: Final = {
    "localSocket": "unix_socket",
    "unix_socket": "unix_socket",
    "charset": "charset",
    "connect_timeout": "connect_timeout",
    "serverSslCert": "ssl_ca",
    "ssl_ca": "ssl_ca",
}


def _network(
    scheme: str, rest: str, user: str | None, secret: str | None, known: Mapping[str, str]
) -> str:
    """`//user:password@host:port/database?options` of JDBC or SQLAlchemy as the driver's URL."""
    place, _, query = rest.partition("?")
    given = dict(parse_qsl(query, keep_blank_values=True))
    authority, _, database = (
        place.removeprefix("//").partition("/") if "//" in place else ("", "", place)
    )
    login, at, hosts = authority.rpartition("@")
    named, _, hidden = login.partition(":") if at else ("", "", "")
    who = user or unquote(named) or given.get("user")
    word = secret or unquote(hidden) or given.get("password")
    options = {
        known[name]: value
        for name, value in given.items()
        if name in known and name not in ("user", "password")
    }
    options |= _encryption(scheme, given)
    if scheme == "postgresql" and "currentSchema" in given:
        options["options"] = f"-csearch_path={given['currentSchema']}"
    if scheme == "postgresql" and "targetServerType" in given:
        wanted = given["targetServerType"]
        options["target_session_attrs"] = _SERVERS.get(wanted, wanted)
    if scheme != "postgresql":
        options.setdefault("charset", "utf8mb4")
        hosts = hosts or "localhost"
    elif not hosts and "host" not in options:
        hosts = "localhost"
    credentials = "" if not who else quote(who, safe="")
    if who and word:
        credentials += ":" + quote(word, safe="")
    told = f"?{urlencode(options, quote_via=quote)}" if options else ""
    return f"{scheme}://{credentials}{'@' if credentials else ''}{hosts}/{database}{told}"


def _encryption(scheme: str, given: Mapping[str, str]) -> dict[str, str]:
    if scheme == "postgresql":
        wished = given.get("ssl", "").lower() in ("true", "1") and "sslmode" not in given
        return {"sslmode": "verify-full"} if wished else {}
    mode = given.get("sslMode", "").lower().replace("_", "-")
    if mode == "verify-ca":
        return {"ssl_verify_cert": "true"}
    if mode in ("verify-identity", "verify-full"):
        return {"ssl_verify_cert": "true", "ssl_verify_identity": "true"}
    wished = mode in ("required", "trust") or given.get("useSSL", "").lower() == "true"
    return {"ssl_check_hostname": "false"} if wished else {}


def _with_credentials(url: str, user: str | None, secret: str | None) -> str:
    if not user:
        return url
    scheme, _, rest = url.partition("://")
    tail = rest.rpartition("@")[2]
    credentials = quote(user, safe="") + (":" + quote(secret, safe="") if secret else "")
    return f"{scheme}://{credentials}@{tail}"
