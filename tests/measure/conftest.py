"""One program that meets most causes, measured once: a cold module costs seconds, a process that has one, tenths."""

from __future__ import annotations

import json
import os
import shutil
import sys
import textwrap
from dataclasses import dataclass
from pathlib import Path

import pytest

from warpfix.measure.profile import Load, OptionWrite, Profile, Run
from warpfix.measure.run import RunSettings, measure

GALLERY = {
    "between.py": """
        import warp as wp

        def step(values):
            @wp.kernel
            def damp(v: wp.array(dtype=float)):
                v[wp.tid()] *= 0.5

            wp.launch(damp, dim=8, inputs=[values], device="cpu")  # paid 0

            @wp.kernel
            def kick(v: wp.array(dtype=float)):
                v[wp.tid()] += 1.0

            wp.launch(kick, dim=8, inputs=[values], device="cpu")  # paid 1

            @wp.kernel
            def clip(v: wp.array(dtype=float)):
                v[wp.tid()] = wp.min(v[wp.tid()], 3.0)

            wp.launch(clip, dim=(4, 2), inputs=[values], device="cpu", block_dim=64, max_blocks=3)  # paid 2

        def main(values):
            step(values)
            step(values)
        """,
    "late_options.py": """
        import warp as wp

        @wp.kernel
        def advance(v: wp.array(dtype=float)):
            v[wp.tid()] += 1.0

        def main(values):
            wp.launch(advance, dim=8, inputs=[values], device="cpu")
            wp.set_module_options({"enable_backward": False})  # write
            wp.launch(advance, dim=8, inputs=[values], device="cpu")  # paid
            wp.get_module(__name__).options["max_unroll"] = 8  # ignored
            wp.launch(advance, dim=8, inputs=[values], device="cpu")
            wp.set_module_options({"enable_backward": False})  # again
        """,
    "late_config.py": """
        import warp as wp

        @wp.kernel
        def flow(v: wp.array(dtype=float)):
            v[wp.tid()] += 2.0

        def main(values):
            wp.config.max_unroll = 4  # too late
            wp.config.fast_maths = True  # misspelled
            wp.launch(flow, dim=8, inputs=[values], device="cpu")
            wp.config.max_unroll = 16
        """,
    "overloads.py": """
        from typing import Any
        import warp as wp

        @wp.kernel
        def scale(v: wp.array(dtype=Any), factor: Any):
            v[wp.tid()] = v[wp.tid()] * factor

        def main(values):
            for kind in (wp.float32, wp.float64, wp.int32):
                array = wp.ones(4, dtype=kind, device="cpu")
                wp.launch(scale, dim=4, inputs=[array, kind(2)], device="cpu")  # launch
        """,
    "constants.py": """
        import warp as wp

        def make(factor):
            @wp.kernel
            def weigh(v: wp.array(dtype=float)):
                v[wp.tid()] *= factor

            return weigh

        def main(values):
            kept = make(1.0)
            wp.launch(kept, dim=8, inputs=[values], device="cpu")
            del kept
            kept = make(2.0)
            wp.launch(kept, dim=8, inputs=[values], device="cpu")  # changed
            more = make(3.0)
            wp.launch(more, dim=8, inputs=[values], device="cpu")  # another
            del kept
            wp.set_module_options({"max_unroll": 16})
            wp.launch(more, dim=8, inputs=[values], device="cpu")  # gone
        """,
    "functions.py": """
        import warp as wp

        def make(sign):
            @wp.func
            def term(x: float):
                return x * sign

            @wp.kernel
            def apply(v: wp.array(dtype=float)):
                v[wp.tid()] = term(v[wp.tid()])

            return apply

        def main(values):
            kernel = make(1.0)
            wp.launch(kernel, dim=8, inputs=[values], device="cpu")
            del kernel
            kernel = make(-1.0)
            wp.launch(kernel, dim=8, inputs=[values], device="cpu")
        """,
    "factory.py": """
        import warp as wp

        def make_shared():
            @wp.kernel(module=wp.get_module("shared"))
            def pull(v: wp.array(dtype=float)):
                v[wp.tid()] -= 0.5

            return pull

        def make():
            @wp.kernel(module="unique")
            def push(v: wp.array(dtype=float)):
                v[wp.tid()] += 0.5

            return push

        def main(values):
            for _ in range(51):
                wp.launch(make(), dim=8, inputs=[values], device="cpu")
            for _ in range(5):
                wp.launch(make_shared(), dim=8, inputs=[values], device="cpu")
        """,
    "tapes.py": """
        import json
        import warp as wp

        @wp.kernel
        def square(v: wp.array(dtype=float), out: wp.array(dtype=float)):
            wp.atomic_add(out, 0, v[wp.tid()] * v[wp.tid()])

        def main(values):
            v = wp.ones(4, dtype=float, device="cpu", requires_grad=True)
            out = wp.zeros(1, dtype=float, device="cpu", requires_grad=True)
            with wp.Tape() as tape:
                wp.launch(square, dim=4, inputs=[v, out], device="cpu")  # taped
            tape.backward(out)
            command = wp.launch(square, dim=4, inputs=[v, out], device="cpu", record_cmd=True)
            command.launch()
            command.launch()
            print("TAPE", json.dumps(tape.launches[0][7]["caller"]))
            print("GRAD", v.grad.numpy().tolist())
        """,
    "plugins.py": """
        import linecache
        import warp as wp

        TEXT = '''
        @wp.kernel(module="unique")
        def user(v: wp.array(dtype=float)):
            v[wp.tid()] += {value}
        '''.replace(chr(10) + " " * 8, chr(10))

        def main(values):
            for value in (1.0, 2.0):
                text = TEXT.format(value=value)
                name = f"<plugin-{value}>"
                linecache.cache[name] = (len(text), None, text.splitlines(True), name)
                space = {"wp": wp, "__name__": "plugin"}
                exec(compile(text, name, "exec"), space)
                wp.launch(space["user"], dim=8, inputs=[values], device="cpu")
        """,
    "broken.py": """
        import warp as wp

        @wp.kernel
        def broken(v: wp.array(dtype=float)):
            v[wp.tid()] = no_such_function(1.0)

        def main(values):
            for _ in range(2):
                try:
                    wp.launch(broken, dim=8, inputs=[values], device="cpu")
                except Exception as error:
                    print("FAILED", type(error).__name__)
                wp.set_module_options({"max_unroll": 16})
        """,
    "again.py": """
        import pathlib
        import warp as wp

        TEXT = '''
        import warp as wp

        @wp.func
        def term(x: float):
            return x * 2.0

        @wp.kernel
        def use(v: wp.array(dtype=float)):
            v[wp.tid()] = term(v[wp.tid()])
        '''

        def main(values):
            import importlib
            import sys
            import textwrap

            sys.dont_write_bytecode = True
            path = pathlib.Path(__file__).with_name("written.py")
            path.write_text(textwrap.dedent(TEXT))
            importlib.invalidate_caches()
            import written

            wp.launch(written.use, dim=8, inputs=[values], device="cpu")
            path.write_text(textwrap.dedent(TEXT).replace("x * 2.0", "x * 0.5 "))
            importlib.reload(written)  # reloaded
            wp.launch(written.use, dim=8, inputs=[values], device="cpu")  # use again
        """,
    "idle.py": """
        import warp as wp

        @wp.kernel(module="unique")
        def alone(v: wp.array(dtype=float)):
            v[wp.tid()] += 0.0

        def main(values):
            wp.launch(alone, dim=8, inputs=[values], device="cpu")
            wp.set_module_options({"fast_math": True})  # nobody
        """,
    "lost.py": """
        import warp as wp

        @wp.kernel
        def again(v: wp.array(dtype=float)):
            v[wp.tid()] -= 1.0

        def main(values):
            wp.launch(again, dim=8, inputs=[values], device="cpu")
            wp.clear_kernel_cache()
            wp.launch(again, dim=8, inputs=[values], device="cpu")  # lost
        """,
    "app.py": """
        import threading
        import warp as wp

        import between, late_options, late_config, overloads, constants, functions
        import factory, tapes, plugins, again, idle, broken, lost

        @wp.kernel
        def side(v: wp.array(dtype=float)):
            v[wp.tid()] += 0.0

        if __name__ == "__main__":
            values = wp.ones(8, dtype=float, device="cpu")
            before = dict(vars(wp.config))
            parts = (between, late_options, late_config, overloads, constants, functions, factory, tapes, plugins)
            for part in (*parts, again, idle):
                part.main(values)
            wp.launch(side, dim=1, inputs=[values], device="cpu")
            worker = threading.Thread(target=wp.launch, args=(side,), kwargs=dict(dim=2, inputs=[values], device="cpu"))
            worker.start()
            worker.join()
            broken.main(values)
            lost.main(values)
            print("RESULT", values.numpy().tolist())
        """,
}


