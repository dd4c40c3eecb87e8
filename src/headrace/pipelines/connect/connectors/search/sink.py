"""The search sink: a document for each record. What `put` took is in the index when it returns."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from headrace.pipelines.connect.config.settings import Config
from headrace.pipelines.connect.connectors.extras import needed_by
from headrace.pipelines.connect.connectors.search.mapping import mapping_of
from headrace.pipelines.connect.connectors.search.operations import (
    Operation,
    index_of,
    operations,
)
from headrace.pipelines.connect.connectors.search.settings import SearchSettings
from headrace.pipelines.connect.faults import ConnectException, RetriableException
from headrace.pipelines.connect.model.batch import Batch
from headrace.pipelines.connect.model.schema import Schema, Type
from headrace.pipelines.connect.tasks import RowsRefused, SinkTask, sink

if TYPE_CHECKING:
    from headrace.pipelines.connect.connectors.search.cluster import SearchCluster

_LOG: Final = logging.getLogger(__name__)
_MOST_BACKOFF_S: Final = 60.0


@sink(
    "io.confluent.connect.elasticsearch.ElasticsearchSinkConnector",
    version="15.0.0",
    settings=SearchSettings,
    aliases=(
        "io.aiven.kafka.connect.opensearch.OpensearchSinkConnector",
        "ElasticsearchSinkConnector",
        "ElasticsearchSink",
        "OpensearchSinkConnector",
        "OpenSearchSink",
    ),
)
class SearchSink(SinkTask):
    """One client for each task."""

    @classmethod
    def task_configs(cls, settings: Config, most: int) -> list[Mapping[str, str]]:
        assert isinstance(settings, SearchSettings)
        settings.check()
        return [{}] * most

    def open(self, settings: Config) -> None:
        assert isinstance(settings, SearchSettings)
        settings.check()
        with needed_by("the search sink"):
            from headrace.pipelines.connect.connectors.search.cluster import SearchCluster
        self._settings = settings
        self._retries = 0
        self._created: set[str] = set()
        self._cluster: SearchCluster = SearchCluster(
            settings.urls, settings.username, settings.password, settings.read_timeout_ms / 1000
        )

    def put(self, batch: Batch) -> None:
        index = index_of(self._settings, batch.topic)
        wanted, refused = operations(self._settings, index, batch)
        if self._settings.drop_invalid and refused:
            _LOG.warning("%d records of %s are dropped: %s", len(refused), batch.topic, refused)
            refused = {}
        if wanted:
            self._create(index, batch.value.schema)
        size = self._settings.batch_size
        for first in range(0, len(wanted), size):
            refused |= self._written(wanted[first : first + size])
        self._retries = 0
        if refused:
            raise RowsRefused(dict(sorted(refused.items())))

    def close(self) -> None:
        """Let go of the connections."""
        if hasattr(self, "_cluster"):
            self._cluster.close()

    def _create(self, index: str, schema: Schema | None) -> None:
        from headrace.pipelines.connect.connectors.search.cluster import SearchFault

        known = schema is not None and schema.type is Type.STRUCT
        if index in self._created or self._settings.schema_ignore or not known:
            return
        assert schema is not None
        try:
            self._cluster.create_index(index, mapping_of(schema))
        except SearchFault as fault:
            raise self._failed(str(fault), passing=fault.passing) from fault
        self._created.add(index)

    def _written(self, wanted: list[Operation]) -> dict[int, str]:
        """Ask for the operations; returns the rows that the index does not take."""
        from headrace.pipelines.connect.connectors.search.cluster import Fate, SearchFault

        try:
            results = self._cluster.bulk([(each.kind, each.lines) for each in wanted])
        except SearchFault as fault:
            raise self._failed(str(fault), passing=fault.passing) from fault
        refused: dict[int, str] = {}
        passing: list[str] = []
        for operation, result in zip(wanted, results, strict=True):
            if result.fate is Fate.MALFORMED:
                refused[operation.row] = result.reason
            elif result.fate is Fate.PASSING:
                passing.append(result.reason)
            elif result.fate is Fate.REJECTED:
                raise ConnectException(f"the cluster rejects a document: {result.reason}")
        if passing:
            told = f"{len(passing)} documents cannot be written now, the first: {passing[0]}"
            raise self._failed(told, passing=True)
        return self._malformed(refused)

    def _malformed(self, refused: dict[int, str]) -> dict[int, str]:
        behavior = self._settings.malformed.lower()
        if behavior == "warn":
            for reason in refused.values():
                _LOG.warning("a document is dropped, the index does not take it: %s", reason)
        return refused if behavior == "fail" else {}

    def _failed(self, reason: str, *, passing: bool) -> ConnectException:
        """A fault that may pass, while there are retries left, or one that ends the task.

        All of the batch comes again then, in its order: it ends with the same documents.
        """
        if not passing:
            return ConnectException(reason)
        if self._retries == self._settings.max_retries:
            return ConnectException(f"{reason} (after max.retries={self._retries} retries)")
        backoff_s = self._settings.retry_backoff_ms * 2**self._retries / 1000
        self._retries += 1
        self.context.wait(min(backoff_s, _MOST_BACKOFF_S))
        return RetriableException(reason)
