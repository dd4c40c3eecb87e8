"""Everything that runs on Spark: the session, the source and the sink, serdes and the runner.

Importing it loads neither PySpark nor a JVM; a call of `session` does. It reaches a broker only
over the wire, so a pipeline runs against any cluster that speaks Kafka's protocol.
"""

from __future__ import annotations

from headrace.pipelines.session import session
from headrace.pipelines.sink.foreach_batch import topic_writer

__all__ = ["session", "topic_writer"]
