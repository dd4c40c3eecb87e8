"""A program for one test: the fraud topology with its table in Hive's catalog on embedded Derby.

    python -m tests.apps.hive_drill FOLDER JVM-OPTIONS

Hive's catalog is chosen when a JVM starts, so it has a process of its own. What it found is in
FOLDER/found.json.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from itertools import count
from pathlib import Path

from examples.ip_fraud.on_storm import HiveOptions, run, topology_settings
from examples.ip_fraud.traffic import Plan, batches, truth_of
from examples.topics import Draft, provide, servers
from headrace.pipelines.session import end_session, session
from tests.apps.reading import texts

PLAN = Plan(seed=17, ticks=20, begin_ms=1_000)


def all_written(fraud_records: int) -> Callable[[], bool]:
    """Stop a topology when its topic has everything; it looks every fifty steps."""
    steps = count()
    return lambda: next(steps) % 50 == 49 and len(texts(servers(), "fraudip")) >= fraud_records


def main(folder: Path, jvm_options: str) -> None:
    truth = truth_of(PLAN)
    provide("iprecord", [Draft(sent.text) for batch in batches(PLAN) for sent in batch.requests])
    spark = session(
        "hive-drill",
        master="local[2]",
        config={
            "spark.sql.catalogImplementation": "hive",
            "spark.sql.warehouse.dir": folder / "warehouse",
            "spark.hadoop.hive.exec.scratchdir": folder / "scratch",
            "spark.driver.extraJavaOptions": f"{jvm_options} -Dderby.system.home={folder}",
        },
    )
    properties = topology_settings("iptopology.properties") | {"KafkaBroker": servers()}
    table = run(spark, properties, None, all_written(truth.fraud_records), HiveOptions())
    details = {row[0]: row[1] for row in spark.sql(f"DESCRIBE FORMATTED {table.name}").collect()}
    found = {
        "catalog": spark.conf.get("spark.sql.catalogImplementation"),
        "metastore": (folder / "metastore_db").is_dir(),
        "details": details,
        "columns": spark.table(table.name).columns,
        "rows": [list(row) for row in spark.table(table.name).collect()],
        "partitions": [row[0] for row in spark.sql(f"SHOW PARTITIONS {table.name}").collect()],
        "files": [file.name for file in (folder / "warehouse").rglob("*.orc")],
    }
    end_session(spark)
    (folder / "found.json").write_text(json.dumps(found))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
