"""Prices levers that a program has not taken, by overriding them in the process: the ledger. Source is untouched."""
