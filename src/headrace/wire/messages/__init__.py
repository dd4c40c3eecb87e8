"""The messages of the protocol: one module per API, its request and its response together.

Names are Kafka's, in Python's case for fields. Import the module of the API that is needed; there
is no list of all of them here, because loading them takes longer than starting a broker should.
"""
