"""Schema Registry: the contract between those who write a topic and those who read it.

The pure half decides: `state` is all that a registry knows, rebuilt from the records of its topic,
and modules named after what they do (`register`, `look_up`, `deletion`, …) read it and return
replies, or a `Decision` with the records to write. The other half talks to Kafka and to clients.
"""
