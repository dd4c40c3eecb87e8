"""What is Java's and not Kafka's: its installation, settings files and order of hash maps."""
