"""Everything that runs on Spark: the session, the source and the sink, serdes and the runner.

Importing it loads neither PySpark nor a JVM; whoever calls `session` does. It reaches a broker only
over the wire, so a pipeline runs against any cluster that speaks Kafka's protocol.
"""

from __future__ import annotations

from headrace.pipelines.session import session

__all__ = ["session"]
