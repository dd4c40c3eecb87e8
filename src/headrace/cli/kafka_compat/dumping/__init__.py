"""The files of a partition in the words of Kafka's `DumpLogSegments`.

`headrace dump-log` shows the same files in words of its own (`headrace.cli.dump_log`); both read
them with the same code.
"""
