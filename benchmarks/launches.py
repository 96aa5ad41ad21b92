"""What the probe adds to each launch, and what it keeps in memory.

    python benchmarks/launches.py [--launches 10000000] [--runs 3] [--python PYTHON] [--target sm_90]

Runs a loop of launches under the probe, on the CPU or on an emulated device. Blocks of a thousand launches with the
probe's hooks take turns with blocks for which the hooks were put aside, so that what else the machine does meets both
alike; what is printed is the median of the differences, in microseconds of CPU time per launch. Then the rest of the
launches runs with the hooks on, and the growth of the process's resident memory is printed, and the size of the log.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
from pathlib import Path

from warpfix.measure.run import RunSettings, run_command

LOOP = """
import json, sys, time
import warp as wp

context = getattr(getattr(wp, "_src", wp), "context")

@wp.kernel(enable_backward=False)
def nothing(v: wp.array(dtype=float)):
    pass

def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096

launches, DEVICE = int(sys.argv[1]), sys.argv[2]
values = wp.zeros(1, dtype=float, device=DEVICE)

def block(count):
    start = time.thread_time()
    for _ in range(count):
        wp.launch(nothing, dim=1, inputs=[values], device=DEVICE)
    return (time.thread_time() - start) / count * 1e6

module = nothing.module
hooked = [(context.Module, "load"), (context.ModuleExec, "get_kernel_hooks"), (module, "options")]
hooked += [(context, name) for name in ("invoke", "invoke_cpu_blocks") if hasattr(context, name)]
block(5000)
on = [(owner, name, getattr(owner, name)) for owner, name in hooked]

def bare(value):
    while hasattr(value, "__wrapped__"):
        value = value.__wrapped__
    return value

off = [(owner, name, bare(value)) for owner, name, value in on[:2] + on[3:]]
off.append((module, "options", dict(module.options)))

def turn(state):
    for owner, name, value in state:
        setattr(owner, name, value)

pairs = []
for number in range(100):
    turn(off)
    block(50)
    without = block(1000)
    turn(on)
    block(50)
    pairs.append((without, block(1000)))
memory = [resident()]
done = 0
while done < launches:
    block(100000)
    done += 100000
memory.append(resident())
print("RESULT", json.dumps([pairs, memory]))
"""


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--launches", type=int, default=1_000_000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--target", default="native")
    options = parser.parse_args()
    added = []
    device = "cpu" if options.target == "native" else "cuda:0"
    with tempfile.TemporaryDirectory(prefix="warpfix-launches-") as root:
        script = Path(root, "loop.py")
        script.write_text(LOOP)
        for number in range(options.runs):
            run = run_command(
                [options.python, str(script), str(options.launches), device],
                cwd=root,
                state="cold",
                workspace=Path(root, f"run-{number}"),
                caches=Path(root, "caches"),
                settings=RunSettings(timeout=3600, target=options.target),
            )
            text = Path(run.stdout_path).read_text()
            pairs, memory = json.loads(next(line for line in text.splitlines() if line.startswith("RESULT"))[7:])
            plain = statistics.median(one for one, _ in pairs)
            added.append(statistics.median(other - one for one, other in pairs))
            logs = sum(path.stat().st_size for path in Path(root, f"run-{number}", "logs").iterdir())
            (process,) = run.processes
            print(
                f"{plain:.1f} us per launch, +{added[-1]:.2f} us with the probe; {process.launches.total} launches "
                f"recorded, memory +{(memory[1] - memory[0]) / 1e6:.1f} MB, logs {logs / 1e6:.2f} MB",
                flush=True,
            )
    print(f"added: {statistics.median(added):.2f} us per launch (median of {len(added)} runs)")


if __name__ == "__main__":
    main()
