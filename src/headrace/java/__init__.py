"""What is Java's and not Kafka's: where it is installed, and how its settings files are written."""
