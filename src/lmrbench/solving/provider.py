"""An Inspect sandbox environment that runs agents in a namespace (`AgentSession`) instead of a Docker container.

Any Inspect task can use it with `sandbox="bubblewrap"`. In a sample's metadata, `packages` lists the packages that are
visible in the sandbox, separated by commas. `requirements` lists the required versions of the packages, such as
`torch>=2.4`, one per line.
"""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any, Literal, overload

import anyio
from inspect_ai.util import (
    ExecResult,
    OutputLimitExceededError,
    SandboxEnvironment,
    SandboxEnvironmentConfigType,
    SandboxEnvironmentLimits,
    SandboxUnavailableError,
    SandboxUserUnsupportedError,
    concurrency,
    sandboxenv,
)
from pydantic import BaseModel

from lmrbench.sandbox.venvs import environment_of
from lmrbench.solving.secrets import secret_folders
from lmrbench.solving.session import AgentSession, SessionError, SessionLimits
from lmrbench.tasks.loading import default_suite

NOT_FOUND, NOT_PERMITTED = 127, 126


class BubblewrapConfig(BaseModel, frozen=True):
    """Configuration of the sandbox.

    Attributes:
        shown: folders of this machine to mount read-only for the agent's program.
        secrets: folders that must not be visible.
        memory_mb: maximum memory of all processes together, in MiB; see `SessionLimits`.
        processes: maximum number of concurrent processes; see `SessionLimits`.
    """

    shown: tuple[str, ...] = ()
    secrets: tuple[str, ...] = ()
    memory_mb: int = SessionLimits.memory_mb
    processes: int = SessionLimits.processes


@sandboxenv(name="bubblewrap")
class BubblewrapSandboxEnvironment(SandboxEnvironment):
    """The sandbox of one sample: a namespace in which all commands run as the same unprivileged user."""

    def __init__(self, session: AgentSession) -> None:
        """Wrap a session, which `sample_cleanup` closes."""
        super().__init__()
        self.session = session

    @classmethod
    async def sample_init(
        cls, task_name: str, config: SandboxEnvironmentConfigType | None, metadata: dict[str, str]
    ) -> dict[str, SandboxEnvironment]:
        """Start the namespace of a sample; see `SandboxEnvironment.sample_init`."""
        chosen = config if isinstance(config, BubblewrapConfig) else BubblewrapConfig()
        session = AgentSession(
            imports=[name for name in metadata.get("packages", "").split(",") if name],
            environment=environment_of(tuple(metadata.get("requirements", "").splitlines())),
            secrets=[*secret_folders(default_suite()), *map(Path, chosen.secrets)],
            shown=chosen.shown,
            limits=SessionLimits(chosen.memory_mb, chosen.processes),
        )
        return {"default": cls(session)}

    @classmethod
    async def sample_cleanup(
        cls,
        task_name: str,
        config: SandboxEnvironmentConfigType | None,
        environments: dict[str, SandboxEnvironment],
        interrupted: bool,
    ) -> None:
        """End the namespace and all processes in it; see `SandboxEnvironment.sample_cleanup`."""
        for environment in environments.values():
            environment.as_type(cls).session.close()

    @classmethod
    def config_deserialize(cls, config: dict[str, Any]) -> BaseModel:
        """Restore a configuration that was read from a log."""
        return BubblewrapConfig(**config)

    def default_polling_interval(self) -> float:
        """Return the polling interval in seconds, which is short because polling this sandbox is cheap."""
        return 0.2

    async def exec(
        self,
        cmd: list[str],
        input: str | bytes | None = None,
        cwd: str | None = None,
        env: dict[str, str] | None = None,
        user: str | None = None,
        timeout: int | None = None,
        timeout_retry: bool = True,
        concurrency: bool = True,
    ) -> ExecResult[str]:
        """Run a command in the workspace; see `SandboxEnvironment.exec`.

        A command that exceeds its timeout is killed and never retried, because its effects can't be undone.
        """
        if user not in (None, "agent", str(self.session.user)):
            raise SandboxUserUnsupportedError(f"{user!r}: no such user; agent is the only user of the sandbox")
        data = input.encode() if isinstance(input, str) else input or b""
        limit = SandboxEnvironmentLimits.MAX_EXEC_OUTPUT_SIZE
        try:
            with anyio.fail_after(timeout):
                if concurrency:
                    async with _slot():
                        done = await self.session.run(cmd, data, cwd or "", env, limit)
                else:
                    done = await self.session.run(cmd, data, cwd or "", env, limit)
        except SessionError as error:
            raise SandboxUnavailableError(str(error)) from error
        except FileNotFoundError:
            return ExecResult(False, NOT_FOUND, "", f"{cmd[0]}: no such command, or no such folder: {cwd or '.'}")
        except TimeoutError:
            raise
        except OSError as error:
            # The command is not executable, or there are too many processes.
            return ExecResult(False, NOT_PERMITTED, "", f"{cmd[0]}: {error.strerror}")
        stdout, stderr = (stream.decode("utf-8", "replace") for stream in (done.stdout, done.stderr))
        return ExecResult(done.returncode == 0, done.returncode, stdout, stderr)

    async def write_file(self, file: str, contents: str | bytes) -> None:
        """Write a file, and create missing parent folders; see `SandboxEnvironment.write_file`."""
        try:
            await self.session.write(file, contents.encode() if isinstance(contents, str) else contents)
        except SessionError as error:
            raise SandboxUnavailableError(str(error)) from error
        except OSError as error:
            if error.errno == errno.EROFS:
                raise PermissionError(f"{file}: read-only") from error
            raise

    @overload
    async def read_file(self, file: str, text: Literal[True] = True) -> str: ...

    @overload
    async def read_file(self, file: str, text: Literal[False]) -> bytes: ...

    async def read_file(self, file: str, text: bool = True) -> str | bytes:
        """Read a regular file; see `SandboxEnvironment.read_file`."""
        try:
            data = await self.session.read(file, SandboxEnvironmentLimits.MAX_READ_FILE_SIZE)
        except SessionError as error:
            raise SandboxUnavailableError(str(error)) from error
        except OSError as error:
            if error.errno == errno.EFBIG:
                raise OutputLimitExceededError(SandboxEnvironmentLimits.MAX_READ_FILE_SIZE_STR, None) from error
            raise
        return data.decode("utf-8") if text else data


def _slot() -> Any:
    """Return a context manager that limits the number of concurrent commands."""
    return concurrency("bubblewrap", 4 * (os.cpu_count() or 1))
