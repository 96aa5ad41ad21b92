"""Passive tracers in a channel with a wavy wall."""
