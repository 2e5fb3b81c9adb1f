"""`lmrbench doctor`: can this machine grade?"""

from __future__ import annotations

import typer

from lmrbench.cli.options import JsonOption, print_json
from lmrbench.cli.terminal import console, say
from lmrbench.report.render.tables import sheet, show


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
        bounds = {True: "a cgroup and a watch", False: "a watch", None: "not known"}
        rows = [(x.name, "yes" if x.works else "no", bounds[x.cgroup] if x.works else "-") for x in diagnoses]
        show(sheet("", ("sandbox", "works", "memory is bounded by"), rows), console())
        for item in diagnoses:
            if not item.works:
                say(f"{item.name}: {item.reason}" + (f". What to do: {item.advice}" if item.advice else ""))
    if not diagnoses[0].works:
        raise typer.Exit(1)
