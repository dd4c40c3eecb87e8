"""What the lake's front ends share: settings from files, plugins by name, units of work and runs.

A bounded job plans units, runs each (a Spark task, or a thread), and publishes their files at once.
The files themselves are written by the lake's writer.
"""
