"""Lets the processes of a test run share Warp's precompiled CPU headers, which Warp makes anew in each process.

``python .ci/shared_headers.py FOLDER`` puts this file into the site-packages of the environment it runs in, where every
process imports it first and FOLDER takes the headers. For an environment that is thrown away: most of what a cold run
of a small program takes is the header, and no test but those of the header's own cost is about it. These set
``WARPFIX_TEST_OWN_HEADERS``, and get what Warp does by itself. Kernels, hashes and machine code are the same.
"""

import os
import sys

FOLDER = ""
NAME = "warp._src.context"


def share(context):
    """Wrap Warp's choice of a folder: a new one begins with the headers that are there, and leaves its own behind."""
    plain = context.Runtime.get_clang_pch_dir
    begun = set()

    def get_clang_pch_dir(self):
        folder = plain(self)
        if folder and folder not in begun:
            begun.add(folder)
            for name in os.listdir(FOLDER):
                if name.endswith(".pch"):
                    os.symlink(os.path.join(FOLDER, name), os.path.join(folder, name))
            import atexit

            # After Warp has registered the removal of its folder, so that this comes first.
            atexit.register(leave, folder, os.getpid())
        return folder

    context.Runtime.get_clang_pch_dir = get_clang_pch_dir


def leave(folder, process):
    """Give the headers of a process that ends to those that come after it."""
    if process != os.getpid() or not os.path.isdir(folder):
        return
    for name in os.listdir(folder):
        path, shared = os.path.join(folder, name), os.path.join(FOLDER, name)
        if name.endswith(".pch") and not os.path.islink(path) and not os.path.exists(shared):
            import shutil

            # Whole or not at all, whoever else does the same.
            temporary = f"{shared}.{process}"
            shutil.copyfile(path, temporary)
            os.rename(temporary, shared)


class Finder:
    """Finds nothing itself: lets the others find Warp's context module, and wraps its execution."""

    @classmethod
    def find_spec(cls, name, path=None, target=None):
        if name != NAME:
            return None
        others = sys.meta_path[sys.meta_path.index(cls) + 1 :]
        sys.meta_path.remove(cls)
        for finder in others:
            spec = finder.find_spec(name, path, target)
            if spec is not None:
                break
        else:
            return None
        execute = spec.loader.exec_module

        def exec_module(module):
            execute(module)
            if hasattr(getattr(module, "Runtime", None), "get_clang_pch_dir"):
                share(module)

        spec.loader.exec_module = exec_module
        return spec


def install(folder):
    """Put a copy that knows the folder into this environment, and have it imported by every process."""
    import sysconfig

    os.makedirs(folder, exist_ok=True)
    site = sysconfig.get_paths()["purelib"]
    with open(__file__, encoding="utf-8") as file:
        text = file.read()
    with open(os.path.join(site, "shared_headers.py"), "w", encoding="utf-8") as file:
        file.write(text.replace('FOLDER = ""', f"FOLDER = {os.path.abspath(folder)!r}", 1))
    with open(os.path.join(site, "shared_headers.pth"), "w", encoding="utf-8") as file:
        file.write("import shared_headers\n")


if __name__ == "__main__":
    install(sys.argv[1])
elif not os.environ.get("WARPFIX_TEST_OWN_HEADERS"):
    sys.meta_path.insert(0, Finder)
