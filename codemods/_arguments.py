"""Change the arguments of a decorator or call in place, keeping the rest of its text."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from warpfix.codemods.base import Declined, Source, Splice


@dataclass(frozen=True)
class ModuleArgument:
    """What ``module=`` of a kernel's decorator becomes: this string, or left out when None."""

    value: str | None


def quoted(value: str, like: str = '"') -> str:
    """A string literal in the quotes that the file uses."""
    quote = "'" if like.lstrip("rRuUbB").startswith("'") and not like.lstrip("rRuUbB").startswith("'''") else '"'
    return quote + value.replace("\\", "\\\\").replace(quote, "\\" + quote) + quote


def set_keyword(source: Source, decorator: ast.expr, name: str, text: str) -> list[Splice]:
    """Splices that give a decorator the keyword argument ``name=text``."""
    end = source.span(decorator)[1]
    if not isinstance(decorator, ast.Call):
        return [Splice(end, end, f"({name}={text})")]
    for keyword in decorator.keywords:
        if keyword.arg == name:
            return [Splice(*source.span(keyword.value), text)]
    arguments: list[ast.expr | ast.keyword] = [*decorator.args, *decorator.keywords]
    if not arguments:
        return [Splice(end - 1, end - 1, f"{name}={text}")]
    # After the last argument and before a trailing comma, on its line.
    last = max(source.span(argument)[1] for argument in arguments)
    return [Splice(last, last, f", {name}={text}")]


def remove_keyword(source: Source, decorator: ast.expr, name: str) -> list[Splice]:
    """Splices that take a keyword argument out of a decorator; ``@f()`` that is left over becomes ``@f``."""
    if not isinstance(decorator, ast.Call):
        return []
    keyword = next((keyword for keyword in decorator.keywords if keyword.arg == name), None)
    if keyword is None:
        return []
    text = source.text
    call_end = source.span(decorator)[1]
    function_end = source.span(decorator.func)[1]
    if len(decorator.keywords) + len(decorator.args) == 1:
        if "#" in text[function_end:call_end]:
            raise Declined("a comment stands inside the decorator's arguments")
        return [Splice(function_end, call_end, "")]
    start, end = source.span(keyword)
    arguments: list[ast.expr | ast.keyword] = [*decorator.args, *decorator.keywords]
    following = [source.span(argument)[0] for argument in arguments if source.span(argument)[0] > start]
    if following:
        stop = min(following)
    else:
        # The last one: take the comma before it, keep a trailing comma and what follows.
        before = max(source.span(argument)[1] for argument in arguments if argument is not keyword)
        start, stop = before, end
    if "#" in text[start:stop]:
        return [_own_line(source, keyword)]
    return [Splice(start, stop, "")]


def _own_line(source: Source, keyword: ast.keyword) -> Splice:
    """The whole line of an argument that has one to itself, so that comments on other lines stay."""
    start, end = source.span(keyword)
    first = source.line_of(start)
    line = source.text[source.line_start(first) : source.line_start(first + 1)]
    alone = line.replace(source.text[start:end], "", 1).strip() in ("", ",")
    comma = source.text[: source.line_start(first)].rstrip()
    # What stands above must end in a comma, which may have a comment behind it.
    above = source.line(first - 1).partition("#")[0].rstrip() if first > 1 else comma
    if not alone or source.line_of(end) != first or not above.endswith((",", "(")):
        raise Declined("a comment stands inside the decorator's arguments")
    return Splice(source.line_start(first), source.line_start(first + 1), "")


def set_module(source: Source, decorator: ast.expr, change: ModuleArgument) -> list[Splice]:
    """Splices that carry out a change of ``module=``."""
    if change.value is None:
        return remove_keyword(source, decorator, "module")
    like = '"'
    if isinstance(decorator, ast.Call):
        for keyword in decorator.keywords:
            if isinstance(keyword.value, ast.Constant) and isinstance(keyword.value.value, str):
                like = source.text[source.span(keyword.value)[0] :][:4]
                break
    return set_keyword(source, decorator, "module", quoted(change.value, like))
