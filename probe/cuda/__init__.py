"""A CUDA device for Warp where there is none: ``--target sm_NN``.

Faked below Warp's Python, at its native library, so that Warp itself takes its true CUDA paths: the wheel's NVRTC and
MathDx compile every module for the architecture that was asked for, and only what needs a driver is answered here, on
the host's memory. A kernel that is launched runs as its twin: the CPU build of the same Warp module.

``install.py`` puts it all on Warp; ``library.py`` is the native library as Warp sees it; each of the other files
answers one kind of its entry points. What can't be answered truly is in ``deviations.py``, a closed list.
"""
