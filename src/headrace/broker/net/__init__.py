"""Connections: from the bytes of a client or of another broker to a handler, and back."""
