"""Partitions on this broker: leadership, high watermark, and the requests that wait for either.

Plain synchronous state. Whoever owns a replica tells it what happened (an append, a finished
flush) and is told through waiters what can be answered now; nothing here knows of sockets.
"""
