"""Graphs: the actions that a stream captured, run again in their order; conditional nodes and child graphs."""

import ctypes

from .values import number, put

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any  # noqa: F401 (type comments)

_APIC_CUDA = 0
_RELAXED = 2


class Graph:
    """What was captured, and the memory that must live as long."""

    def __init__(self, number):
        # type: (int) -> None
        self.id = number
        self.active = True
        self.allocates = False
        self.relaxed = False
        self.actions = []  # type: list[Any]
        self.kept = []  # type: list[tuple[Any, int]]

    def run(self):
        # type: () -> None
        """Do all of it once."""
        for action in self.actions:
            action()

    def keep(self, free, pointer):
        # type: (Any, int) -> None
        """Free a pointer only with this graph."""
        self.kept.append((free, pointer))

    def __del__(self):
        # type: () -> None
        for free, pointer in self.kept:
            free(pointer)


class Graphs:
    """The entry points that capture, launch and nest graphs."""

    def __init__(self, driver):
        # type: (Any) -> None
        self.driver = driver
        self.graphs = {}  # type: dict[int, Graph]
        self.count = 0

    def new(self):
        # type: () -> Graph
        self.count += 1
        return Graph(self.count)

    def known(self, graph):
        # type: (Graph) -> int
        """A handle for a graph."""
        handle = int(self.driver.handle())
        self.graphs[handle] = graph
        return handle

    def leave(self, graph):
        # type: (Graph) -> None
        """All streams that joined a capture are out of it."""
        graph.active = False
        captures = self.driver.streams.captures
        for stream, capture in list(captures.items()):
            if capture is graph:
                captures[stream] = None

    def wp_cuda_graph_begin_capture(self, context, stream, external, *mode):
        # type: (Any, Any, Any, Any) -> bool
        if not number(external):
            graph = self.driver.streams.captures[self.driver.streams.handle(stream)] = self.new()
            graph.relaxed = bool(mode) and number(mode[0]) == _RELAXED
        return True

    def wp_cuda_graph_end_capture(self, context, stream, result):
        # type: (Any, Any, Any) -> bool
        graph = self.driver.streams.capture(stream)
        if graph is None:
            self.driver.errors.set("Warp CUDA error 400: the stream is not capturing")
            return False
        self.leave(graph)
        put(result, self.known(graph))
        return True

    def wp_cuda_graph_pause_capture(self, context, stream, result):
        # type: (Any, Any, Any) -> bool
        return self.wp_cuda_graph_end_capture(context, stream, result)

    def wp_cuda_graph_resume_capture(self, context, stream, graph):
        # type: (Any, Any, Any) -> bool
        resumed = self.graphs[number(graph)]
        resumed.active = True
        self.driver.streams.captures[self.driver.streams.handle(stream)] = resumed
        return True

    def wp_cuda_graph_create_exec(self, context, stream, graph, result):
        # type: (Any, Any, Any, Any) -> bool
        put(result, self.known(self.graphs[number(graph)]))
        return True

    def wp_cuda_graph_launch(self, executable, stream):
        # type: (Any, Any) -> bool
        self.driver.streams.do(stream, self.graphs[number(executable)].run)
        return True

    def wp_cuda_graph_destroy(self, context, graph):
        # type: (Any, Any) -> bool
        self.graphs.pop(number(graph), None)
        return True

    def wp_cuda_graph_exec_destroy(self, context, executable):
        # type: (Any, Any) -> bool
        self.graphs.pop(number(executable), None)
        return True

    def wp_cuda_graph_insert_child_graph(self, context, stream, graph):
        # type: (Any, Any, Any) -> bool
        child = self.graphs[number(graph)]
        if child.allocates:
            self.driver.errors.set("Child graph contains an unsupported operation (memory allocation)")
            return False
        self.driver.streams.do(stream, child.run)
        return True

    def wp_cuda_graph_insert_if_else(self, context, stream, arch, ptx, condition, on_true, on_false):
        # type: (Any, Any, Any, Any, Any, Any, Any) -> bool
        address = number(condition)
        bodies = []
        for result in (on_false, on_true):
            body = None
            if result is not None:
                body = self.new()
                put(result, self.known(body))
            bodies.append(body)

        def choose():
            # type: () -> None
            body = bodies[_read(address) != 0]
            if body is not None:
                body.run()

        self.driver.streams.do(stream, choose)
        return True

    def wp_cuda_graph_insert_while(self, context, stream, arch, ptx, condition, result, handle):
        # type: (Any, Any, Any, Any, Any, Any, Any) -> bool
        address = number(condition)
        body = self.new()
        put(result, self.known(body))
        put(handle, 1)

        def repeat():
            # type: () -> None
            while _read(address):
                body.run()

        self.driver.streams.do(stream, repeat)
        return True

    def wp_cuda_graph_set_condition(self, *args):
        # type: (Any) -> bool
        # The loop above reads the condition itself.
        return True

    def wp_cuda_graph_check_conditional_body(self, graph):
        # type: (Any) -> bool
        if self.graphs[number(graph)].allocates:
            self.driver.errors.set("Conditional body graph contains an unsupported operation (memory allocation)")
            return False
        return True

    def wp_capture_debug_dot_print(self, *args):
        # type: (Any) -> bool
        raise self.driver.deviations.unsupported("wp_capture_debug_dot_print")

    def wp_apic_begin_recording(self, state, device):
        # type: (Any, int) -> None
        if number(device) == _APIC_CUDA:
            raise self.driver.deviations.unsupported("wp_apic_begin_recording for CUDA")
        self.driver.real.wp_apic_begin_recording(ctypes.c_void_p(number(state)), number(device))


def _read(address):
    # type: (int) -> int
    return ctypes.c_int32.from_address(address).value
