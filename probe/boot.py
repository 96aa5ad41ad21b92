"""Starts the probe in a process: reads its configuration, opens the log, serves the overlay, waits for Warp."""

import json
import os
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any  # noqa: F401 (type comments)


class Probe:
    """Everything that the probe keeps in one process."""

    def __init__(self, config, log):
        # type: (dict[str, Any], Any) -> None
        from . import data, kernels, launches, lifecycle, modules, rehashes, sequence
        from .caches import Caches

        self.config = config
        self.log = log
        self.printed = 0
        self.context = None  # type: Any
        self.target = None  # type: Any
        self.levers = None  # type: Any
        self.config_module = None  # type: Any
        self.ended = False
        self.leave = os._exit
        self.caches = Caches(config["caches"], self._cache_chosen)
        self.constructions = kernels.Constructions(self)
        self.rehashes = rehashes.Rehashes(self)
        self.loads = modules.Loads(self)
        self.imports = None  # type: Any
        self.data = data.Data(log, config) if config.get("check_data") else None
        self.signatures = launches.Signatures(self)
        self.sequence = sequence.Sequence(
            log, config.get("stop_after_launches"), lambda: lifecycle.stop(self, "stop-after-launches")
        )

    def _cache_chosen(self, choice, place, via):
        # type: (str, str, str) -> None
        from . import frames

        line = frames.user_line(1)
        self.log.repeated(("cache", via, str(line)), "cache", what="moved", choice=choice, via=via, line=line)

    def start_event(self):
        # type: () -> None
        """Say who this process is."""
        self.log.event(
            "start",
            format=1,
            pid=os.getpid(),
            ppid=os.getppid(),
            argv=list(getattr(sys, "orig_argv", None) or sys.argv),
            python="%d.%d.%d" % sys.version_info[:3],
            executable=sys.executable,
            started=self.log.started,
            cwd=os.getcwd(),
            parent=self.log.parent,
        )

    def end(self, how, reason=None):
        # type: (str, Any) -> None
        """Write what is still in memory. Called once per process."""
        if self.ended:
            return
        self.ended = True
        try:
            if self.context is None and "warp" in sys.modules:
                self._unknown_warp()
            self.flush()
            self.log.event("end", how=how, reason=reason, launches=self.sequence.total, **self.losses())
        except Exception as error:
            self.log.fault("end", error)

    def flush(self):
        # type: () -> None
        """Write counters that are not written event by event."""
        self.log.release()
        self.constructions.flush()
        self.rehashes.flush()
        self.sequence.flush()
        if self.data is not None:
            self.data.flush()
        if self.imports is not None:
            self.imports.settle(time.perf_counter())
        if self.target is not None:
            self.target.flush()

    def refuse(self, text):
        # type: (str) -> None
        """What was asked for can't be measured in this process: say why, and end the program before it runs."""
        self.log.event("refused", text=text)
        self.end("refused")
        self.leave(2)

    def _unknown_warp(self):
        # type: () -> None
        """Warp was imported, and nothing in it is where any known version has it."""
        from . import capabilities

        warp = sys.modules["warp"]
        config = sys.modules.get("warp.config")
        if not hasattr(warp, "launch"):
            return  # something else of that name
        version = getattr(config, "version", None) or getattr(warp, "__version__", "?")
        self.log.event("warp", version=str(version), context="", package=str(getattr(warp, "__file__", "")))
        self.log.event("hooks", found=[], missing=capabilities.everything())

    def losses(self):
        # type: () -> dict[str, Any]
        """What could not be written, or was too much to be."""
        return {"lost": self.log.lost, "dropped": self.log.dropped} if self.log.lost or self.log.dropped else {}

    def before_exec(self):
        # type: () -> None
        """The program replaces this process: what follows has a log of its own."""
        try:
            self.flush()
            self.log.event("exec", launches=self.sequence.total, **self.losses())
        except Exception as error:
            self.log.fault("exec", error)

    def forked(self):
        # type: () -> None
        """This process is a forked child."""
        self.ended = False
        self.log.reopen_after_fork()
        self.sequence.reset()
        self.signatures.forget()
        if self.data is not None:
            self.data.reset()
        self.constructions.forget()
        self.rehashes.forget()
        self.loads.forget()
        if self.imports is not None:
            # What was being imported is the parent's.
            self.imports.open = []
        if self.target is not None:
            self.target.deviations.forget()
        self.start_event()


def start(folder):
    # type: (str) -> None
    """Start the probe of this process from the injected folder."""
    with open(os.path.join(folder, "config.json"), encoding="utf-8") as file:
        config = json.load(file)
    from .log import Log

    log = Log(config["logs"])
    if config.get("overlay"):
        _overlay(config["overlay"], log)
    from . import environ, hooks, importing, levers, lifecycle, spans, traces

    probe = Probe(config, log)
    probe.start_event()
    lifecycle.install(probe)
    traces.install()
    environ.install(folder, config.get("keep") or {}, probe.before_exec)
    probe.imports = spans.watch_imports(probe)
    probe.levers = levers.begin(probe)
    importing.when_executed(hooks.CONTEXTS, lambda module: hooks.install(module, probe))


def _overlay(files, log):
    # type: (dict[str, str], Any) -> None
    """Serve edited files from the start; a fault here is said, for then the run proves nothing."""
    try:
        from . import overlay

        texts = {}
        for path, stored in files.items():
            with open(stored, "rb") as file:
                texts[path] = file.read()
        overlay.install(texts, lambda path, sha256: log.event("overlaid", path=path, sha256=sha256))
    except Exception as error:
        log.fault("overlay", error)
