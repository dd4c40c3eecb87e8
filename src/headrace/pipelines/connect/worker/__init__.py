"""Who answers for connectors: reads their settings, divides their work, and hands it to hosts."""
