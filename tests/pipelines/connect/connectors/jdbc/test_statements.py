"""Statements of each dialect, as Confluent's connector writes them."""

from __future__ import annotations

import datetime

import pytest

from headrace.pipelines.connect.connectors.jdbc.dialects.dialect import Dialect
from headrace.pipelines.connect.connectors.jdbc.dialects.mysql import MysqlDialect
from headrace.pipelines.connect.connectors.jdbc.dialects.postgresql import PostgresqlDialect
from headrace.pipelines.connect.connectors.jdbc.dialects.sqlite import SqliteDialect
from headrace.pipelines.connect.connectors.jdbc.fields import Fields, SinkField
from headrace.pipelines.connect.connectors.jdbc.tables import TableId
from headrace.pipelines.connect.faults import ConnectException
from headrace.pipelines.connect.model import schema as schemas
from headrace.pipelines.connect.model.schema import Schema, Type

TABLE = TableId("t")
NEW = [
    SinkField("id", schemas.INT32, primary_key=True),
    SinkField("a", schemas.OPTIONAL_STRING),
    SinkField("b", Schema(Type.BOOLEAN, default=True)),
    SinkField("d", schemas.decimal(2)),
    SinkField("w", schemas.timestamp(default=datetime.datetime(2020, 1, 2, tzinfo=datetime.UTC))),
]
FIELDS = Fields(("id",), ("a", "b"), tuple(NEW[:3]))


def test_sqlite() -> None:
    dialect = SqliteDialect()
    assert dialect.create_table(TABLE, NEW) == (
        "CREATE TABLE `t` (\n`id` INTEGER NOT NULL,\n`a` TEXT NULL,\n`b` INTEGER DEFAULT 1,\n"
        "`d` NUMERIC NOT NULL,\n`w` NUMERIC DEFAULT '2020-01-02 00:00:00.000',\n"
        "PRIMARY KEY(`id`))"
    )
    assert dialect.alter_table(TABLE, NEW[1:3]) == [
        "ALTER TABLE `t` ADD `a` TEXT NULL",
        "ALTER TABLE `t` ADD `b` INTEGER DEFAULT 1",
    ]
    assert [dialect.statement(write, TABLE, FIELDS) for write in ("insert", "upsert")] == [
        "INSERT INTO `t`(`id`,`a`,`b`) VALUES(?,?,?)",
        "INSERT OR REPLACE INTO `t`(`id`,`a`,`b`) VALUES(?,?,?)",
    ]
    assert dialect.statement("update", TABLE, FIELDS) == (
        "UPDATE `t` SET `a` = ?, `b` = ? WHERE `id` = ?"
    )
    assert dialect.statement("delete", TABLE, FIELDS) == "DELETE FROM `t` WHERE `id` = ?"


def test_postgresql() -> None:
    dialect = PostgresqlDialect(zone="Europe/Zurich")
    assert dialect.create_table(TABLE, NEW) == (
        'CREATE TABLE "t" (\n"id" INT NOT NULL,\n"a" TEXT NULL,\n"b" BOOLEAN DEFAULT TRUE,\n'
        '"d" DECIMAL NOT NULL,\n"w" TIMESTAMP DEFAULT \'2020-01-02 01:00:00.000\',\n'
        'PRIMARY KEY("id"))'
    )
    assert dialect.alter_table(TABLE, NEW[1:3]) == [
        'ALTER TABLE "t" \nADD "a" TEXT NULL,\nADD "b" BOOLEAN DEFAULT TRUE'
    ]
    numbers = SinkField("n", schemas.array(schemas.INT64))
    assert dialect.sql_type(numbers) == "BIGINT[]"


def test_mysql() -> None:
    dialect = MysqlDialect()
    assert dialect.create_table(TABLE, NEW) == (
        "CREATE TABLE `t` (\n`id` INT NOT NULL,\n`a` TEXT NULL,\n`b` TINYINT DEFAULT 1,\n"
        "`d` DECIMAL(65,2) NOT NULL,\n`w` DATETIME(3) DEFAULT '2020-01-02 00:00:00.000',\n"
        "PRIMARY KEY(`id`))"
    )
    assert dialect.statement("upsert", TABLE, FIELDS) == (
        "insert into `t`(`id`,`a`,`b`) values(:p0,:p1,:p2) on duplicate key update "
        "`a`=values(`a`),`b`=values(`b`)"
    )
    keys_only = Fields(("id",), (), tuple(NEW[:1]))
    assert dialect.statement("upsert", TABLE, keys_only).endswith("update `id`=values(`id`)")


@pytest.mark.parametrize("dialect", [SqliteDialect(), PostgresqlDialect(), MysqlDialect()])
def test_names(dialect: Dialect) -> None:
    before, after = dialect.quotes
    odd = TableId("a" + after + "b", "s")
    assert dialect.table(odd) == f"{before}s{after}.{before}a{after}{after}b{after}"
    for text in ("c.s.t", '"c"."s"."t"', f"{before}c{after}.s.{before}t{after}"):
        assert dialect.parsed(text) == TableId("t", "s", "c")
    assert dialect.parsed(f"{before}a.b{after}") == TableId("a.b")


def test_names_that_are_not_quoted() -> None:
    assert SqliteDialect(quoting=False).table(TableId("T", "s")) == "s.T"
    assert PostgresqlDialect(quoting=False).parsed("Sales") == TableId("sales")


def test_types_without_a_column() -> None:
    field = SinkField("m", schemas.map_of(schemas.STRING, schemas.STRING))
    with pytest.raises(ConnectException) as fault:
        SqliteDialect().sql_type(field)
    assert str(fault.value) == (
        "null (MAP) type doesn't have a mapping to the SQL database column type"
    )
