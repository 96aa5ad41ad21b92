"""Forces that the user writes as an expression, one kernel for each."""

import linecache

import warp as wp

TEMPLATE = """\
@wp.kernel(module="unique")
def plugin_force(position: wp.array(dtype=wp.vec3), velocity: wp.array(dtype=wp.vec3), dt: float):
    i = wp.tid()
    p = position[i]
    v = velocity[i]
    velocity[i] = v + ({expression}) * dt
"""


def compile_force(name, expression):
    """Make a kernel that adds an acceleration, given as an expression of the position ``p`` and the velocity ``v``."""
    source = TEMPLATE.format(expression=expression)
    filename = f"<plugin {name}>"
    # Warp reads a kernel's text through linecache.
    linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
    namespace = {"wp": wp, "__name__": __name__}
    exec(compile(source, filename, "exec"), namespace)
    return namespace["plugin_force"]
