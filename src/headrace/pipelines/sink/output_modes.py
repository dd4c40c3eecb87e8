"""Output mode update for topics, which Spark gives to no sink that is written in Python.

`TopicWrites.java`, beside this module, gives the sink the capability that Spark asks for: changed
rows are appended, as to Spark's own Kafka sink. Every session of the process has it then, as Spark
keeps such rules once for all of them. Where no JVM can be reached, as with Spark Connect,
`topic_writer` does the same from `foreachBatch`.

What is used of Spark here is not its public interface; all of it is in this module.
"""

from __future__ import annotations

import logging
from functools import wraps
from importlib.resources import files
from threading import Lock
from typing import TYPE_CHECKING, Any, Final, cast

from headrace.errors import ConfigError
from headrace.pipelines.java_classes import compile_java, give_to_driver, is_loadable
from headrace.pipelines.jvm_faults import jvm_faults
from headrace.pipelines.source_environment import SOURCE

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_PACKAGE: Final = "org.apache.spark.sql.execution.datasources.v2.python"
_NEIGHBOUR: Final = f"{_PACKAGE}.PythonTable"
_CLASS: Final = f"{_PACKAGE}.TopicWrites"
_SOURCE: Final = "TopicWrites.java"
_OURS: Final = "_checks_output_mode"

_LOGGER: Final = logging.getLogger(__name__)
_making: Final = Lock()


def take_updates(spark: SparkSession) -> None:
    """Add the rule to the optimizers of the session and its relatives, unless it is there."""
    inside = cast(Any, spark)
    jvm = inside._jvm
    try:
        with _making:
            if not is_loadable(jvm, _CLASS):
                source = files(__package__).joinpath(_SOURCE).read_text()
                give_to_driver(jvm, compile_java(jvm, source, _NEIGHBOUR), _NEIGHBOUR)
            extensions = inside._jsparkSession.extensions()
            rules = extensions.buildOptimizerRules(inside._jsparkSession)
            names = [rules.apply(index).getClass().getName() for index in range(rules.size())]
            if _CLASS not in names:
                rule = getattr(jvm, _PACKAGE).TopicWrites(SOURCE)
                extensions.injectOptimizerRule(rule.forEachSession())
    except jvm_faults() as fault:
        _LOGGER.warning(
            "This Spark is not known: topics take output mode update only from foreachBatch, with "
            "headrace.pipelines.topic_writer (%s)",
            fault,
        )


def refuse_updates() -> None:
    """Let a writer of Spark Connect say at once what would end its query on the server."""
    from pyspark.sql.connect.streaming import readwriter

    writers: Any = readwriter.DataStreamWriter
    start = writers.start
    if getattr(start, _OURS, False):
        return

    @wraps(start)
    def checked(writer: Any, *words: Any, **given: Any) -> Any:
        asked = dict(zip(("path", "format", "outputMode"), words, strict=False)) | given
        _check_mode(writer._write_proto, asked.get("format"), asked.get("outputMode"))
        return start(writer, *words, **given)

    setattr(checked, _OURS, True)
    writers.start = checked


def _check_mode(proto: Any, name: str | None, mode: str | None) -> None:
    in_function = proto.HasField("foreach_batch") or proto.HasField("foreach_writer")
    is_update = (mode or proto.output_mode).lower() == "update"
    if is_update and (name or proto.format) == SOURCE and not in_function:
        raise ConfigError(
            "output mode update to a topic is not possible over Spark Connect, because Spark "
            "offers it to no sink that is written in Python; write with "
            '.outputMode("update").foreachBatch(headrace.pipelines.topic_writer("topic")), '
            "which also writes each batch exactly once"
        )
