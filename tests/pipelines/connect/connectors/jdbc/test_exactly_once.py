"""Each record once, whatever is cut, repeated or done by two tasks at a time."""

from __future__ import annotations

import contextlib
import random
import threading
from collections.abc import Callable

import pymysql
import pytest

from headrace.pipelines.connect.faults import RetriableException
from headrace.pipelines.connect.model import schema as schemas
from headrace.pipelines.connect.model.batch import Batch
from headrace.pipelines.connect.tasks import RowsRefused
from tests.generated import examples
from tests.pipelines.connect.connectors.jdbc.databases import Database, Sqlite
from tests.pipelines.connect.connectors.jdbc.harness import Context, sink
from tests.pipelines.connect.connectors.jdbc.records import records

NUMBER = schemas.struct({"id": schemas.INT64, "name": schemas.STRING})
ONCE = {"auto.create": "true", "headrace.exactly.once": "true", "max.retries": "1000"}
ROWS = 20
servers = pytest.mark.parametrize("database", ["postgres", "mariadb"], indirect=True)


def batches(count: int) -> list[Batch]:
    """Batches in a row, of records whose ids are their offsets."""
    return [
        records(NUMBER, [{"id": at + n, "name": "x"} for n in range(ROWS)], start=at)[0]
        for at in range(0, count * ROWS, ROWS)
    ]


def written(database: Database) -> list[object]:
    return [number for (number,) in database.rows("SELECT id FROM t ORDER BY id")]


def cut(database: Database) -> None:
    """End every connection to the database but the test's own."""
    if database.kind == "postgres":
        database.rows(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
        return
    others = "SELECT id FROM information_schema.processlist WHERE db = DATABASE()"
    for (number,) in database.rows(f"{others} AND id <> connection_id()"):
        with contextlib.suppress(pymysql.OperationalError):  # it has ended by itself
            database.run(f"KILL {number}")


def at_once(*actions: Callable[[], None]) -> None:
    """Run actions in threads of their own, from one moment on; the first fault is raised."""
    faults: list[BaseException] = []
    start = threading.Barrier(len(actions))

    def run(action: Callable[[], None]) -> None:
        try:
            start.wait()
            action()
        except BaseException as fault:
            faults.append(fault)

    threads = [threading.Thread(target=run, args=(action,)) for action in actions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if faults:
        raise faults[0]


@servers
def test_connections_are_cut_all_the_time(database: Database) -> None:
    """Cuts fall anywhere: between statements, in them, in a commit whose answer is lost."""
    work = batches(examples(40))
    chance = random.Random(7)
    begun = threading.Semaphore(0)
    retries = 0

    def write() -> None:
        nonlocal retries
        try:
            with sink({**database.settings, **ONCE}) as task:
                task.assigned([("t", 0)])
                for batch in work:
                    begun.release()
                    while True:
                        try:
                            task.put(batch)
                            break
                        except RetriableException:
                            retries += 1
        finally:
            begun.release(len(work))

    def interrupt() -> None:
        for _ in work:
            begun.acquire()
            for _ in range(chance.randrange(30)):
                database.rows("SELECT 1")
            cut(database)

    at_once(write, interrupt)
    assert written(database) == list(range(len(work) * ROWS))
    assert retries > 0


def test_two_tasks_that_believe_a_partition_theirs(database: Database) -> None:
    """A task that was thought dead goes on beside its successor: both write, once."""
    work = batches(10)

    def write() -> None:
        with sink({**database.settings, **ONCE}, Context("same")) as task:
            for batch in work:
                while True:
                    try:
                        task.assigned([("t", 0)])
                        task.put(batch)
                        break
                    except RetriableException:
                        pass

    at_once(write, write)
    assert written(database) == list(range(10 * ROWS))


def test_rows_are_refused_once(sqlite: Sqlite) -> None:
    """A batch that comes again does not send its bad rows to the dead letter queue again."""
    settings = {**sqlite.settings, **ONCE, "pk.mode": "record_key", "pk.fields": "key"}
    (batch,) = records(
        NUMBER,
        [{"id": 1, "name": "x"}, {"id": 2, "name": "x"}],
        keys=[None, 2],
        key_schema=schemas.INT32.but(optional=True),
    )
    with sink(settings) as task:
        task.assigned([("t", 0)])
        with pytest.raises(RowsRefused):
            task.put(batch)
        task.put(batch)
    assert written(sqlite) == [2]


def test_two_tasks_create_one_table(database: Database) -> None:
    settings = {**database.settings, "auto.create": "true"}
    first, second = batches(2)

    def writing(batch: Batch) -> Callable[[], None]:
        def write() -> None:
            with sink(settings) as task:
                task.put(batch)

        return write

    at_once(writing(first), writing(second))
    assert written(database) == list(range(2 * ROWS))
