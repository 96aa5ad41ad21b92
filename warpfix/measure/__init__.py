"""Measuring a command: running it with the probe inside, reading what the probe saw, reporting it."""
