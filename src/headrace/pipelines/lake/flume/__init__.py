"""Flume: an agent that runs until it is stopped; sources feed channels, sinks drain them.

Each source and each sink has a thread, and a channel between them is bounded. An event leaves its
channel when a sink has taken it, and what a source has read counts as read (its group's offsets are
committed) when every sink has it safe: what a crash interrupts is read again.
"""
