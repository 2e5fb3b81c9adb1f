"""Images for the `docker` back end: one for each set of packages that tasks import, tagged with a hash of its content.

Packages are copied from this installation, so that a container uses the same files as every other back end,
nothing is downloaded, and a worker sees no package that its tasks do not import. The base image provides the
interpreter and the system libraries. It must have the same version of Python as lmrbench, and a C library that is new
enough for the packages.
"""

from __future__ import annotations

import fcntl
import hashlib
import io
import json
import os
import platform
import sys
import tarfile
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import docker
from docker.errors import APIError, BuildError, DockerException, ImageNotFound
from packaging.version import Version
from requests.exceptions import RequestException

from lmrbench.errors import SandboxError
from lmrbench.files import cache_folder
from lmrbench.sandbox.packages import paths_of, required_distributions, versions, with_worker_needs
from lmrbench.sandbox.variables import WORKER_PROGRAM, harness_digest
from lmrbench.sandbox.venvs import environment_of, lock_digest
from lmrbench.tasks.model import Task
from lmrbench.tasks.workspace import third_party_imports

REPOSITORY = "lmrbench-worker"
BASE_VARIABLE = "LMRBENCH_BASE_IMAGE"
LABEL = "lmrbench.image"
_OLDEST_ENGINE = Version("20.10")
_IMAGE = Path(__file__).resolve().parent / "image"
# Distributions that are smaller than this share one layer.
_SMALL = 10 << 20


@dataclass(frozen=True)
class Image:
    """A built image.

    Attributes:
        tag: The tag of the image.
        created: The time at which the image was built.
        size: The size in bytes, including layers that are shared with other images.
        base: The name of the base image.
        packages: The version of each package in the image, by name.
    """

    tag: str
    created: datetime
    size: int
    base: str
    packages: dict[str, str]


def connect() -> Any:
    """Connect to the Docker Engine at DOCKER_HOST, or to the one on this machine.

    Returns:
        A client of the `docker` package.

    Raises:
        SandboxError: The Engine can't be reached, or it is too old.
    """
    try:
        client = docker.from_env(timeout=600)
        version = client.version()["Version"]
    except (DockerException, RequestException) as error:
        raise SandboxError(f"the Docker Engine can't be reached: {error}") from error
    if not is_podman(client) and Version(version.partition("+")[0].partition("-")[0]) < _OLDEST_ENGINE:
        raise SandboxError(f"Docker Engine {version} is too old: {_OLDEST_ENGINE} or newer is needed")
    return client


def is_podman(client: Any) -> bool:
    """Return whether the client is connected to Podman instead of the Docker Engine."""
    return "podman" in str(client.version().get("Components", "")).lower()


def default_base(client: Any) -> str:
    """Return the default base image.

    It is the value of LMRBENCH_BASE_IMAGE, else the base of the newest worker image, else the public Python image.
    """
    if named := os.environ.get(BASE_VARIABLE):
        return named
    return next((item.base for item in images(client)), f"python:{_python()}-slim")


def image_for(
    client: Any,
    imports: Sequence[str],
    environment: Path | None = None,
    base: str | None = None,
    told: Callable[[str], object] = lambda _: None,
) -> str:
    """Return the tag of the image with these packages, and build the image if it is missing.

    Args:
        client: The result of `connect`.
        imports: The packages that the tasks import.
        environment: The folder that the packages come from; None for the installation of lmrbench.
        base: The base image; by default the result of `default_base`.
        told: Called with a line of text before each slow step.

    Raises:
        SandboxError: The image cannot be built, or its base image cannot be pulled.
    """
    tag, facts = _described(client, imports, environment, base, told)
    with _alone(tag):
        if not _is_there(client, tag):
            told(f"building {tag} from {facts['base']}, with {len(facts['packages'])} packages")
            _build(client, tag, imports, environment, facts)
    return tag


def tag_of(client: Any, imports: Sequence[str], environment: Path | None = None) -> str:
    """Return the tag of the image with these packages, whether it exists or not.

    Args:
        client: The result of `connect`.
        imports: The packages that the tasks import.
        environment: The folder that the packages come from; None for the installation of lmrbench.

    Raises:
        SandboxError: The base image is missing and cannot be pulled.
    """
    return _described(client, imports, environment, None, lambda _: None)[0]


def images(client: Any) -> list[Image]:
    """Return all worker images that the Engine has, newest first."""
    found = []
    for item in client.images.list(filters={"label": LABEL}):
        facts = json.loads(item.labels[LABEL])
        # In Podman, a tag starts with the name of a registry.
        for tag in (name.rpartition("/")[2] for name in item.tags):
            if tag.startswith(f"{REPOSITORY}:"):
                created = datetime.fromisoformat(item.attrs["Created"][:19] + "+00:00")
                found.append(Image(tag, created, item.attrs["Size"], facts["base"], facts["packages"]))
    return sorted(found, key=lambda item: item.created, reverse=True)


def needed(tasks: Iterable[Task]) -> list[tuple[tuple[str, ...], Path | None]]:
    """Return, for each task, the packages that it imports and the environment that they come from.

    Equal pairs are returned only once.
    """
    pairs = [(with_worker_needs(third_party_imports(task)), environment_of(task.paper.requirements)) for task in tasks]
    return list(dict.fromkeys(pairs))


def remove(client: Any, tag: str) -> None:
    """Remove an image.

    Raises:
        SandboxError: The image can't be removed, for example because a container uses it.
    """
    try:
        client.images.remove(tag)
    except APIError as error:
        raise SandboxError(f"{tag} can't be removed: {error.explanation}") from error


