"""What people who write connectors import: `from headrace.connect import SourceTask, source`.

These names are stable. A source or a sink is a class with settings that declare themselves, a
transform is a function; `headrace connect run file.py:Class` runs one.
"""

from __future__ import annotations

from headrace.pipelines.connect.config.definition import Password
from headrace.pipelines.connect.config.settings import Config
from headrace.pipelines.connect.faults import (
    ConfigException,
    ConnectException,
    DataException,
    RetriableException,
)
from headrace.pipelines.connect.model import schema
from headrace.pipelines.connect.model.batch import Batch
from headrace.pipelines.connect.model.column import Column
from headrace.pipelines.connect.model.record import Header, Record
from headrace.pipelines.connect.model.schema import Schema, Struct
from headrace.pipelines.connect.tasks import RowsRefused, SinkTask, SourceTask, sink, source
from headrace.pipelines.connect.transforms.function import transform

__all__ = [
    "Batch",
    "Column",
    "Config",
    "ConfigException",
    "ConnectException",
    "DataException",
    "Header",
    "Password",
    "Record",
    "RetriableException",
    "RowsRefused",
    "Schema",
    "SinkTask",
    "SourceTask",
    "Struct",
    "schema",
    "sink",
    "source",
    "transform",
]
