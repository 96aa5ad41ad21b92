"""``warpfix rules`` and ``warpfix explain RULE``: the catalogue, from the rules themselves."""

from __future__ import annotations

import json
import textwrap

import click


@click.command()
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
def rules(form: str) -> int:
    """List the rules: code, name, what each finds.

    \b
    warpfix rules
    warpfix explain WF101
    warpfix rules --format json
    """
    from warpfix.rules import all_rules

    found = all_rules()
    if form == "json":
        keys = ("code", "slug", "summary", "why", "bad", "good", "limits", "fix_safety", "since")
        click.echo(json.dumps([{key: getattr(rule, key) for key in keys} for rule in found], indent=2))
        return 0
    width = max(len(rule.slug) for rule in found)
    for rule in found:
        first = f"{rule.code}  {rule.slug:<{width}}  "
        click.echo(textwrap.fill(rule.summary, 80, initial_indent=first, subsequent_indent=" " * len(first)))
    return 0


@click.command()
@click.argument("rule")
def explain(rule: str) -> int:
    """Say why a rule is there, with a bad and a good example, what it does not see, and how safe its fix is.

    RULE is a code or a name.

    \b
    warpfix explain WF202
    warpfix explain late-module-options
    """
    from warpfix.rules import find_rule

    found = find_rule(rule)
    parts = [f"{found.code} {found.slug}: {found.summary}", _paragraph(found.why)]
    parts.append("Bad:\n" + textwrap.indent(found.bad.rstrip("\n"), "    "))
    parts.append("Good:\n" + textwrap.indent(found.good.rstrip("\n"), "    "))
    parts.append("Limits: " + _paragraph(found.limits))
    parts.append("Fix: " + _paragraph(found.fix_safety))
    parts.append(f"Since {found.since}. Suppress with: # warpfix: ignore[{found.code}] reason")
    click.echo("\n\n".join(parts))
    return 0


def _paragraph(text: str) -> str:
    return textwrap.fill(text, 80, break_long_words=False, break_on_hyphens=False)
