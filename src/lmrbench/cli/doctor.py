"""`lmrbench doctor`: can this machine grade?"""

from __future__ import annotations

import typer

from lmrbench.cli.options import JsonOption, print_json


def doctor(json: JsonOption = False) -> None:
    """Try every sandbox on this machine and say what to install where one does not work.

    Exits with 1 if the default one, bubblewrap, does not work.
    """
    from dataclasses import asdict

    from lmrbench.sandbox.doctor import SANDBOXES, diagnose

    diagnoses = [diagnose(name) for name in SANDBOXES]
    if json:
        print_json([asdict(item) for item in diagnoses])
    else:
        from rich.console import Console
        from rich.table import Table

        table = Table("Sandbox", "Works", "Why not", "What to do")
        for item in diagnoses:
            table.add_row(item.name, "[green]yes[/]" if item.works else "[red]no[/]", item.reason, item.advice)
        Console().print(table)
    if not diagnoses[0].works:
        raise typer.Exit(1)
