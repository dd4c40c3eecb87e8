"""Redis: records as keys, lists and streams, and streams as records."""
