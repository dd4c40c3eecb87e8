"""What can be set: definitions of settings, values read by them, all errors at once."""
