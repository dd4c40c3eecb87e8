"""Formats of files: Avro, Parquet, and values with something between them (JSON, text, bytes)."""
