"""One Spark session for all tests, started as fast as a JVM allows.

When the tests end, the JVM and its Python workers have ended too.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# A test's JVM lives for a minute: the second compiler and parallel collectors would not pay back.
QUICK_START = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xshare:auto"


@pytest.fixture(scope="session")
def quick_start() -> str:
    """JVM options for a test that starts a Spark of its own."""
    return QUICK_START


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """The session that all tests share: two cores, no web pages, all files in temporary folders."""
    from headrace.pipelines.session import end_session, session
    from tests.pipelines.connector.jars import extra_jars

    folder = tmp_path_factory.mktemp("spark")
    running = session(
        "tests",
        master="local[2]",
        config={
            "spark.driver.extraJavaOptions": f"{QUICK_START} -Dderby.system.home={folder}",
            "spark.driver.memory": "1g",
            "spark.jars": extra_jars(),
            "spark.local.dir": folder / "local",
            "spark.sql.warehouse.dir": folder / "warehouse",
        },
    )
    yield running
    end_session(running)
