"""Version 2 of the API: topics, brokers, produce and consumers; version 1 shares its paths."""
