"""`python -m headrace.cli.kafka_compat kafka-topics …`: a tool where its script is not on PATH."""

from __future__ import annotations

import sys

from headrace.cli.kafka_compat import main

del sys.argv[0]
sys.exit(main())
