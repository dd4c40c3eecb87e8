"""A thin raw client: blocking connections that carry one message at a time.

For tools and tests that want the protocol itself. Groups, transactions and retries belong to
librdkafka, not here.
"""
