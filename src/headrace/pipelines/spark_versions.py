"""Which Spark has what: all of 4.0 to 4.3 read and write in batches, the rest came later."""

from __future__ import annotations

from headrace.errors import HeadraceError


class SparkTooOld(HeadraceError):
    """This Spark lacks what is asked for."""


def is_since(version: str) -> bool:
    """Whether the Spark of this process is of this version or later."""
    import pyspark

    return _numbers(pyspark.__version__) >= _numbers(version)


def check_spark(what: str, *, since: str, instead: str | None = None) -> None:
    """Raise where the Spark of this process is older than `since`."""
    import pyspark

    if not is_since(since):
        remedies = [f"pip install 'pyspark>={since}'", *([instead] if instead else [])]
        raise SparkTooOld(
            f"{what} needs Spark {since} or later, and this is {pyspark.__version__}: "
            f"{', or '.join(remedies)}"
        )


def _numbers(version: str) -> tuple[int, int]:
    major, minor = version.split(".")[:2]
    return int(major), int(minor)
