"""Between bytes in a topic and values with schemas: one module per format."""
