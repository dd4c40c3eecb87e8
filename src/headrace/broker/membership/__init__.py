"""This broker in its cluster: its session, the image of the cluster, and what follows from it."""
