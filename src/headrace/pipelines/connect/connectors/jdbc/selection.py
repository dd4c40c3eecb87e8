"""Which tables a source reads, and which of its tasks reads which."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from headrace.pipelines.connect.connectors.jdbc.dialects.dialect import Dialect
from headrace.pipelines.connect.connectors.jdbc.session import Session
from headrace.pipelines.connect.connectors.jdbc.source_settings import SourceSettings
from headrace.pipelines.connect.connectors.jdbc.tables import TableId
from headrace.pipelines.connect.faults import ConfigException, ConnectException


def chosen(settings: SourceSettings, dialect: Dialect, session: Session) -> list[TableId]:
    """The tables that the settings name, of those that there are."""
    found = dialect.tables(
        session, settings.table_types, settings.catalog_pattern, settings.schema_pattern
    )
    tables = [table for table in found if _wanted(settings, dialect, table)]
    places: dict[str, list[str]] = {}
    for table in tables:
        places.setdefault(table.name, []).append(table.plain)
    doubled = [names for names in places.values() if len(names) > 1]
    if doubled:
        raise ConnectException(
            "Tables of the same name would share a topic: "
            f"{'; '.join(', '.join(names) for names in doubled)}. Name one of each in "
            "table.whitelist, or narrow schema.pattern"
        )
    return tables


def _wanted(settings: SourceSettings, dialect: Dialect, table: TableId) -> bool:
    names = {table.name, table.plain, dialect.table(table), ".".join(table.parts[1:])}
    if settings.whitelist and not names & set(settings.whitelist):
        return False
    if names & set(settings.blacklist):
        return False
    if settings.include and not _matched("table.include.list", settings.include, names):
        return False
    return not _matched("table.exclude.list", settings.exclude, names)


def _matched(setting: str, patterns: Sequence[str], names: set[str]) -> bool:
    try:
        return any(re.fullmatch(pattern, name) for pattern in patterns for name in names)
    except re.error as error:
        raise ConfigException.of(
            setting, ",".join(patterns), f"Expected regular expressions: {error}"
        ) from error


def dealt(tables: Sequence[TableId], tasks: int) -> list[list[TableId]]:
    """The tables in a row, cut into as many even parts as there are tasks and tables for."""
    parts = min(tasks, len(tables))
    least, more = divmod(len(tables), parts) if parts else (0, 0)
    cuts = [part * least + min(part, more) for part in range(parts + 1)]
    return [list(tables[start:end]) for start, end in pairwise(cuts)]


def listed(dialect: Dialect, tables: Sequence[TableId]) -> str:
    """Tables as a setting of a task."""
    return ",".join(dialect.table(table) for table in tables)


def unlisted(dialect: Dialect, text: str) -> list[TableId]:
    """The tables of such a setting."""
    marked = _outside(text, dialect.quotes)
    return [dialect.parsed(part) for part in marked]


def _outside(text: str, quotes: tuple[str, str]) -> list[str]:
    """The parts between commas that no quotes are around."""
    parts, depth = [""], False
    for letter in text:
        depth ^= letter in quotes
        if letter == "," and not depth:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts if part.strip()]
