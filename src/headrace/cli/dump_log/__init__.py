"""The files of a data folder, read and judged: `command` is `headrace dump-log`.

Nothing is imported here, because `kafka-dump-log` reads the same files and must start at once.
"""
