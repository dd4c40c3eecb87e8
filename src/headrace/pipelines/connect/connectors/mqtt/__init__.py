"""MQTT: messages of a server into topics, and records of topics as messages."""
