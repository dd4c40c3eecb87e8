"""An Elasticsearch or OpenSearch cluster, asked by opensearch-py. Knows nothing of records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final

from opensearchpy import OpenSearch, TransportError
from opensearchpy.exceptions import ConnectionError as Unreachable

from headrace.pipelines.connect.config.definition import Password
from headrace.pipelines.connect.connectors.addresses import without_user

_PASSING: Final = frozenset((408, 429, 500, 502, 503, 504))
_MALFORMED: Final = frozenset(
    (
        "mapper_parsing_exception",
        "document_parsing_exception",
        "strict_dynamic_mapping_exception",
        "illegal_argument_exception",
        "action_request_validation_exception",
    )
)
_TOO_LARGE: Final = 413


class Fate(Enum):
    """What became of an operation."""

    DONE = "done"
    PASSING = "may succeed later"
    MALFORMED = "the index does not take the document"
    REJECTED = "rejected"


@dataclass(frozen=True, slots=True)
class Result:
    """Of one operation, with the cluster's reason."""

    fate: Fate
    reason: str = ""


class SearchFault(Exception):
    """A request that failed as a whole; `passing` if it may succeed later."""

    def __init__(self, reason: str, *, passing: bool) -> None:
        super().__init__(reason)
        self.passing = passing


class SearchCluster:
    """A client of the cluster."""

    def __init__(
        self,
        urls: Sequence[str],
        username: str | None,
        password: Password | None,
        timeout_s: float,
    ) -> None:
        signed = None if username is None else (username, password.clear if password else "")
        self._urls = ", ".join(without_user(url) for url in urls)
        self._client = OpenSearch(
            list(urls), http_auth=signed, timeout=timeout_s, max_retries=0, retry_on_timeout=False
        )

    def create_index(self, name: str, mapping: Mapping[str, object]) -> None:
        """Create an index unless there is one of that name."""
        try:
            if not self._client.indices.exists(index=name):
                self._client.indices.create(index=name, body={"mappings": mapping})
        except TransportError as fault:
            if "resource_already_exists" not in str(fault.error):
                raise self._failed(fault) from fault

    def bulk(self, operations: Sequence[tuple[str, str]]) -> list[Result]:
        """The results of operations, each a kind and its lines; SearchFault if it has none."""
        try:
            answer = self._client.bulk(body="".join(lines for _, lines in operations))
        except TransportError as fault:
            if fault.status_code == _TOO_LARGE:
                return self._in_halves(operations)
            raise self._failed(fault) from fault
        items = [next(iter(item.items())) for item in answer["items"]]
        return [_result(kind, item) for kind, item in items]

    def close(self) -> None:
        """Let go of the connections."""
        self._client.close()

    def _in_halves(self, operations: Sequence[tuple[str, str]]) -> list[Result]:
        """What is too large for one request, as two; a document alone is too large for any."""
        if len(operations) == 1:
            reason = "the document is larger than the cluster's http.max_content_length"
            return [Result(Fate.MALFORMED, reason)]
        middle = len(operations) // 2
        return [*self.bulk(operations[:middle]), *self.bulk(operations[middle:])]

    def _failed(self, fault: TransportError) -> SearchFault:
        if isinstance(fault, Unreachable):
            return SearchFault(f"{self._urls} does not answer: {fault}", passing=True)
        status = fault.status_code
        told = f"{self._urls} answers {status}: {fault.error}"
        if status in (401, 403):
            told += "; check connection.username and connection.password"
        return SearchFault(told, passing=status in _PASSING)


def _result(kind: str, item: Mapping[str, object]) -> Result:
    status = item.get("status")
    assert isinstance(status, int)
    error = item.get("error")
    if not isinstance(error, dict):
        return Result(Fate.DONE)  # also 404 of a delete: there is nothing to delete
    reason = f"{error.get('type')}: {error.get('reason')}"
    cause = error.get("caused_by")
    if isinstance(cause, dict):
        reason += f" ({cause.get('reason')})"
    if status == 409:
        # An external version that is not higher: the index has this very record.
        return Result(Fate.PASSING, reason) if kind == "update" else Result(Fate.DONE)
    if status in _PASSING:
        return Result(Fate.PASSING, reason)
    return Result(Fate.MALFORMED if error.get("type") in _MALFORMED else Fate.REJECTED, reason)
