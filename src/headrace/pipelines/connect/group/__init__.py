"""A worker in the group of its cluster: what workers tell each other through the coordinator."""
