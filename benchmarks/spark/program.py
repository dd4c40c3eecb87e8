"""The Spark session in which both connectors run: an order in JSON per line, an answer per line.

    python -m benchmarks.spark.program FOLDER JARS

The session is the tuned one that `headrace.pipelines.session` gives to everybody, with the jars of
Spark's connector on its class path: whatever helps ours helps the other.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from benchmarks.spark.loads import Loads, run
from headrace.pipelines.session import end_session, session


def main() -> None:
    folder, jars = Path(sys.argv[1]), sys.argv[2]
    folder.mkdir(parents=True, exist_ok=True)
    config = {
        "spark.jars": jars,
        "spark.driver.memory": "2g",
        "spark.local.dir": folder / "local",
        "spark.sql.warehouse.dir": folder / "warehouse",
        # Every batch of a load counts, not only the last hundred of them.
        "spark.sql.streaming.numRecentProgressUpdates": 10_000,
    }
    spark = session("benchmarks", master="local[2]", config=config)
    loads = Loads(spark, folder)
    print("ready", flush=True)
    for line in sys.stdin:
        print(json.dumps(run(loads, json.loads(line))), flush=True)
    end_session(spark)


if __name__ == "__main__":
    main()
