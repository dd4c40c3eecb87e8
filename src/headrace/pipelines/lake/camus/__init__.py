"""Camus: a bounded job that copies what is new in topics into files by the hour.

The units are ranges of offsets, from where the last run stopped to where the log ends when this one
is planned. Each is read, decoded, and published by the lake's writer, whole or not at all.
"""
