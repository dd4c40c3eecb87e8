"""The settings of the JDBC source."""

from __future__ import annotations

from typing import Final

from headrace.pipelines.connect.config.definition import one_of
from headrace.pipelines.connect.config.settings import Config
from headrace.pipelines.connect.connectors.jdbc.connection import ConnectionSettings
from headrace.pipelines.connect.connectors.jdbc.types import NUMERIC_MAPPINGS
from headrace.pipelines.connect.faults import ConfigException, ConnectException

BULK: Final = "bulk"
INCREMENTING: Final = "incrementing"
TIMESTAMP: Final = "timestamp"
TIMESTAMP_INCREMENTING: Final = "timestamp+incrementing"


def _mapping(name: str, value: object) -> None:
    if value is not None:
        one_of(*NUMERIC_MAPPINGS, ignore_case=True)(name, value)


class SourceSettings(ConnectionSettings):
    """What is read, how new rows are told from old ones, and where they go."""

    mode: str = Config.key(
        "mode",
        choices=(BULK, TIMESTAMP, INCREMENTING, TIMESTAMP_INCREMENTING),
        doc="How rows are found each time a table is polled: all of them (bulk), those with a "
        "higher number (incrementing), those with a later timestamp (timestamp), or by both "
        "(timestamp+incrementing).",
        importance="high",
        group="Mode",
        display_name="Table Loading Mode",
    )
    incrementing_column: str = Config.key(
        "incrementing.column.name",
        default="",
        doc="The column whose numbers only grow; empty to look for one that counts by itself.",
        group="Mode",
        display_name="Incrementing Column Name",
    )
    timestamp_columns: list[str] = Config.key(
        "timestamp.column.name",
        default=[],
        doc="Columns with the time of a row's last change; the first that is not null counts.",
        group="Mode",
        display_name="Timestamp Column Name",
    )
    timestamp_initial: int | None = Config.key(
        "timestamp.initial",
        default=None,
        long=True,
        doc="Milliseconds since 1970 from which the first poll reads; -1 for now.",
        importance="low",
        group="Mode",
        display_name="Unix time value of initial timestamp",
    )
    delay_ms: int = Config.key(
        "timestamp.delay.interval.ms",
        default=0,
        long=True,
        doc="How old a row must be to be read, so that transactions with earlier times can end.",
        group="Mode",
        display_name="Delay Interval (ms)",
    )
    validate_non_null: bool = Config.key(
        "validate.non.null",
        default=True,
        doc="Whether the columns that tell new rows must be declared NOT NULL.",
        importance="low",
        group="Mode",
        display_name="Validate Non Null",
    )
    query: str = Config.key(
        "query",
        default="",
        doc="A query to read instead of tables. Conditions are added to it, so it has no WHERE of "
        "its own unless the mode is bulk.",
        group="Mode",
        width="LONG",
        display_name="Query",
    )
    query_suffix: str = Config.key(
        "query.suffix",
        default="",
        doc="Text behind every query, such as a LIMIT.",
        importance="low",
        group="Mode",
        display_name="Query suffix",
    )
    whitelist: list[str] = Config.key(
        "table.whitelist",
        default=[],
        doc="The tables to read; without it, all.",
        group="Database",
        display_name="Table Whitelist",
    )
    blacklist: list[str] = Config.key(
        "table.blacklist",
        default=[],
        doc="The tables not to read.",
        group="Database",
        display_name="Table Blacklist",
    )
    include: list[str] = Config.key(
        "table.include.list",
        default=[],
        doc="Regular expressions for the full names of the tables to read.",
        group="Database",
        display_name="Table Include List",
    )
    exclude: list[str] = Config.key(
        "table.exclude.list",
        default=[],
        doc="Regular expressions for the full names of tables not to read.",
        group="Database",
        display_name="Table Exclude List",
    )
    catalog_pattern: str | None = Config.key(
        "catalog.pattern",
        default=None,
        doc="A LIKE pattern of catalogs.",
        group="Database",
        display_name="Catalog pattern",
    )
    schema_pattern: str | None = Config.key(
        "schema.pattern",
        default=None,
        doc="A LIKE pattern of schemas.",
        importance="high",
        group="Database",
        display_name="Schema pattern",
    )
    table_types: list[str] = Config.key(
        "table.types",
        default=["TABLE"],
        doc="Which kinds of tables are read: TABLE, VIEW and what else the database has.",
        importance="low",
        group="Connector",
        display_name="Table Types",
    )
    topic_prefix: str = Config.key(
        "topic.prefix",
        doc="What stands before a table's name in its topic's; of a query, the topic's name.",
        importance="high",
        group="Connector",
        display_name="Topic Prefix",
    )
    poll_ms: int = Config.key(
        "poll.interval.ms",
        default=5_000,
        doc="Milliseconds between two polls of a table.",
        importance="high",
        group="Connector",
        display_name="Poll Interval (ms)",
    )
    rows: int = Config.key(
        "batch.max.rows",
        default=100,
        at_least=1,
        doc="The most rows of one batch.",
        importance="low",
        group="Connector",
        display_name="Max Rows Per Batch",
    )
    table_poll_ms: int = Config.key(
        "table.poll.interval.ms",
        default=60_000,
        long=True,
        doc="How often new and dropped tables are looked for, in milliseconds.",
        importance="low",
        group="Connector",
        display_name="Metadata Change Monitoring Interval (ms)",
    )
    numeric_precision_mapping: bool = Config.key(
        "numeric.precision.mapping",
        default=False,
        doc="Deprecated: numeric.mapping=precision_only.",
        importance="low",
        group="Database",
        display_name="Map Numeric Values By Precision (deprecated)",
    )
    numeric_mapping: str | None = Config.key(
        "numeric.mapping",
        default=None,
        check=_mapping,
        doc="Exact numbers as Connect's Decimal (none), as integers where they are whole "
        "(precision_only), as integers or doubles where they fit (best_fit), as doubles wherever "
        "they have digits behind the point (best_fit_eager_double).",
        importance="low",
        group="Database",
        display_name="Map Numeric Values, Integral or Decimal, By Precision and Scale",
    )
    tables: str = Config.key(
        "tables",
        default="",
        doc="Set by the connector: the tables of one task.",
        group="Connector",
        visible=lambda settings: False,
    )
    tables_known: str = Config.key(
        "headrace.tables",
        default="",
        doc="Set by the connector: the tables of all its tasks.",
        group="Connector",
        visible=lambda settings: False,
    )

    @property
    def mapping(self) -> str:
        """The mapping of exact numbers that holds."""
        if self.numeric_mapping is not None:
            return self.numeric_mapping.lower()
        return "precision_only" if self.numeric_precision_mapping else "none"

    @property
    def counts(self) -> bool:
        """Whether an incrementing column tells new rows."""
        return self.mode in (INCREMENTING, TIMESTAMP_INCREMENTING)

    @property
    def times(self) -> bool:
        """Whether timestamp columns tell new rows."""
        return self.mode in (TIMESTAMP, TIMESTAMP_INCREMENTING)

    def check(self) -> None:
        """What no single setting can say of itself."""
        if self.times and not self.timestamp_columns:
            raise ConfigException.of(
                "timestamp.column.name", "", f"mode={self.mode} needs a timestamp column"
            )
        chosen = [
            name
            for name, given in (
                ("table.whitelist", self.whitelist),
                ("table.blacklist", self.blacklist),
                ("table.include.list", self.include),
                ("table.exclude.list", self.exclude),
            )
            if given
        ]
        if self.query and chosen:
            raise ConnectException("query may not be combined with whole-table copying settings.")
        if self.whitelist and len(chosen) > 1:
            raise ConnectException(f"{' and '.join(chosen)} are exclusive.")
