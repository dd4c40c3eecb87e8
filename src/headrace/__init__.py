"""Headrace: an event-streaming platform in Python. Importing it loads nothing else."""

__version__ = "0.1.0"
