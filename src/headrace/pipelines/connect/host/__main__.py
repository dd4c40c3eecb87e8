"""`python -m headrace.pipelines.connect.host`: the child process that a worker starts for tasks."""

from __future__ import annotations

import logging
import os
import signal
import sys

from headrace.pipelines.connect.host.main import ADDRESS, TOKEN, serve


def main() -> None:
    """Serve the worker that the environment names."""
    host, _, port = os.environ.pop(ADDRESS).rpartition(":")
    token = os.environ.pop(TOKEN)
    # A terminal interrupts all of its processes. The worker hears it too, and tells its hosts.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="%(message)s")
    serve((host, int(port)), token)
    logging.shutdown()
    sys.stdout.flush()
    os._exit(0)  # tasks that have not ended would hold up an orderly end


if __name__ == "__main__":
    main()
