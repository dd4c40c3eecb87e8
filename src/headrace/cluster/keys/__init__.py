"""The declarations of all settings, one module per subject; `config_keys` puts them together.

The names, types, defaults and update modes are Apache Kafka 4.3's; keys that Kafka has dropped
since are declared in `legacy` so that an old server.properties is read without complaint.
"""
