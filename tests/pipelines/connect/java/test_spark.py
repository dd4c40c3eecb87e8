"""Java connectors in the JVM of a Spark session."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest

from tests.pipelines.connect.java.test_tasks import notes, numbers, until_noted
from tests.pipelines.connect.worker.running import Worker, messages

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.thorough, pytest.mark.timeout(600)]


def test_they_run_where_spark_runs(
    spark: SparkSession,
    start: Callable[..., Worker],
    bootstrap: str,
    tmp_path: Path,
    topic: str,
) -> None:
    process = cast(Any, spark)._jvm.java.lang.ProcessHandle.current().pid()
    worker = start(numbers(tmp_path, topic, last="9"))
    until_noted(tmp_path / "notes", "started at 0", f"in process {process}", "acknowledged 9")
    assert len(messages(bootstrap, topic, 10)) == 10
    worker.create(
        notes(tmp_path, topic, value_converter=numbers(tmp_path, topic)["value.converter"])
    )
    until_noted(tmp_path / "notes", "k0=0 even", "k0=9 odd")
