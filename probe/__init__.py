"""What runs inside the measured process: hooks on Warp's calls and a log of what they saw.

The injector copies this folder as the package ``_warpfix_probe`` into a private folder that comes first on
``PYTHONPATH``. It imports only the standard library, never Warp by itself, and must parse on Python 3.8. Nothing in
here may change what the program does: a fault of the probe is written to the log and swallowed.
"""