@dataclass(frozen=True)
class Gallery:
    """The measured gallery and where its lines are."""

    folder: Path
    profile: Profile

    @property
    def cold(self) -> Run:
        return self.profile.cold[0]

    def line(self, file: str, text: str) -> int:
        """Number of the first line of a file that contains ``text``."""
        lines = (self.folder / file).read_text().splitlines()
        return next(number for number, line in enumerate(lines, 1) if text in line)

    def loads(self, module: str) -> list[Load]:
        return [load for load in self.cold.loads if load.module == module]

    def builds(self, module: str) -> list[Load]:
        return [load for load in self.loads(module) if load.compiled]

    def writes(self, module: str | None, option: str) -> list[OptionWrite]:
        return [
            write
            for process in self.cold.processes
            for write in process.option_writes
            if write.module == module and write.option == option
        ]


def write_program(folder: Path, files: dict[str, str]) -> Path:
    """Write dedented files into a folder."""
    for name, text in files.items():
        (folder / name).write_text(textwrap.dedent(text).lstrip("\n"))
    return folder


@pytest.fixture(scope="session")
def gallery(tmp_path_factory: pytest.TempPathFactory) -> Gallery:
    folder = write_program(tmp_path_factory.mktemp("gallery"), GALLERY)
    settings = RunSettings(keep_workspace=True)
    # Another Python, with another Warp, may stand in: how the older generations of Warp's API are checked by hand.
    python = os.environ.get("WARPFIX_TEST_PYTHON", sys.executable)
    profile = measure([python, "app.py"], cwd=folder, settings=settings)
    text = Path(profile.cold[0].stdout_path).read_text()
    (folder / "stdout.txt").write_text(text)
    shutil.rmtree(Path(profile.cold[0].stdout_path).parent.parent)
    return Gallery(folder, profile)


@pytest.fixture(scope="session")
def gallery_output(gallery: Gallery) -> dict[str, object]:
    """What the gallery printed, by the first word of the line."""
    found: dict[str, object] = {}
    for line in (gallery.folder / "stdout.txt").read_text().splitlines():
        word, _, rest = line.partition(" ")
        if word in ("TAPE", "GRAD", "RESULT"):
            found[word] = json.loads(rest)
    return found
