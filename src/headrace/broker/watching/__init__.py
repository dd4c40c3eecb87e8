"""What a broker says of itself: logs, times of requests, counts of errors."""
