"""`lmrbench setup`: sandboxes, sources, environments, images and papers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Literal

import typer
from typer import Argument, Option

from lmrbench.cli import options
from lmrbench.cli.grading import select
from lmrbench.cli.lazy import group
from lmrbench.cli.terminal import print_json, say, show, warn
from lmrbench.errors import UsageError
from lmrbench.progress import Finished, progress_bars, staged
from lmrbench.report.sheets import setup as tables
from lmrbench.sandbox.doctor import diagnose
from lmrbench.sandbox.registry import PREFERRED, sandbox_names
from lmrbench.sandbox.venvs import build_environments
from lmrbench.solving.papers import add, fetch_papers, fetched_forms
from lmrbench.tasks.sources.fetch import fetch_sources

env = group("Build environments for papers with requirements of their own.")
images = group("Build, list and remove the images that --sandbox docker grades in.")
papers = group("Fetch papers as PDF or LaTeX, add your own copies, and list them.")


def doctor(json: options.Json = False) -> None:
    """Test every sandbox on this machine and print how to install those that fail.

    Exits with 1 if none of bubblewrap, landlock and docker works.
    """
    diagnoses = [diagnose(name) for name in sandbox_names()]
    if json:
        print_json([asdict(item) for item in diagnoses])
    else:
        show(tables.sandboxes_sheet(diagnoses))
        say(*tables.advice_lines(diagnoses))
    if not any(item.works for item in diagnoses if item.name in PREFERRED):
        raise typer.Exit(1)


def fetch(patterns: options.Papers = None, suite: options.Suite = None) -> None:
    """Download the packages, commits and archives that tasks use.

    Each download is verified and unpacked into the cache, and is not repeated later. Packages come from the indexes in
    pip's configuration. No downloaded code is run. If the command is interrupted, run it again to resume. Exits with 1
    if a download failed.
    """
    _print_each(fetch_sources(select(suite, patterns).chosen, staged))


@env.command("build")
def build_env(patterns: options.Papers = None, suite: options.Suite = None) -> None:
    """Build the environments of papers with pip, from wheels only, in the user's cache.

    A paper needs its own environment if the packages installed with lmrbench don't meet its `requirements`. Papers with
    the same requirements share an environment. Checks and agents run in it. The environment's lock file lists the
    installed packages with the digest of each file; grades refer to it. An incomplete environment is built again. Exits
    with 1 if an environment could not be built.
    """
    _print_each(build_environments(select(suite, patterns).papers))


@images.command("build")
def build_images(
    patterns: options.Patterns = None,
    base: Annotated[
        str | None, Option(metavar="IMAGE", help="A base image with this Python; the default is described above.")
    ] = None,
    suite: options.Suite = None,
) -> None:
    """Build missing images, one for each set of packages that tasks import.

    Packages are copied from this installation, and from the environments of `lmrbench setup env build`. Grading builds
    missing images, too. Use this command to build them in advance, or from your own base image if Docker Hub can't be
    reached. By default, the base is LMRBENCH_BASE_IMAGE, or else that of the newest image, or else the public image.
    """
    from lmrbench.sandbox.backends import images as docker

    client = docker.connect()
    for imports, environment in docker.needed(select(suite, patterns).chosen):
        say(docker.image_for(client, imports, environment, base, say))


@images.command("list")
def list_images(json: options.Json = False) -> None:
    """List the images on this machine, with their dates, sizes and packages.

    The size of an image includes the layers that it shares with other images.
    """
    from lmrbench.sandbox.backends import images as docker

    found = docker.images(docker.connect())
    if json:
        print_json([{**asdict(item), "created": item.created.isoformat()} for item in found])
    else:
        show(tables.images_sheet(found))


@images.command("prune")
def prune_images(suite: options.Suite = None) -> None:
    """Remove the images that no task of the suite needs, given the packages that are installed now."""
    from lmrbench.sandbox.backends import images as docker

    for tag in docker.prune(docker.connect(), select(suite, None).chosen):
        say(f"removed {tag}")


@papers.command("list")
def list_papers(suite: options.Suite = None, json: options.Json = False) -> None:
    """List the suite's papers, each with the forms (pdf, latex) that are in the cache."""
    found = fetched_forms(select(suite, None).papers)
    if json:
        print_json(tables.papers_facts(found))
    else:
        show(tables.papers_sheet(found))


@papers.command("fetch")
def download_papers(
    patterns: options.Papers = None,
    form: Annotated[
        Literal["pdf", "latex"], Option(help="Form of the paper; latex (arXiv's source) preserves formulas.")
    ] = "pdf",
    suite: options.Suite = None,
) -> None:
    """Download papers into the cache, and record their checksums.

    Papers in the cache are not downloaded again. Exits with 1 if a download failed.
    """
    with progress_bars() as bars:
        _print_each(fetch_papers(bars.track(select(suite, patterns).papers, description="papers"), form))


@papers.command("add")
def add_paper(
    paper: Annotated[str, Argument(metavar="PAPER", help="The paper, by its short name.")],
    file: Annotated[Path, Argument(help="The paper's PDF, or its LaTeX source as downloaded from arXiv.")],
    suite: options.Suite = None,
) -> None:
    """Copy a paper from a file into the cache instead of downloading it."""
    found = select(suite, [paper]).papers
    if len(found) != 1:
        raise UsageError(f"{paper!r} names {len(found)} papers: {', '.join(item.slug for item in found)}; name one")
    form, copy = add(found[0], file)
    say(f"{found[0].slug}: {copy.bytes:,} bytes of {form} from {file}")


def _print_each(found: Iterable[Finished]) -> None:
    """Print each outcome, and exit with 1 at the end if anything failed."""
    failed = False
    for item in found:
        (warn if item.failed else say)(item.text)
        failed = failed or item.failed
    if failed:
        raise typer.Exit(1)
