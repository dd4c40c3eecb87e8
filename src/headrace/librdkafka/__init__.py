"""librdkafka in the words of Java's clients: settings on their way in, statistics on their way out.

Only names and forms are translated. The library itself is not imported here.
"""
