"""One hub between everybody: four feeds write, six sinks read, and no one knows another.

    python -m examples.labs.event_hub

Logs of several hosts, measured figures, a file that is imported and an audit trail go in. Out come
analytics, a database, a model, a dashboard, a search index and a report, each at its own pace. The
report is told twice: from the files of a nightly batch, as before there was a hub, and from the
database that followed the events; both say the same, and the second knows of the day after.
"""

from __future__ import annotations

import csv
import io
import json
import sqlite3
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from statistics import fmean, pstdev
from typing import Final

from examples.cluster.lab import say
from examples.labs.reading import Member, Record, latest, poll_until, read_topic
from examples.labs.staging import check, expect, on_broker
from examples.topics import Draft, create_topic, send
from headrace.testing import Broker

LOGS: Final = "hub-logs"
FIGURES: Final = "hub-figures"
SALES: Final = "hub-sales"
AUDIT: Final = "hub-audit"
FOLLOWED: Final = {
    "analytics": LOGS,
    "search": LOGS,
    "model": FIGURES,
    "sales-table": SALES,
    "audit-table": AUDIT,
}
HOSTS: Final = ("web-1", "web-2", "web-3")
SALES_FILE: Final = "id,region,cents\n" + "".join(
    f"{number},{('north', 'south')[number % 2]},{100 * number}\n" for number in range(1, 21)
)
_TABLES: Final = (
    "CREATE TABLE sales (id INTEGER PRIMARY KEY, region TEXT, cents INTEGER)",
    "CREATE TABLE audit (place INTEGER PRIMARY KEY, who TEXT, what TEXT)",
)
_REPORT: Final = "SELECT region, sum(cents) FROM sales GROUP BY region"


# -- feeds ----------------------------------------------------------------------------------------


def log_lines() -> list[Draft]:
    """Log aggregation: every fifth request of a host fails, and web-2 is slow once."""
    return [
        Draft(f"{'ERROR failed' if number % 5 == 0 else 'INFO served'} /page/{number}", host)
        for number in range(20)
        for host in HOSTS
    ] + [Draft("WARN slow answer of the database", "web-2")]


def figures() -> list[Draft]:
    """Measured figures: a steady latency with one peak, and users who become more."""
    latencies = [20 + number % 3 for number in range(50)] + [95, 21]
    return [Draft(str(value), "latency-ms") for value in latencies] + [
        Draft(str(users), "users") for users in (10, 30, 70)
    ]


def imported(text: str) -> list[Draft]:
    """A batch import: each row of a file is an event."""
    return [Draft(json.dumps(row), row["id"]) for row in csv.DictReader(io.StringIO(text))]


def audit_trail() -> list[Draft]:
    """Who did what, in one partition and so in order."""
    return [
        Draft(what, who) for who, what in (("ada", "log in"), ("ben", "log in"), ("ada", "pay"))
    ]


# -- sinks ----------------------------------------------------------------------------------------


def errors_by_host(logs: Iterable[Record]) -> Counter[str]:
    return Counter(record.name for record in logs if record.text.startswith("ERROR"))


def peaks(measured: Iterable[Record], name: str) -> list[float]:
    """A model that learns as it reads: what is far from all that came before is a peak."""
    seen: list[float] = []
    found = []
    for record in measured:
        if record.name != name:
            continue
        value = float(record.text)
        if len(seen) >= 10 and abs(value - fmean(seen)) > 4 * pstdev(seen):
            found.append(value)
        seen.append(value)
    return found


def search_index(logs: Iterable[Record]) -> dict[str, list[str]]:
    index: defaultdict[str, list[str]] = defaultdict(list)
    for record in logs:
        for word in record.text.lower().split():
            index[word].append(f"{record.name}: {record.text}")
    return index


