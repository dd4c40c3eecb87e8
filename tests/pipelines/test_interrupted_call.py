"""A test that was broken off inside a call to Spark leaves the session to the others in order."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

import pytest

from tests.spark_session import forget_open_call

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class _BrokenOff(BaseException):
    """As a time-out breaks off a test: past every `except Exception`."""


def test_the_next_call_gets_its_own_answer(spark: SparkSession) -> None:
    def on_alarm(*_: object) -> None:
        raise _BrokenOff

    jvm = spark.sparkContext._jvm
    assert jvm is not None
    before = signal.signal(signal.SIGALRM, on_alarm)
    timer = signal.setitimer(signal.ITIMER_REAL, 1)
    try:
        # A report keeps the exception, whose frames keep the connection.
        with pytest.raises(_BrokenOff) as report:
            jvm.java.lang.Thread.sleep(8_000)
    finally:
        signal.signal(signal.SIGALRM, before)
        signal.setitimer(signal.ITIMER_REAL, *timer)
    forget_open_call()
    assert type(spark).getActiveSession() is not None
    assert spark.range(5).count() == 5
    assert [row.id for row in spark.range(2).collect()] == [0, 1]
    assert report.value.__traceback__ is not None
