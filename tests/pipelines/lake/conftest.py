"""One S3 for the whole run."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyarrow import fs

from headrace.pipelines.lake.filesystems.s3 import S3Filesystem
from tests.servers.s3 import KEY, endpoint
from tests.servers.s3 import s3 as s3_server
from tests.servers.server import Server


@pytest.fixture(scope="session")
def s3_running() -> Iterator[Server]:
    with s3_server() as server:
        yield server


@pytest.fixture
def bucket(s3_running: Server, request: pytest.FixtureRequest) -> str:
    """The name of an empty bucket."""
    name = str(request.node.name).replace("_", "-").lower()[:63].rstrip("-")
    fs.S3FileSystem(
        region="us-east-1",
        endpoint_override=endpoint(s3_running),
        access_key=KEY,
        secret_key=KEY,
        allow_bucket_creation=True,
    ).create_dir(name)
    return name


@pytest.fixture
def s3(s3_running: Server, bucket: str) -> S3Filesystem:
    """A prefix of an empty bucket."""
    return S3Filesystem(
        bucket,
        "lake",
        region="us-east-1",
        endpoint=endpoint(s3_running),
        access_key=KEY,
        secret_key=KEY,
        attempts=1,
    )
