"""Heat conduction in a rod."""
