"""The systems at the other end, one module or package each. `plugins` knows them by name."""
