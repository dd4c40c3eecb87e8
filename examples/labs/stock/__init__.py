"""The stock-price application: a producer with everything that labs 5.1 to 5.8 add to it, and the
consumers of labs 6.1 to 6.7.

    python -m examples.labs.stock.producing
    python -m examples.labs.stock.latest_prices
    python -m examples.labs.stock.seeking
    python -m examples.labs.stock.into_database
    python -m examples.labs.stock.thread_per_consumer
    python -m examples.labs.stock.worker_pool
    python -m examples.labs.stock.priority_queue

`python -m examples.labs.stock.producer` is the producer itself, which runs until Ctrl-C.
"""
