"""The settings that both connectors share, and a connection that is made again once it is lost."""

from __future__ import annotations

from collections.abc import Callable
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from headrace.pipelines.connect.config.definition import Password
from headrace.pipelines.connect.config.settings import Config
from headrace.pipelines.connect.connectors.jdbc.dialects import dialect_of
from headrace.pipelines.connect.connectors.jdbc.dialects.dialect import Dialect
from headrace.pipelines.connect.connectors.jdbc.session import (
    Session,
    SqlFault,
    Trouble,
    connect,
)
from headrace.pipelines.connect.connectors.jdbc.url import URL, address
from headrace.pipelines.connect.faults import ConfigException


def _zone(name: str, value: object) -> None:
    try:
        ZoneInfo(str(value))
    except (ZoneInfoNotFoundError, ValueError) as error:
        raise ConfigException.of(name, value, "Invalid time zone identifier") from error


def _quoting(name: str, value: object) -> None:
    if str(value).lower() not in ("always", "never"):
        raise ConfigException.of(name, value, "Must be one of always, never")


class ConnectionSettings(Config):
    """Where the database is and how it is spoken to."""

    url: str = Config.key(
        URL,
        doc="Address of the database: jdbc:sqlite:file.db, jdbc:postgresql://host:5432/database, "
        "jdbc:mysql://host:3306/database, or a URL of SQLAlchemy.",
        importance="high",
        group="Connection",
        width="LONG",
        display_name="JDBC URL",
    )
    user: str | None = Config.key(
        "connection.user",
        default=None,
        doc="User of the database.",
        importance="high",
        group="Connection",
        display_name="JDBC User",
    )
    password: Password | None = Config.key(
        "connection.password",
        default=None,
        doc="Password of the user.",
        importance="high",
        group="Connection",
        display_name="JDBC Password",
    )
    attempts: int = Config.key(
        "connection.attempts",
        default=3,
        at_least=1,
        doc="How many times a connection is tried.",
        importance="low",
        group="Connection",
        display_name="JDBC connection attempts",
    )
    backoff_ms: int = Config.key(
        "connection.backoff.ms",
        default=10_000,
        long=True,
        doc="Milliseconds between two attempts.",
        importance="low",
        group="Connection",
        display_name="JDBC connection backoff in milliseconds",
    )
    dialect_name: str = Config.key(
        "dialect.name",
        default="",
        doc="The dialect, if it does not follow from the URL.",
        importance="low",
        group="Connection",
        display_name="Database Dialect",
    )
    timezone: str = Config.key(
        "db.timezone",
        default="UTC",
        check=_zone,
        doc="The time zone of columns whose timestamps have none.",
        importance="medium",
        group="Connection",
        display_name="DB time zone",
    )
    quote: str = Config.key(
        "quote.sql.identifiers",
        default="always",
        check=_quoting,
        doc="Whether names of tables and columns are quoted: always or never.",
        importance="medium",
        group="Connection",
        display_name="Quote Identifiers",
    )


class Database:
    """A database that a task is connected to when it needs it."""

    def __init__(self, settings: ConnectionSettings, *, autocommit: bool) -> None:
        self._settings = settings
        self._address = address(settings.url, settings.user, settings.password)
        self._autocommit = autocommit
        self._session: Session | None = None
        self.dialect: Dialect = dialect_of(
            self._address,
            quoting=settings.quote.lower() == "always",
            zone=settings.timezone,
            named=settings.dialect_name,
        )

    def session(self, wait: Callable[[float], bool]) -> Session:
        """The connection; a passing SqlFault if the database cannot be reached. `wait` is how the
        task rests, and true if it shall stop."""
        if self._session is not None:
            return self._session
        for attempt in range(1, self._settings.attempts + 1):
            try:
                self._session = connect(self._address, autocommit=self._autocommit)
                for statement in self.dialect.opening:
                    self._session.run(statement)
                return self._session
            except SqlFault as fault:
                self.drop()
                stopping = attempt < self._settings.attempts and wait(
                    self._settings.backoff_ms / 1000
                )
                if attempt == self._settings.attempts or stopping:
                    raise SqlFault(
                        f"no connection to {self._address!r}: {fault}", Trouble.PASSING
                    ) from fault
        raise AssertionError("unreachable: an attempt succeeds or raises")

    def drop(self) -> None:
        """Forget the connection: what is asked next gets a new one."""
        session, self._session = self._session, None
        if session is not None:
            try:
                session.close()
            except SqlFault:
                pass  # a lost connection cannot say good-bye
