"""What the console tools share: lines into records, records into lines, with and without schemas.

Kafka's console tools are told by class names how to read and to print. The classes of Kafka and of
Confluent are known here by those names, so `kafka-avro-console-consumer` is nothing but
`kafka-console-consumer` with another default.
"""
