"""What is Java's and not Kafka's: where it is installed, and how it reads and orders things."""
