"""The HTTP sink: records as bodies of requests, in their order.

At least once: a request whose answer is lost is sent again. A status that is not retried says that
the records of the request will never be taken.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import quote

from headrace.pipelines.connect.config.settings import Config
from headrace.pipelines.connect.connectors.documents import json_of, payload_of
from headrace.pipelines.connect.connectors.extras import needed_by
from headrace.pipelines.connect.connectors.http.settings import SinkSettings
from headrace.pipelines.connect.faults import ConnectException, DataException, RetriableException
from headrace.pipelines.connect.model import java_text
from headrace.pipelines.connect.model.batch import Batch
from headrace.pipelines.connect.model.record import Record
from headrace.pipelines.connect.tasks import Partition, RowsRefused, SinkTask, sink

if TYPE_CHECKING:
    from headrace.pipelines.connect.connectors.http.exchange import Exchange


@dataclass(slots=True)
class _Group:
    """Records that go with one request."""

    method: str
    url: str
    rows: list[int] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)


@dataclass(slots=True)
class _Begun:
    """A batch that is under way: requests before this offset are answered, some with a refusal.

    `first` tells it from other batches when it comes again after a fault: a transform may have
    made one topic of several, and then their offsets are no places in it.
    """

    first: object
    before: int = 0
    refused: dict[int, str] = field(default_factory=dict)


@sink(
    "io.confluent.connect.http.HttpSinkConnector",
    version="1.7.8",
    settings=SinkSettings,
    aliases=("HttpSinkConnector", "HttpSink"),
)
class HttpSink(SinkTask):
    """One client for each task."""

    @classmethod
    def task_configs(cls, settings: Config, most: int) -> list[Mapping[str, str]]:
        assert isinstance(settings, SinkSettings)
        settings.check()
        return [{}] * most

    def open(self, settings: Config) -> None:
        assert isinstance(settings, SinkSettings)
        settings.check()
        with needed_by("the HTTP sink"):
            from headrace.pipelines.connect.connectors.http.exchange import Exchange
        self._settings = settings
        self._exchange: Exchange = Exchange(settings)
        self._retries = 0
        self._begun: dict[tuple[str, int | None], _Begun] = {}

    def put(self, batch: Batch) -> None:
        from headrace.pipelines.connect.connectors.http.exchange import Ask, HttpFault

        offsets = batch.positions.to_pylist()
        groups, refused = self._groups(batch)
        begun = self._begun.pop((batch.topic, batch.partition), None)
        first = None if not groups else (offsets[groups[0].rows[0]], groups[0])
        if begun is None or begun.first != first:
            begun = _Begun(first)
        for group in groups:
            if offsets[group.rows[-1]] < begun.before:
                continue  # answered before a later request failed
            try:
                self._exchange.ask(Ask(group.method, group.url, self._body(group)))
            except HttpFault as fault:
                if fault.passing:
                    self._begun[batch.topic, batch.partition] = begun
                    raise self._failed(fault) from fault
                begun.refused |= {offsets[row]: str(fault) for row in group.rows}
            self._retries = 0
            begun.before = offsets[group.rows[-1]] + 1
        reasons = begun.refused
        refused |= {row: reasons[at] for row, at in enumerate(offsets) if at in reasons}
        if refused:
            raise RowsRefused(dict(sorted(refused.items())))

    def revoked(self, partitions: Iterable[Partition]) -> None:
        """Forget how far batches were: others may go on with them."""
        self._begun.clear()

    def close(self) -> None:
        """Let go of the connections."""
        if hasattr(self, "_exchange"):
            self._exchange.close()

    def _groups(self, batch: Batch) -> tuple[list[_Group], dict[int, str]]:
        """What is to be asked for, and the rows for which nothing can be."""
        settings = self._settings
        groups: list[_Group] = []
        refused: dict[int, str] = {}
        for row, record in enumerate(batch.records()):
            method = settings.method.upper()
            if record.value is None:
                if settings.null_values.lower() == "fail":
                    refused[row] = "the record has no value: see behavior.on.null.values"
                if settings.null_values.lower() != "delete":
                    continue
                method = "DELETE"
            try:
                url, body = _address(settings.url, record), self._payload(record)
            except DataException as fault:
                refused[row] = str(fault)
                continue
            last = groups[-1] if groups else _Group("", "")
            full = len(last.rows) == settings.batch_max
            if full or (last.method, last.url) != (method, url):
                groups.append(_Group(method, url))
            groups[-1].rows.append(row)
            groups[-1].bodies.append(body)
        return groups, refused

    def _payload(self, record: Record) -> bytes:
        as_json = self._settings.as_array or self._settings.body_format.lower() == "json"
        if as_json and isinstance(record.value, str | bytes):
            return json_of(record.value_schema, record.value).encode()
        return payload_of(record.value_schema, record.value)

    def _body(self, group: _Group) -> bytes:
        settings = self._settings
        bodies = [body for body in group.bodies if body]
        if group.method == "DELETE" and not bodies:
            return b""
        whole = settings.separator.encode().join(bodies)
        if settings.as_array:
            return b"[" + b",".join(bodies) + b"]"
        return settings.prefix.encode() + whole + settings.suffix.encode()

    def _failed(self, fault: Exception) -> ConnectException:
        """A fault that may pass, while there are retries left, or one that ends the task."""
        if self._retries == self._settings.max_retries:
            return ConnectException(f"{fault} (after max.retries={self._retries} retries)")
        self._retries += 1
        self.context.wait(self._settings.retry_backoff_ms / 1000)
        return RetriableException(str(fault))


def _address(template: str, record: Record) -> str:
    """The address, with the record's topic and key in it."""
    key = "" if record.key is None else java_text.text_of(record.key, record.key_schema)
    return template.replace("${topic}", quote(record.topic, safe="")).replace(
        "${key}", quote(key, safe="")
    )
