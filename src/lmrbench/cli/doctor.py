"""`lmrbench doctor`: can this machine grade?"""

from __future__ import annotations

import typer

from lmrbench.cli.options import JsonOption, print_json


def doctor(json: JsonOption = False) -> None:
    """Try every sandbox on this machine and say what to install where one does not work.

    Exits with 1 if the default one, bubblewrap, does not work.
    """
    from dataclasses import asdict

    from lmrbench.sandbox.doctor import diagnose
    from lmrbench.sandbox.registry import sandbox_names

    diagnoses = [diagnose(name) for name in sandbox_names()]
    if json:
        print_json([asdict(item) for item in diagnoses])
    else:
        from rich.console import Console
        from rich.table import Table

        table = Table("Sandbox", "Works", "Memory is bounded by", "Why not", "What to do")
        for item in diagnoses:
            works, bound = "[red]no[/]", ""
            if item.works:
                works, bound = "[green]yes[/]", "a cgroup and a watch" if item.cgroup else "a watch"
            table.add_row(item.name, works, bound, item.reason, item.advice)
        Console().print(table)
    if not diagnoses[0].works:
        raise typer.Exit(1)
