"""JDBC's and SQLAlchemy's URLs as the drivers' own."""

from __future__ import annotations

import pytest

from headrace.pipelines.connect.config.definition import Password
from headrace.pipelines.connect.connectors.jdbc.dialects import dialect_of
from headrace.pipelines.connect.connectors.jdbc.url import address, sanitized
from headrace.pipelines.connect.faults import ConfigException


@pytest.mark.spec("book2:A4-03")
@pytest.mark.parametrize(
    ("url", "uri"),
    [
        ("jdbc:sqlite:packt.db", "packt.db"),
        ("jdbc:sqlite:/data/packt.db", "/data/packt.db"),
        ("jdbc:sqlite:/data/packt.db?date_class=TEXT", "/data/packt.db"),
        ("jdbc:sqlite:file:/data/packt.db?mode=ro", "file:/data/packt.db?mode=ro"),
        ("jdbc:sqlite::memory:", ":memory:"),
        ("jdbc:sqlite:", ":memory:"),
        ("sqlite:///packt.db", "packt.db"),
        ("sqlite+pysqlite:////data/packt.db", "/data/packt.db"),
        ("jdbc:postgresql://db:5433/shop", "postgresql://db:5433/shop"),
        ("jdbc:postgresql://a:1,b:2/shop", "postgresql://a:1,b:2/shop"),
        ("jdbc:postgresql:shop", "postgresql://localhost/shop"),
        ("jdbc:postgresql://db/shop?user=u&password=p%26q", "postgresql://u:p%26q@db/shop"),
        ("jdbc:postgresql://db/shop?ssl=true", "postgresql://db/shop?sslmode=verify-full"),
        (
            "jdbc:postgresql://db/s?currentSchema=x&prepareThreshold=0",
            "postgresql://db/s?options=-csearch_path%3Dx",
        ),
        (
            "jdbc:postgresql://a,b/s?targetServerType=preferSecondary",
            "postgresql://a,b/s?target_session_attrs=prefer-standby",
        ),
        ("postgresql+psycopg://u@db/shop", "postgresql://u@db/shop"),
        ("postgresql:///shop?host=/run", "postgresql:///shop?host=%2Frun"),
        ("jdbc:mysql://db:3306/shop", "mysql+pymysql://db:3306/shop?charset=utf8mb4"),
        (
            "jdbc:mariadb://db/shop?localSocket=/run/s&useSSL=false",
            "mysql+pymysql://db/shop?unix_socket=%2Frun%2Fs&charset=utf8mb4",
        ),
        (
            "jdbc:mysql://db/shop?sslMode=VERIFY_CA",
            "mysql+pymysql://db/shop?ssl_verify_cert=true&charset=utf8mb4",
        ),
        (
            "jdbc:mysql://db/shop?useSSL=true",
            "mysql+pymysql://db/shop?ssl_check_hostname=false&charset=utf8mb4",
        ),
        ("duckdb:///file", "duckdb:///file"),
    ],
)
def test_addresses(url: str, uri: str) -> None:
    assert address(url).uri == uri


@pytest.mark.spec("admin:CN-11")
@pytest.mark.parametrize(
    ("url", "uri"),
    [
        ("jdbc:postgresql://db/s?user=other", "postgresql://u:p%40%2F@db/s"),
        ("jdbc:mysql://db/s", "mysql+pymysql://u:p%40%2F@db/s?charset=utf8mb4"),
        ("mssql+pyodbc://x:y@db/s", "mssql+pyodbc://u:p%40%2F@db/s"),
    ],
)
def test_credentials_beside_the_url_come_first(url: str, uri: str) -> None:
    found = address(url, "u", Password("p@/"))
    assert found.uri == uri
    assert "p%40" not in repr(found)


def test_passwords_are_not_shown() -> None:
    assert sanitized("jdbc:x://h/d?password=secret&a=b") == "jdbc:x://h/d?password=[hidden]&a=b"
    assert sanitized("mysql://u:secret@h/d") == "mysql://u:[hidden]@h/d"
    with pytest.raises(ConfigException) as fault:
        address("jdbc:oracle://h?password=secret")
    assert "secret" not in str(fault.value)
    assert "jdbc:postgresql" in str(fault.value)


def test_what_is_no_url() -> None:
    with pytest.raises(ConfigException, match=r"connection\.url"):
        address("packt.db")


def test_dialects_by_name() -> None:
    lite, server = address("jdbc:sqlite:x"), address("jdbc:mysql://h/d")
    assert dialect_of(lite, quoting=True, zone="UTC").name == "SqliteDatabaseDialect"
    assert dialect_of(server, quoting=True, zone="UTC").name == "MySqlDatabaseDialect"
    named = dialect_of(server, quoting=True, zone="UTC", named="GenericDatabaseDialect")
    assert named.name == "GenericDatabaseDialect"
    for wrong in ("OracleDatabaseDialect", "MySqlDatabaseDialect"):
        with pytest.raises(ConfigException, match=r"dialect\.name"):
            dialect_of(lite, quoting=True, zone="UTC", named=wrong)
