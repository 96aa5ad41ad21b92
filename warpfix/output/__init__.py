"""Findings in the form that a reader wants: a terminal, a program, a code host."""
