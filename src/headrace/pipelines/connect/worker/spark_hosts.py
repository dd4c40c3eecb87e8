"""Hosts as endless Spark jobs of one task each, on a session that starts with the first of them.

The task is a Python process of Spark's; bytes go between connectors and brokers, and nothing goes
through the JVM. Jobs are in the FAIR pool `connect`. A local session has a core more for each host
than the machine has, so that bounded jobs beside them still have all of them. Hosts call back over
the loopback, so the master must be local.
"""

from __future__ import annotations

import os
import threading
import uuid
from typing import TYPE_CHECKING, Final

from headrace.pipelines.connect.faults import ConnectException
from headrace.pipelines.connect.host.control import Address
from headrace.pipelines.connect.host.main import serve_partition
from headrace.pipelines.session import choose_master, end_session, is_local, is_running, session

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

_POOL: Final = "connect"
_ANY_LOCAL: Final = "local[*]"
_END_S: Final = 5.0


class SparkHosts:
    """The session of a worker's hosts; `launch` starts one."""

    def __init__(self, hosts: int) -> None:
        self._hosts = hosts
        self._lock = threading.Lock()
        self._session: SparkSession | None = None
        self._is_own = False

    def launch(self, address: Address, token: str) -> SparkJob:
        """Submit the job of a host."""
        return SparkJob(self._context(), address, token)

    def close(self) -> None:
        """End the session, if it was started here."""
        with self._lock:
            if self._session is not None and self._is_own:
                end_session(self._session)
            self._session = None

    def _context(self) -> SparkContext:
        with self._lock:
            if self._session is None:
                self._is_own = not is_running()
                self._session = _session(self._hosts)
            return self._session.sparkContext


def _session(hosts: int) -> SparkSession:
    master = choose_master(None, os.environ)
    if not is_local(master):
        raise ConnectException(
            f"hosts call their worker over the loopback, so the Spark master {master} cannot run "
            "them: set headrace.runtime=process, or HEADRACE_MASTER to a local master"
        )
    if master == _ANY_LOCAL:
        master = f"local[{(os.cpu_count() or 1) + hosts}]"
    return session("connect", master=master, config={"spark.scheduler.mode": "FAIR"})


class SparkJob:
    """A job that ends with its host."""

    def __init__(self, context: SparkContext, address: Address, token: str) -> None:
        self._context = context
        self._group = f"connect-{uuid.uuid4()}"
        self._how = "its Spark job has ended"
        self._thread = threading.Thread(
            target=self._run, args=(address, token), name="host's job", daemon=True
        )
        self._thread.start()

    def has_ended(self) -> bool:
        """Whether it is gone."""
        return not self._thread.is_alive()

    def end(self) -> str:
        """Wait a little for it to end by itself, then cancel it; how it ended."""
        self._thread.join(_END_S)
        if self._thread.is_alive():
            self._context.cancelJobGroup(self._group)
            self._thread.join(_END_S)
        return self._how

    def _run(self, address: Address, token: str) -> None:
        context = self._context
        try:
            context.setJobGroup(self._group, "tasks of Connect", interruptOnCancel=True)
            context.setLocalProperty("spark.scheduler.pool", _POOL)
            context.parallelize([(address, token)], 1).mapPartitions(serve_partition).collect()
        except Exception as fault:  # of py4j or Spark; the host is gone all the same
            self._how = f"its Spark job has failed: {_reason(fault)}"


def _reason(fault: Exception) -> str:
    """The line of a Java trace that says why, without the trace."""
    lines = [line.strip() for line in str(fault).splitlines() if line.strip()]
    telling = [line for line in lines if "Exception:" in line and "aborted" not in line]
    return (telling or lines or [type(fault).__name__])[0]
