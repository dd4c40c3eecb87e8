"""Workers of Connect, ours and Apache Kafka's, as the benchmarks start and ask them."""
