"""Source-to-source transformations: text and a plan in, text out. No file system, no Warp, no command line.

A codemod is one module in this folder. It declares one :class:`Edit` (plain data that says what to do and where, in
coordinates of the original text) and turns it into splices of that text. Splices of several edits compose in one pass
because all of them are expressed against the same original; overlapping ones are a conflict, and the later is declined.
"""

from warpfix.codemods.base import Declined, Edit, Source, Splice

__all__ = ["Declined", "Edit", "Source", "Splice"]
