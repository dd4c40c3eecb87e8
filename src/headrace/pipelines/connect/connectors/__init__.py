"""The systems at the other end: one package or module per connector."""