def store(database: sqlite3.Connection, sales: Iterable[Record], audit: Iterable[Record]) -> None:
    """A record that comes twice changes nothing: what it is called is its key."""
    with database:
        for record in sales:
            row = json.loads(record.text)
            values = (int(row["id"]), row["region"], int(row["cents"]))
            database.execute("INSERT OR REPLACE INTO sales VALUES (?, ?, ?)", values)
        for record in audit:
            event = (record.offset, record.name, record.text)
            database.execute("INSERT OR REPLACE INTO audit VALUES (?, ?, ?)", event)


def nightly_files(servers: str, folder: Path) -> Path:
    """The batch of one night: what has come until now, as one file."""
    path = folder / "sales.jsonl"
    path.write_text("".join(f"{record.text}\n" for record in read_topic(servers, SALES)))
    return path


def report_of(path: Path) -> dict[str, int]:
    sums: Counter[str] = Counter()
    for line in path.read_text().splitlines():
        row = json.loads(line)
        sums[row["region"]] += int(row["cents"])
    return dict(sums)


# -- the story ------------------------------------------------------------------------------------


def story(broker: Broker) -> None:
    servers = broker.bootstrap_servers
    say("Four feeds write to the hub")
    feeds = {
        LOGS: log_lines(),
        FIGURES: figures(),
        SALES: imported(SALES_FILE),
        AUDIT: audit_trail(),
    }
    for topic, drafts in feeds.items():
        create_topic(servers, topic, partitions=1)
        send(servers, topic, drafts)
    readers = {
        name: Member(servers, f"hub-{name}", topic, name) for name, topic in FOLLOWED.items()
    }
    poll_until(
        list(readers.values()),
        lambda: all(len(readers[name].records) >= len(feeds[FOLLOWED[name]]) for name in readers),
        "every sink has read its feed",
    )
    with tempfile.TemporaryDirectory() as folder, closing(sqlite3.connect(":memory:")) as database:
        for statement in _TABLES:
            database.execute(statement)
        _check_sinks(servers, readers, database)
        _check_reports(servers, readers["sales-table"], database, Path(folder))
    for member in readers.values():
        member.leave()


def _check_sinks(servers: str, readers: dict[str, Member], database: sqlite3.Connection) -> None:
    say("Analytics, search, a model and a dashboard")
    errors = errors_by_host(readers["analytics"].records)
    expect(errors, Counter(dict.fromkeys(HOSTS, 4)), "each host had four errors")
    found = search_index(readers["search"].records)["database"]
    expect(found, ["web-2: WARN slow answer of the database"], 'a search for "database"')
    expect(peaks(readers["model"].records, "latency-ms"), [95.0], "the model found the peak")
    expect(latest(servers, FIGURES), {"latency-ms": "21", "users": "70"}, "the dashboard's figures")

    say("A database")
    for _ in range(2):  # the second time as after a crash, before the offsets were committed
        store(database, readers["sales-table"].records, readers["audit-table"].records)
    trail = database.execute("SELECT who, what FROM audit ORDER BY place").fetchall()
    expect(
        trail, [("ada", "log in"), ("ben", "log in"), ("ada", "pay")], "the audit trail in order"
    )
    rows = database.execute("SELECT count(*) FROM sales").fetchone()[0]
    expect(rows, 20, "every row of the file is there once")


def _check_reports(servers: str, sales: Member, database: sqlite3.Connection, folder: Path) -> None:
    say("A report for the business: by files of the night, and from the hub")
    by_night = report_of(nightly_files(servers, folder))
    expect(by_night, {"north": 11_000, "south": 10_000}, "the sums of the night's files")
    expect(dict(database.execute(_REPORT)), by_night, "both ways say the same")
    send(servers, SALES, imported("id,region,cents\n21,south,5000\n"))
    poll_until([sales], lambda: len(sales.records) >= 21, "the sale of this morning is there")
    store(database, sales.records, ())
    now = dict(database.execute(_REPORT))
    expect(now["south"] - by_night["south"], 5000, "the hub knows of this morning's sale")
    check(report_of(folder / "sales.jsonl") == by_night, "the files wait for the next night")


if __name__ == "__main__":
    on_broker(story)
