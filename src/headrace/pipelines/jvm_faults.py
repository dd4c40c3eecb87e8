"""What a call into Spark's JVM may raise when something is not there, or not as it is known.

py4j raises its own errors, PySpark replaces those that it knows by errors of its own which are not
related to them, and a class that does not exist is a package to py4j, which cannot be called.
"""

from __future__ import annotations


def jvm_faults() -> tuple[type[Exception], ...]:
    """For an `except`. PySpark is imported when this is asked for, not with the module."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    return Py4JError, PySparkException, TypeError
