"""Producers and consumers on their own, with confluent-kafka: what applications begin with.

Each is one command, `python -m examples.clients.demo_producer`, and starts a broker of its own
unless `-b HOST:PORT` names one.
"""
