"""Topics as Delta and Iceberg tables, exactly once."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable
from pyiceberg.catalog import load_catalog

from headrace.pipelines.connect.connectors.lake.sink import LocalSink
from headrace.pipelines.connect.faults import ConnectException
from headrace.pipelines.connect.model import schema as schemas
from headrace.pipelines.lake.faults import LakeFault
from headrace.pipelines.lake.tables.delta import DeltaTarget
from headrace.pipelines.lake.tables.iceberg import IcebergTarget
from headrace.pipelines.lake.target import Target
from headrace.testing import ConnectHarness
from tests.pipelines.connect.connectors.stand_in import Answer, Request, stand_in
from tests.pipelines.lake.rows import numbers, offsets
from tests.servers.server import HOST, free_port

NUMBER = schemas.struct({"n": schemas.INT64, "colour": schemas.OPTIONAL_STRING})
WIDER = schemas.struct({"n": schemas.INT64, "size": schemas.FLOAT64.but(optional=True)})
PLACE = ("t", 0)


def rows_of(kind: str, folder: Path) -> list[dict[str, object]]:
    """What a reader of the table sees."""
    if kind == "delta":
        return list(DeltaTable(folder / "topics/t").to_pyarrow_table().to_pylist())
    table = load_catalog("headrace", **catalog(folder)).load_table("default.t")
    return list(table.scan().to_arrow().to_pylist())


def catalog(folder: Path) -> dict[str, str]:
    return {"uri": f"sqlite:///{folder}/catalog.db", "warehouse": f"{folder}/topics"}


def sink_of(kind: str, folder: Path, **settings: str) -> ConnectHarness:
    given = {
        "store.url": str(folder),
        "flush.size": "10",
        "headrace.table.format": kind,
        "headrace.iceberg.catalog.uri": f"sqlite:///{folder}/catalog.db",
    }
    named = {name.replace("_", "."): text for name, text in settings.items()}
    return ConnectHarness(LocalSink, given | named)


def target_of(kind: str, folder: Path) -> Target:
    if kind == "delta":
        return DeltaTarget(f"{folder}/topics", "connect-x")
    return IcebergTarget("default", "connect-x", catalog=catalog(folder))


def made(first: int, count: int) -> list[object]:
    return list(numbers(first, count).values.to_pylist())


kinds = pytest.mark.parametrize("kind", ["delta", "iceberg"])


@kinds
def test_rows_and_offsets_are_one_commit(tmp_path: Path, kind: str) -> None:
    with sink_of(kind, tmp_path, partitioner_class="field", partition_field_name="colour") as sink:
        sink.put(made(0, 25), topic="t", schema=NUMBER)
        assert sink.flush() == {PLACE: 20}
        sink.restart()
        sink.put(made(20, 5), topic="t", schema=NUMBER)
        sink.put([{"n": n, "size": 0.5} for n in range(25, 30)], topic="t", schema=WIDER)
    rows = rows_of(kind, tmp_path)
    assert offsets(rows) == dict.fromkeys(range(30), 1)
    assert {row["n"]: row for row in rows}[29] == {"n": 29, "colour": None, "size": 0.5}


@kinds
def test_two_writers_that_believe_a_partition_theirs(tmp_path: Path, kind: str) -> None:
    first, second = target_of(kind, tmp_path), target_of(kind, tmp_path)
    assert first.positions([PLACE]) == {}
    cuts = [target.begin(PLACE) for target in (first, second)]
    for cut in cuts:
        cut.write("", numbers(0, 5))
    cuts[0].commit(0, 5)
    with pytest.raises(LakeFault, match="another writer has published t-0"):
        cuts[1].commit(0, 5)
    assert second.positions([PLACE, ("t", 1)]) == {PLACE: 5}
    assert offsets(rows_of(kind, tmp_path)) == dict.fromkeys(range(5), 1)


class _Stale(DeltaTarget):
    """A writer that looked at the table a moment before the other wrote."""

    held: DeltaTable | None = None

    def _table(self, topic: str) -> DeltaTable | None:
        return self.held or super()._table(topic)


def test_delta_lets_no_two_commits_set_one_offset(tmp_path: Path) -> None:
    """The check before the write cannot see it: the commit itself fails."""
    writer = DeltaTarget(f"{tmp_path}/topics", "connect-x")
    cut = writer.begin(PLACE)
    cut.write("", numbers(0, 5))
    cut.commit(0, 5)
    late = _Stale(f"{tmp_path}/topics", "connect-x")
    late.held = DeltaTable(tmp_path / "topics/t")
    cuts = [target.begin(PLACE) for target in (writer, late)]
    for cut in cuts:
        cut.write("", numbers(5, 5))
    cuts[0].commit(5, 10)
    with pytest.raises(LakeFault, match="has changed meanwhile"):
        cuts[1].commit(5, 10)
    assert offsets(rows_of("delta", tmp_path)) == dict.fromkeys(range(10), 1)


def test_a_table_that_cannot_be(tmp_path: Path) -> None:
    (tmp_path / "topics").touch()
    with (
        sink_of("delta", tmp_path, flush_size="1") as sink,
        pytest.raises(ConnectException, match="cannot use the Delta table"),
    ):
        sink.put(made(0, 1), topic="t", schema=NUMBER)


@kinds
def test_a_schema_that_does_not_fit(tmp_path: Path, kind: str) -> None:
    with sink_of(kind, tmp_path, flush_size="1") as sink:
        sink.put(made(0, 1), topic="t", schema=NUMBER)
        other = schemas.struct({"n": schemas.array(schemas.STRING)})
        with pytest.raises(ConnectException, match="records' schema fits the table"):
            sink.put([{"n": ["x"]}], topic="t", schema=other)
        assert sink.flush() == {PLACE: 1}


def test_rows_of_one_commit_do_not_fit(tmp_path: Path) -> None:
    cut = target_of("delta", tmp_path).begin(PLACE)
    cut.write("", numbers(0, 1))
    odd = numbers(1, 1)
    cut.write("", type(odd)("t", 0, pa.array([{"n": "text"}]), odd.offsets))
    with pytest.raises(LakeFault, match="rows of one commit do not fit one table"):
        cut.commit(0, 2)


def test_credentials_of_a_catalog_are_not_told() -> None:
    address = f"http://me:s3cret@{HOST}:{free_port()}"
    with pytest.raises(LakeFault, match="cannot use the Iceberg catalog") as raised:
        IcebergTarget("default", "connect-x", catalog={"uri": address})
    assert f"http://{HOST}:" in str(raised.value)
    assert "s3cret" not in str(raised.value)


def test_a_catalog_that_is_locked_for_a_while(tmp_path: Path) -> None:
    """By another process, which a database tells by faults of its own."""
    given = catalog(tmp_path)
    given["uri"] += "?timeout=0.1"
    target = IcebergTarget("default", "connect-x", catalog=given)
    cut = target.begin(PLACE)
    cut.write("", numbers(0, 5))
    with closing(sqlite3.connect(tmp_path / "catalog.db")) as other:
        other.execute("BEGIN EXCLUSIVE")
        for ask in (lambda: target.positions([PLACE]), lambda: cut.commit(0, 5)):
            with pytest.raises(LakeFault, match=r"default\.t: .*database is locked.*see") as raised:
                ask()
            assert raised.value.passing
            assert "SELECT" not in str(raised.value)
    cut.commit(0, 5)
    assert target.positions([PLACE]) == {PLACE: 5}


def test_a_catalog_that_is_away_for_a_while() -> None:
    """Its faults are told as others are, and say that trying again may help."""
    status = [200]

    def serve(request: Request) -> Answer:
        if status[0] != 200:
            return Answer(status[0], b'{"error": {"message": "of the test", "type": "x"}}')
        if request.path.endswith("/config"):
            return Answer(body=b'{"defaults": {}, "overrides": {}}')
        return Answer(body=b'{"namespace": ["default"], "properties": {}}')

    with stand_in(serve) as server:
        target = IcebergTarget("default", "connect-x", catalog={"uri": server.url})
        cut = target.begin(PLACE)
        cut.write("", numbers(0, 5))
        for status[0], passing in ((503, True), (403, False)):
            for ask in (lambda: target.positions([PLACE]), lambda: cut.commit(0, 5)):
                with pytest.raises(
                    LakeFault, match=r"Iceberg table default\.t.*see that"
                ) as raised:
                    ask()
                assert raised.value.passing is passing
