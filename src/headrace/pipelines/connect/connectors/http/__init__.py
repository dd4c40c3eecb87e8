"""HTTP: answers of an interface into topics, and records of topics as requests."""
