"""Datagen: records that are made up, from a schema that says what its values are like."""
