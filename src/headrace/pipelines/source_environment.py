"""A guard against a race of Spark's: two streaming queries that start at the same moment.

Spark keeps one description of a Python source in a session, with the environment variables of its
processes in a map that is not made for threads. Every streaming query writes the same few entries
into that map when it starts, in a thread of its own. Two that insert at once leave a map with more
entries counted than there are, and from then on no query of the session reaches a worker: each
fails with "Task not serializable" until the driver is started anew.

Whoever finds the entries there only replaces their values, which harms nothing. So they are put
there, once, while the session is made by a single thread.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast

from headrace.pipelines.jvm_faults import jvm_faults

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SOURCE: Final = "headrace"
# What a starting query writes; the values are its own.
ENTRIES: Final = (
    "SPARK_AUTH_SOCKET_TIMEOUT",
    "SPARK_BUFFER_SIZE",
    "SPARK_LOCAL_DIRS",
    "SPARK_PYTHON_RUNTIME",
)


def settle(spark: SparkSession) -> None:
    """Put the entries there; a Spark that keeps its sources in another way needs none of this."""
    environment = environment_of(spark)
    for name in ENTRIES:
        if environment is not None and not environment.containsKey(name):
            environment.put(name, "")


def environment_of(spark: SparkSession) -> Any | None:
    """The map that all queries of the session share, as the JVM has it."""
    try:
        sources = cast(Any, spark)._jsparkSession.sessionState().dataSourceManager()
        return sources.lookupDataSource(SOURCE).dataSourceCls().envVars()
    except jvm_faults():
        return None
