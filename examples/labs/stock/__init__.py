"""The stock-price application: one producer, step by step, and several kinds
of consumer.

    python -m examples.labs.stock.producing
    python -m examples.labs.stock.latest_prices
    python -m examples.labs.stock.seeking
    python -m examples.labs.stock.into_database
    python -m examples.labs.stock.thread_per_consumer
    python -m examples.labs.stock.worker_pool
    python -m examples.labs.stock.priority_queue

`python -m examples.labs.stock.producer` is the producer itself, which runs until Ctrl-C.
"""
