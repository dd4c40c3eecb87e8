"""The Datagen source: made-up records, as many as wanted and as fast as wanted.

A record follows from the seed, the task and its number alone, and the position is the number of
the next one: a task that is started again goes on with the records that it would have made.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from random import Random, SystemRandom
from typing import Final

import numpy as np
import pyarrow as pa

from headrace.pipelines.connect.config.definition import not_empty
from headrace.pipelines.connect.config.settings import Config
from headrace.pipelines.connect.connectors.datagen.generator import generator_of
from headrace.pipelines.connect.connectors.datagen.quickstarts import QUICKSTARTS
from headrace.pipelines.connect.converters.registry.avro_schemas import AvroOptions, schema_of
from headrace.pipelines.connect.converters.registry.avro_values import from_avro
from headrace.pipelines.connect.faults import ConfigException, DataException
from headrace.pipelines.connect.model import schema as schemas
from headrace.pipelines.connect.model.batch import Batch, Mark
from headrace.pipelines.connect.model.column import nothing, of_values
from headrace.pipelines.connect.model.java_text import text_of
from headrace.pipelines.connect.model.record import Header
from headrace.pipelines.connect.model.schema import Schema, Struct
from headrace.pipelines.connect.tasks import Offsets, SourceTask, source
from headrace.schemas.avro import parse
from headrace.schemas.avro.schema import Record
from headrace.schemas.model import InvalidSchema

_TASK: Final = "task.id"
_GENERATION: Final = "task.generation"
_ITERATION: Final = "current.iteration"
_SEED: Final = "random.seed"
_AT_ONCE: Final = 500
_REST_S: Final = 1.0
_SCHEMAS: Final = ("quickstart", "schema.string", "schema.filename")
_OPTIONS: Final = AvroOptions()


class DatagenSettings(Config):
    """What can be set."""

    topic: str = Config.key(
        "kafka.topic", doc="Topic to write to.", importance="high", check=not_empty
    )
    max_interval_ms: int = Config.key(
        "max.interval",
        default=500,
        long=True,
        doc="The longest pause before a record, in milliseconds; 0 for none.",
        importance="high",
    )
    iterations: int = Config.key(
        "iterations",
        default=-1,
        doc="How many records each task makes; less than 1 for no limit.",
        importance="high",
    )
    quickstart: str = Config.key(
        "quickstart",
        default="",
        doc=f"A schema by its name: {', '.join(QUICKSTARTS)}.",
        importance="high",
    )
    schema_text: str = Config.key(
        "schema.string",
        default="",
        doc="The Avro schema of the records, with arg.properties that say what values are like.",
        importance="high",
    )
    schema_file: str = Config.key(
        "schema.filename",
        default="",
        doc="The file that has the Avro schema.",
        importance="high",
    )
    key_field: str = Config.key(
        "schema.keyfield",
        default="",
        doc="The field that is the key; a quickstart has its own.",
        importance="high",
    )
    seed: int | None = Config.key(
        _SEED,
        default=None,
        long=True,
        doc="The number from which all records follow; without it, another one each time.",
    )
    task: int = Config.key(
        _TASK, default=0, doc="The number of the task, set by the connector.", importance="low"
    )

    def form(self) -> tuple[str, str]:
        """The text of the schema and the field of the key."""
        given = (self.quickstart, self.schema_text, self.schema_file)
        if sum(map(bool, given)) != 1:
            raise ConfigException(f"exactly one of {', '.join(_SCHEMAS)} must be set")
        if self.quickstart:
            found = QUICKSTARTS.get(self.quickstart.lower())
            if found is None:
                offered = ", ".join(QUICKSTARTS)
                raise ConfigException.of("quickstart", self.quickstart, f"there are: {offered}")
            text, key = found
            return text, self.key_field or key
        if self.schema_text:
            return self.schema_text, self.key_field
        try:
            return Path(self.schema_file).read_text(), self.key_field
        except OSError as fault:
            raise ConfigException.of("schema.filename", self.schema_file, str(fault)) from fault


class _Form:
    """What records look like and how they are made."""

    def __init__(self, text: str, key_field: str) -> None:
        try:
            root = parse(text).root
            self.schema = schema_of(root, _OPTIONS)
        except (InvalidSchema, DataException) as fault:
            raise ConfigException(f"the schema cannot be used: {fault}") from fault
        if not isinstance(root, Record):
            raise ConfigException(f"the schema must be a record's, not that of {root.kind}")
        self._root = root
        self._make = generator_of(root)
        self.key_field = key_field
        found = self.schema.field(key_field)
        if key_field and found is None:
            raise ConfigException.of("schema.keyfield", key_field, "the schema has no such field")
        self._key: Schema | None = None if found is None else found.schema

    def value(self, seed: int, task: int, iteration: int) -> Struct:
        made = self._make(Random(f"{seed}/{task}/{iteration}"), iteration)
        value = from_avro(self._root, self.schema, made)
        assert isinstance(value, Struct)
        return value

    def key(self, value: Struct) -> str:
        return text_of(value[self.key_field], self._key)


@source(
    "io.confluent.kafka.connect.datagen.DatagenConnector",
    version="0.6.6",
    settings=DatagenSettings,
    aliases=("DatagenConnector", "Datagen"),
)
class DatagenSource(SourceTask):
    """A task with records of its own. Once it has made them all, it rests."""

    @classmethod
    def task_configs(cls, settings: Config, most: int) -> list[Mapping[str, str]]:
        assert isinstance(settings, DatagenSettings)
        _Form(*settings.form())
        return [{_TASK: str(number)} for number in range(most)]

    def open(self, settings: Config, offsets: Offsets) -> None:
        assert isinstance(settings, DatagenSettings)
        self._settings = settings
        self._form = _Form(*settings.form())
        self._where = {_TASK: settings.task}
        kept = offsets(self._where) or {}
        self._generation = _whole(kept.get(_GENERATION), 0)
        self._next = _whole(kept.get(_ITERATION), 0)
        chosen = SystemRandom().getrandbits(63) if settings.seed is None else settings.seed
        self._seed = _whole(kept.get(_SEED), chosen)
        self._pauses = Random()

    def poll(self) -> Iterator[Batch]:
        settings = self._settings
        last = settings.iterations if settings.iterations > 0 else self._next + _AT_ONCE
        if self._next >= last:
            self.context.wait(_REST_S)
            return
        many = _AT_ONCE
        if settings.max_interval_ms > 0:
            many = 1
            if self.context.wait(settings.max_interval_ms * self._pauses.random() / 1000):
                return
        yield self._batch(range(self._next, min(last, self._next + many)))

    def _batch(self, numbers: range) -> Batch:
        form, task = self._form, self._settings.task
        values = [form.value(self._seed, task, number) for number in numbers]
        self._next = numbers.stop
        offset = {
            _GENERATION: self._generation + 1,
            _ITERATION: self._next,
            _SEED: self._seed,
        }
        rows = len(values)
        keys = nothing(rows)
        if form.key_field:
            keys = of_values(schemas.STRING, [form.key(value) for value in values])
        return Batch(
            self._settings.topic,
            keys,
            of_values(form.schema, values),
            pa.array(np.arange(rows)),
            headers=[self._headers(number) for number in numbers],
            marks=(Mark(rows, self._where, offset),),
        )

    def _headers(self, number: int) -> tuple[Header, ...]:
        said = {_GENERATION: self._generation, _TASK: self._settings.task, _ITERATION: number}
        return tuple(Header(name, value, schemas.INT64) for name, value in said.items())


def _whole(kept: object, otherwise: int) -> int:
    return kept if isinstance(kept, int) else otherwise
