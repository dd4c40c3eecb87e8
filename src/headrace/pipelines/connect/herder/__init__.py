"""What to do with connectors: decisions that read the state and return the records to write."""
