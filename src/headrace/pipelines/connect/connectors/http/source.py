"""The HTTP source: records of JSON answers, asked for with an offset that each answer moves on.

| mode | ${offset} of the next request | nothing new if |
|---|---|---|
| SIMPLE_INCREMENTING | the number of records so far, from http.initial.offset | no records |
| CURSOR_PAGINATION | what the answer has at http.next.page.json.pointer | that is missing |
| CHAINING | what the last record has at http.offset.json.pointer | no records |

The offset of the next request is the position. Once there is nothing new the same request is made
again, after a rest; the last page of a cursor is read again then, and only what it has beyond the
records that were read before is new.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING
from urllib.parse import quote, urljoin, urlsplit

from headrace.pipelines.connect.config.settings import Config
from headrace.pipelines.connect.connectors.addresses import without_user
from headrace.pipelines.connect.connectors.extras import needed_by
from headrace.pipelines.connect.connectors.http.settings import SourceSettings
from headrace.pipelines.connect.faults import ConnectException, DataException, RetriableException
from headrace.pipelines.connect.model.batch import Batch
from headrace.pipelines.connect.tasks import Offsets, SourceTask, source

if TYPE_CHECKING:
    from headrace.pipelines.connect.connectors.http.exchange import Exchange


@source(
    "io.confluent.connect.http.HttpSourceConnector",
    version="1.0.0",
    settings=SourceSettings,
    aliases=("HttpSourceConnector", "HttpSource"),
)
class HttpSource(SourceTask):
    """One task asks one address."""

    @classmethod
    def task_configs(cls, settings: Config, most: int) -> list[Mapping[str, str]]:
        assert isinstance(settings, SourceSettings)
        settings.check()
        return [{}]

    def open(self, settings: Config, offsets: Offsets) -> None:
        assert isinstance(settings, SourceSettings)
        settings.check()
        with needed_by("the HTTP source"):
            from headrace.pipelines.connect.connectors.http.exchange import Exchange
        self._settings = settings
        self._mode = settings.mode.upper()
        self._exchange: Exchange = Exchange(settings)
        self._retries = 0
        self._due = 0.0
        self._where = {"url": without_user(settings.url)}
        kept = offsets(self._where) or offsets({"url": settings.url}) or {}
        first = settings.initial or ("0" if self._mode == "SIMPLE_INCREMENTING" else "")
        self._offset = str(kept.get("offset", first))
        read = kept.get("read", 0)
        self._read = read if isinstance(read, int) else 0
        """How many records of this page were read: of a cursor's last page more may follow."""

    def poll(self) -> Iterator[Batch]:
        rest_s = self._due - time.monotonic()
        if rest_s > 0 and (self.context.wait(min(rest_s, 1.0)) or rest_s > 1.0):
            return
        answer = self._answer()
        records = _records(answer, self._settings.data)
        new = records[self._read :]
        if not self._moved(answer, records):
            self._due = time.monotonic() + self._settings.rest_s
            if self._mode == "CHAINING":
                return  # what was asked for is the last that there is
        if new:
            yield Batch.of_rows(
                new,
                topic=self._settings.target,
                partition=self._where,
                offset={"offset": self._offset, "read": self._read},
            )

    def close(self) -> None:
        """Let go of the connections."""
        if hasattr(self, "_exchange"):
            self._exchange.close()

    def _answer(self) -> object:
        from headrace.pipelines.connect.connectors.http.exchange import Ask, HttpFault

        settings = self._settings
        url, signed = settings.url.replace("${offset}", quote(self._offset, safe="")), True
        if self._is_address():
            url = urljoin(settings.url, self._offset)
            signed = _origin(url) == _origin(settings.url)
        body = settings.body.replace("${offset}", self._offset).encode()
        try:
            asked = Ask(settings.method.upper(), url, body, signed=signed, reads_all=True)
            data = self._exchange.ask(asked)
        except HttpFault as fault:
            if not fault.passing or self._retries == settings.max_retries:
                raise ConnectException(str(fault)) from fault
            self._retries += 1
            self.context.wait(settings.retry_backoff_ms / 1000)
            raise RetriableException(str(fault)) from fault
        self._retries = 0
        try:
            return json.loads(data) if data else None
        except ValueError as fault:
            raise DataException(f"the answer of {url} is not JSON: {fault}") from fault

    def _is_address(self) -> bool:
        """Whether the cursor is where to ask, and not what to ask for there."""
        if self._mode != "CURSOR_PAGINATION":
            return False
        has_place = "${offset}" in self._settings.url + self._settings.body
        return self._offset.startswith(
            ("http:", "https:") if has_place else ("http:", "https:", "/")
        )

    def _moved(self, answer: object, records: list[object]) -> bool:
        """Set the offset of the next request; false if there is nothing to ask for yet."""
        if self._mode == "CURSOR_PAGINATION":
            following = _at_pointer(answer, self._settings.page)
            if following in (None, "", False):
                self._read = len(records)
                return False
            self._offset, self._read = _text(following), 0
            return True
        if not records:
            return False
        if self._mode == "SIMPLE_INCREMENTING":
            if not self._offset.lstrip("-").isdigit():
                raise ConnectException(f"http.initial.offset must be a number: {self._offset}")
            self._offset = str(int(self._offset) + len(records))
            return True
        following = _at_pointer(records[-1], self._settings.offset)
        if following is None:
            raise DataException(
                f"a record has nothing at http.offset.json.pointer={self._settings.offset}"
            )
        moved = _text(following) != self._offset
        self._offset = _text(following)
        return moved


def _records(answer: object, pointer: str) -> list[object]:
    found = _at_pointer(answer, pointer)
    if found is None:
        return []
    return found if isinstance(found, list) else [found]


def _at_pointer(value: object, pointer: str) -> object:
    """What a JSON pointer leads to; None if nothing is there."""
    for step in pointer.split("/")[1:]:
        name = step.replace("~1", "/").replace("~0", "~")
        if isinstance(value, dict):
            value = value.get(name)
        elif isinstance(value, list) and name.isdigit() and int(name) < len(value):
            value = value[int(name)]
        else:
            return None
    return value


def _text(offset: object) -> str:
    return offset if isinstance(offset, str) else json.dumps(offset)


def _origin(url: str) -> tuple[str, str | None, int | None]:
    """Whom an address belongs to: other ports and plain text are somebody else's."""
    parts = urlsplit(url)
    return parts.scheme, parts.hostname, parts.port
