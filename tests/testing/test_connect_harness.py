"""A connector's author tests it without a broker."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pytest

from headrace.connect import (
    Batch,
    Config,
    ConfigException,
    RowsRefused,
    SinkTask,
    SourceTask,
    schema,
    sink,
    source,
)
from headrace.testing import ConnectHarness

WHERE = {"counter": "only"}


class CounterSettings(Config):
    last: int = Config.key("last", at_least=1)


@source("acme.Counter", settings=CounterSettings)
class Counter(SourceTask):
    def open(self, settings: Config, offsets: object) -> None:
        assert isinstance(settings, CounterSettings)
        assert callable(offsets)
        self.last = settings.last
        self.next = (offsets(WHERE) or {"next": 1})["next"]

    def poll(self) -> Iterator[Batch]:
        if self.next <= self.last:
            self.next += 1
            row = {"number": self.next - 1}
            yield Batch.of_rows([row], topic="t", partition=WHERE, offset={"next": self.next})


@sink("acme.List")
class Listed(SinkTask):
    held: list[object] = []  # noqa: RUF012 shared, as a table would be

    def put(self, batch: Batch) -> None:
        rows = batch.value.to_values()
        self.held.extend(row for row in rows if row is not None)
        refused = {number: "null" for number, row in enumerate(rows) if row is None}
        if refused:
            raise RowsRefused(refused)

    def flush(self, offsets: Mapping[tuple[str, int], int]) -> Mapping[tuple[str, int], int]:
        return {place: offset - 1 for place, offset in offsets.items()}


def test_a_source_goes_on_behind_what_was_acknowledged() -> None:
    with ConnectHarness(Counter, {"last": "3"}) as counter:
        assert counter.poll() == [{"number": 1}]
        counter.restart()
        assert counter.poll() == [{"number": 2}]
        assert counter.offsets == [(WHERE, {"next": 3})]
        assert [counter.poll(), counter.poll()] == [[{"number": 3}], []]
        assert [batch.topic for batch in counter.batches] == ["t"] * 3


def test_settings_are_checked_as_a_worker_checks_them() -> None:
    with pytest.raises(ConfigException, match="Value must be at least 1"):
        ConnectHarness(Counter, {"last": "0"})


def test_a_sink_is_given_rows_of_partitions() -> None:
    Listed.held.clear()
    author = schema.struct({"name": schema.STRING})
    with ConnectHarness(Listed, {}) as listed:
        listed.put(["a", None, "b"])
        listed.put(["c"])
        listed.put([{"name": "Ada"}], topic="authors", schema=author)
        assert listed.refused == {1: "null"}
        assert listed.flush() == {("topic", 0): 3, ("authors", 0): 0}
    assert Listed.held[:3] == ["a", "b", "c"]
    assert repr(Listed.held[3]) == "Struct(name='Ada')"
