"""What a call into the JVM raises, in the words of py4j and in PySpark's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from headrace.pipelines import source_environment
from headrace.pipelines.jvm_faults import jvm_faults

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_every_kind_of_fault_is_caught(spark: SparkSession) -> None:
    """An error that PySpark makes its own, one that it leaves, and a class that is not there."""
    jvm: Any = spark._jvm
    with pytest.raises(jvm_faults()):
        jvm.java.util.UUID.fromString("x")
    with pytest.raises(jvm_faults()):
        jvm.java.lang.Class.forName("no.such.Class")
    with pytest.raises(jvm_faults()):
        jvm.no.such.Class()


def test_a_source_that_spark_does_not_find_is_no_failure(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PySpark raises AnalysisException for it, which is no error of py4j's."""
    assert source_environment.environment_of(spark) is not None
    monkeypatch.setattr(source_environment, "SOURCE", "no_such_source")
    assert source_environment.environment_of(spark) is None
    source_environment.settle(spark)
