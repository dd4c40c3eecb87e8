"""What both ends of a login need, and how it is kept: secrets and the passwords they protect."""
