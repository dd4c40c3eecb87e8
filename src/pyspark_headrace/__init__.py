"""Makes `format("headrace")` known to Spark without a line of registration.

Spark imports every top-level package named `pyspark_*` and registers its `DefaultSource`. A fault
here would break every Python data source of the session, so nothing else is imported.
"""

from headrace.pipelines.datasource import HeadraceDataSource as DefaultSource

__all__ = ["DefaultSource"]
