"""The code that Warp generates and what is compiled from it: one digest per kernel entry, by which two runs compare."""
