"""Late readings: dropped, waited for, or counted in the evening, and what each of these costs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from examples.late_events import (
    AT_ONCE,
    MINUTE_MS,
    PATIENT,
    READINGS,
    SAMPLE_BEGIN_MS,
    by_minute,
    query,
    reading,
    source,
)
from examples.topics import provide, write
from tests.apps.reading import read_topic

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class Counting:
    """One of the two queries, run up to the end of the topic whenever it is asked."""

    def __init__(self, spark: SparkSession, servers: str, output: str, folder: Path) -> None:
        provide(output, partitions=1)
        self._spark, self._servers, self._output = spark, servers, output
        self._checkpoint = str(folder / output)
        self.late_rows = 0

    def told(self) -> dict[int, int]:
        """The counts that it has written by now, by the number of the minute; none twice."""
        running = (
            query(self._spark, self._output)
            .option("checkpointLocation", self._checkpoint)
            .trigger(availableNow=True)
            .start()
        )
        running.awaitTermination()
        self.late_rows += sum(
            state["numRowsDroppedByWatermark"]
            for progress in running.recentProgress
            for state in progress["stateOperators"]
        )
        counts = {}
        for record in read_topic(self._servers, self._output):
            minute = (int(record.key or b"") - SAMPLE_BEGIN_MS) // MINUTE_MS
            assert minute not in counts
            counts[minute] = int(record.text)
        return counts


@pytest.mark.spec("book2:T-15", "book2:T-16", "book2:T-17")
def test_three_answers_to_late_readings(spark: SparkSession, servers: str, tmp_path: Path) -> None:
    """Dropping is quick and inexact, waiting is slow and better, the evening has them all."""
    provide(READINGS, [reading(0.1), reading(0.2), reading(1.1)], partitions=1)
    at_once = Counting(spark, servers, AT_ONCE, tmp_path)
    patient = Counting(spark, servers, PATIENT, tmp_path)
    assert (at_once.told(), patient.told()) == ({0: 2}, {})

    write(READINGS, [reading(0.3), reading(6.1)])
    assert (at_once.told(), patient.told()) == ({0: 2, 1: 1}, {0: 3})
    write(READINGS, [reading(1.2), reading(20.1)])
    assert (at_once.told(), patient.told()) == ({0: 2, 1: 1, 6: 1}, {0: 3, 1: 2, 6: 1})
    write(READINGS, [reading(6.2), reading(30)])
    assert at_once.told() == {0: 2, 1: 1, 6: 1, 20: 1}
    assert patient.told() == {0: 3, 1: 2, 6: 1, 20: 1}
    assert (at_once.late_rows, patient.late_rows) == (3, 1)

    whole = by_minute(spark.read.format("headrace").options(**source()).load()).collect()
    exact = {(row.minute - SAMPLE_BEGIN_MS) // MINUTE_MS: row.readings for row in whole}
    assert exact == {0: 3, 1: 2, 6: 2, 20: 1, 30: 1}
