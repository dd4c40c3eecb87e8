"""One Spark session for all tests, started as fast as a JVM allows.

When the tests end, the JVM and its Python workers have ended too. A test that runs out of time in a
call to the JVM leaves an answer on its connection that nobody reads: the next test gets another
connection, or it would take that answer for its own.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
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


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """A test that shares the session and was broken off must not take others with it."""
    report = yield
    shares = "spark" in getattr(item, "fixturenames", ())
    if shares and call.excinfo is not None and not isinstance(call.excinfo.value, Exception):
        forget_open_call()
    return report


def forget_open_call() -> None:
    """Cancel what Spark is doing, and let this thread speak to the JVM over a new connection."""
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    gateway, context = SparkContext._gateway, SparkContext._active_spark_context
    if gateway is None or context is None:
        return
    client = gateway._gateway_client
    connection = client.get_thread_connection()
    client.thread_connection.connection = None
    if connection is not None and connection.socket is not None:
        connection.socket.close()
    context.cancelAllJobs()
    # The JVM serves each connection in a thread of its own, and each thread has its active session.
    session = SparkSession._instantiatedSession
    if session is not None:
        classes = SparkSession._get_j_spark_session_class(session._jvm)
        classes.setActiveSession(session._jsparkSession)
