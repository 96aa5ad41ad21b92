"""Waves on a string."""
