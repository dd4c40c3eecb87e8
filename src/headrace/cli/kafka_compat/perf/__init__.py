"""What the tools that measure share: what to send, how fast, and what became of it."""
