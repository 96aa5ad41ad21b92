"""What runs inside the measured process. Standard library only, and Warp when it is already there.

The injector copies this folder into a private one under the name ``_warpfix_probe``; use relative imports only.
"""