def prune(client: Any, tasks: Iterable[Task]) -> Iterator[str]:
    """Remove the worker images that none of these tasks needs, and yield the tags of the removed images.

    A task needs only the image with the versions of its packages that are installed now.
    """
    kept = {tag_of(client, *item) for item in needed(tasks)}
    for image in images(client):
        if image.tag not in kept:
            remove(client, image.tag)
            yield image.tag


def _described(
    client: Any, imports: Sequence[str], environment: Path | None, base: str | None, told: Callable[[str], object]
) -> tuple[str, dict[str, Any]]:
    """Return the tag of an image, and the facts from which the tag is computed, such as the base and the packages."""
    base = base or default_base(client)
    texts = [file.read_text() for file in sorted(_IMAGE.iterdir()) if file.is_file()]
    facts = {
        "base": base,
        "base id": _base_id(client, base, told),
        "recipe": hashlib.sha256("\0".join(texts).encode()).hexdigest(),
        "harness": harness_digest(),
        "python": _python(),
        "machine": platform.machine(),
        "environment": None if environment is None else lock_digest(environment),
        "packages": versions(imports, environment),
    }
    return f"{REPOSITORY}:{hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:20]}", facts


def _is_there(client: Any, tag: str) -> bool:
    try:
        client.images.get(tag)
    except ImageNotFound:
        return False
    except (DockerException, RequestException) as error:
        raise SandboxError(f"Docker can't look up the image {tag}: {error}") from error
    return True


@contextmanager
def _alone(tag: str) -> Iterator[None]:
    """Allow one build of an image at a time, across threads and processes."""
    folder = cache_folder() / "images"
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / f"{tag.partition(':')[2]}.lock", "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _python() -> str:
    return f"{sys.version_info.major}.{sys.version_info.minor}"


def _base_id(client: Any, base: str, told: Callable[[str], object]) -> str:
    try:
        try:
            return str(client.images.get(base).id)
        except ImageNotFound:
            told(f"pulling {base}")
            return str(client.images.pull(base).id)
    except (DockerException, RequestException) as error:
        raise SandboxError(
            f"the base image {base} can't be pulled; name another with --base or {BASE_VARIABLE} (reason: {error})"
        ) from error


def _build(client: Any, tag: str, imports: Sequence[str], environment: Path | None, facts: dict[str, Any]) -> None:
    layers = _layers(imports, environment)
    recipe = (_IMAGE / "Dockerfile").read_text()
    recipe += "".join(f"COPY packages/{number} /packages\n" for number in range(len(layers)))
    reading, writing = os.pipe()
    sender = threading.Thread(target=_send, args=(writing, recipe, layers), daemon=True)
    sender.start()
    try:
        with open(reading, "rb") as context:
            client.images.build(
                fileobj=context,
                custom_context=True,
                tag=tag,
                rm=True,
                forcerm=True,
                network_mode="none",
                buildargs={"BASE": facts["base"]},
                labels={LABEL: json.dumps(facts)},
            )
    except BuildError as error:
        said = [line["stream"].strip() for line in error.build_log if line.get("stream", "").strip()]
        raise SandboxError(f"{tag} can't be built: {error.msg}: {' '.join(said[-1:])}") from error
    except (DockerException, RequestException) as error:
        raise SandboxError(f"{tag} can't be built: {error}") from error
    finally:
        sender.join()


def _layers(imports: Sequence[str], environment: Path | None) -> list[dict[str, Path]]:
    """Return the layers of an image: one for each large distribution, largest first, and one for all small ones.

    A layer maps the name of each of its files and folders in /packages to a path on this machine.
    """
    sized = []
    small: dict[str, Path] = {}
    for item in required_distributions(imports, environment):
        paths = paths_of(item)
        size = sum(_size(path) for path in paths.values())
        if size < _SMALL:
            small |= paths
        else:
            sized.append((-size, item.name, paths))
    return [paths for _, _, paths in sorted(sized, key=lambda entry: entry[:2])] + ([small] if small else [])


def _size(path: Path) -> int:
    files = path.rglob("*") if path.is_dir() else [path]
    return sum(file.stat().st_size for file in files if file.is_file())


def _send(writing: int, recipe: str, layers: Sequence[dict[str, Path]]) -> None:
    """Write the build context of an image to a pipe, and stop if the reader closes the pipe."""
    try:
        with open(writing, "wb") as out, tarfile.open(fileobj=out, mode="w|", format=tarfile.PAX_FORMAT) as archive:
            _add(archive, "Dockerfile", recipe.encode())
            _add(archive, "worker/prepare.py", (_IMAGE / "prepare.py").read_bytes())
            _add(archive, "worker/wanted.json", json.dumps({"python": _python()}).encode())
            archive.add(WORKER_PROGRAM, f"worker/{WORKER_PROGRAM.name}", filter=_readable)
            for number, paths in enumerate(layers):
                for name, path in paths.items():
                    archive.add(path, f"packages/{number}/{name}", filter=_readable)
    except BrokenPipeError:
        pass


def _add(archive: tarfile.TarFile, name: str, data: bytes) -> None:
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode = len(data), 0o644
    archive.addfile(entry, io.BytesIO(data))


def _readable(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    """Make an archive entry the same on every machine: owned by root, and readable for a container's user."""
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = "root"
    entry.mode |= 0o555 if entry.isdir() else 0o444
    return entry
