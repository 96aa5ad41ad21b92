"""Starts the probe in every Python that has the injected folder on its path, then steps aside.

Copied next to the private package ``_warpfix_probe``. Afterwards the process looks as if this file did not exist: the
folder leaves ``sys.path``, and the user's own ``sitecustomize`` runs, if there is one.
"""

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any  # noqa: F401 (type comments)


def _start():
    # type: () -> None
    folder = os.path.dirname(os.path.abspath(__file__))
    # What the user puts on PYTHONPATH comes before the standard library: a module of theirs named like one of its own
    # must be neither run nor used by the probe.
    given = [os.path.abspath(entry) for entry in os.environ.get("PYTHONPATH", "").split(os.pathsep) if entry]
    library = os.path.dirname(os.path.abspath(os.__file__))
    path = sys.path[:]
    sys.path[:] = [folder] + [one for one in path if os.path.abspath(one) not in given or one == library]
    try:
        finder = _finder(folder)
        sys.meta_path.insert(0, finder)
        try:
            from _warpfix_probe import boot  # type: ignore[import-not-found]

            boot.start(folder)
        finally:
            sys.meta_path.remove(finder)
    except Exception as error:
        # Even a probe that can't start must not keep the program from running.
        try:
            with open(os.path.join(folder, "boot-errors.txt"), "a") as file:
                file.write("%d: %s: %s\n" % (os.getpid(), type(error).__name__, error))
        except OSError:
            pass
    sys.path[:] = [entry for entry in path if os.path.abspath(entry or os.curdir) != folder]
    sys.path_importer_cache.pop(folder, None)


def _finder(folder):
    # type: (str) -> Any
    """Finds the probe's package, and gives its code names that are no files: coverage and debuggers pass over it."""
    import importlib.util
    from importlib.machinery import SourceFileLoader

    def rename(code, name):
        # type: (Any, str) -> Any
        inner = tuple(rename(one, name) if hasattr(one, "co_code") else one for one in code.co_consts)
        return code.replace(co_filename=name, co_consts=inner)

    class Loader(SourceFileLoader):
        """Loads a module of the probe."""

        def get_code(self, fullname):
            # type: (str) -> Any
            return rename(SourceFileLoader.get_code(self, fullname), "<frozen %s>" % fullname)

    class Finder:
        """Finds a module of the probe."""

        def find_spec(self, name, path=None, target=None):
            # type: (str, Any, Any) -> Any
            if name.partition(".")[0] != "_warpfix_probe":
                return None
            place = os.path.join(folder, *name.split("."))
            file = os.path.join(place, "__init__.py") if os.path.isdir(place) else place + ".py"
            return importlib.util.spec_from_file_location(name, file, loader=Loader(name, file))

    return Finder()


def _chain():
    # type: () -> None
    """Run the next ``sitecustomize`` on the path as Python would have; raise ImportError where there is none."""
    import importlib.util
    from importlib.machinery import PathFinder

    spec = PathFinder.find_spec("sitecustomize", sys.path)
    if spec is None or spec.loader is None:
        # site.py passes over exactly this error.
        raise ImportError("No module named 'sitecustomize'", name="sitecustomize")
    module = importlib.util.module_from_spec(spec)
    sys.modules["sitecustomize"] = module
    spec.loader.exec_module(module)


_start()
_chain()
