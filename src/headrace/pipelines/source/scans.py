"""Each plan reads its topics for itself, and fetches only what its conditions can let pass.

Spark keeps what a Python data source planned to read with the result of `load()`, for every query
over it: the second one sees nothing new, and if filters are pushed down, the rows that the first
one asked for (decision 0014). So `TopicScans.java`, beside this module, gives each plan a reading
of its own and tells it the plan's conditions, in the metadata of the schema that a reader is made
with. Where the rule is not, as with Spark Connect, tasks look up what there is (`portions`), and
nothing is narrowed: all rows are fetched.

What is used of Spark here is not its public interface; all of it is in this module.
"""

from __future__ import annotations

import logging
from importlib.resources import files
from threading import Lock
from typing import TYPE_CHECKING, Any, Final, cast

from headrace.pipelines.java_classes import compile_java, give_to_driver, is_loadable
from headrace.pipelines.jvm_faults import jvm_faults
from headrace.pipelines.source.filters import Condition
from headrace.pipelines.source_environment import SOURCE
from headrace.pipelines.spark_versions import is_since

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.types import StructType

_PACKAGE: Final = "org.apache.spark.sql.execution.datasources.v2.python"
_NEIGHBOUR: Final = f"{_PACKAGE}.PythonScan"
_CLASS: Final = f"{_PACKAGE}.TopicScans"
_SOURCE: Final = "TopicScans.java"
_CONDITIONS: Final = "headrace.conditions"

_LOGGER: Final = logging.getLogger(__name__)
_making: Final = Lock()


def read_for_each_plan(spark: SparkSession) -> None:
    """Add the rule to the session's optimizer, unless it is there, or Spark is too old for it."""
    if not is_since("4.1"):
        return
    inside = cast(Any, spark)
    jvm = inside._jvm
    try:
        with _making:
            if not is_loadable(jvm, _CLASS):
                source = files(__package__).joinpath(_SOURCE).read_text()
                give_to_driver(jvm, compile_java(jvm, source, _NEIGHBOUR), _NEIGHBOUR)
            experimental = inside._jsparkSession.experimental()
            known = experimental.extraOptimizations()
            rules = [known.apply(index) for index in range(known.size())]
            if all(rule.getClass().getName() != _CLASS for rule in rules):
                rule_class = getattr(jvm, _PACKAGE).TopicScans
                added = [*rules, rule_class(SOURCE, _CONDITIONS)]
                getattr(experimental, "extraOptimizations_$eq")(jvm.PythonUtils.toSeq(added))
    except jvm_faults() as fault:
        _LOGGER.warning(
            "This Spark is not known: batch reads fetch all records, and conditions choose among "
            "them afterwards (%s)",
            fault,
        )


def conditions_in(schema: StructType) -> list[Condition] | None:
    """What the rule has told of the plan; None where there is no rule."""
    if not schema.fields or _CONDITIONS not in schema.fields[0].metadata:
        return None
    told = schema.fields[0].metadata[_CONDITIONS]
    return [Condition(each["column"], each["operator"], each["values"]) for each in told]
