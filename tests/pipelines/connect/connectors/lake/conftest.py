"""A worker in this process, on a broker of the session; one S3 for the whole run."""

from __future__ import annotations

from tests.pipelines.connect.worker.conftest import bootstrap, start, topic
from tests.pipelines.lake.conftest import bucket, s3, s3_running

__all__ = ["bootstrap", "bucket", "s3", "s3_running", "start", "topic"]
