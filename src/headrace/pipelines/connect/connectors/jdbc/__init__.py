"""Tables of databases as topics, and topics as tables: Confluent's JDBC connectors by their names.

`url` reads addresses, `dialects` know what differs between databases, `session` is a connection:
Arrow both ways where ADBC has a driver (SQLite, PostgreSQL), SQLAlchemy elsewhere. `source` and
`sink` are the tasks.
"""
