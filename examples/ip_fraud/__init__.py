"""Fraud in web logs: find requests from listed addresses, count them, and say what share they are.

    make demo                                                  the main job, with a plot
    headrace run --broker examples.ip_fraud.on_spark:pipeline           on Spark
    python -m examples.ip_fraud.on_storm iptopology.properties record at a time
    python -m examples.ip_fraud.on_streams                     consumer, filter, producer
    python -m examples.ip_fraud.generator                      the log that they read

A request is fraud if the first octet of its address is in a list; `rules.py` is that decision and
all of it. Three forms of the same job read the topic `iprecord` that the generator fills.
"""
