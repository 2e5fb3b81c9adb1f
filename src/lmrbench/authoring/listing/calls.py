"""Find which definitions of a package use each other, and which seem to need a GPU.

Names are followed through imports, including names that a package's `__init__` re-exports. A method is recognized
if it is accessed on `self` or `cls`, or if only one class has a method of that name. Uses through registries and
`getattr` are not found.
"""

from __future__ import annotations

import ast
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from functools import cache, cached_property
from pathlib import PurePosixPath
from typing import Literal

from lmrbench.authoring.listing.definitions import Definition, Package
from lmrbench.source.syntax import FunctionNode
from lmrbench.tasks.model import Target

Gpu = Literal["no", "may", "needs"]
# Libraries that run only on a GPU, and libraries of which only some functions need one.
GPU_LIBRARIES = frozenset(
    ("triton", "tilelang", "cupy", "flash_attn", "flash_attn_interface", "causal_conv1d", "mamba_ssm", "deep_gemm")
)
PARTLY_GPU_LIBRARIES = frozenset(("bitsandbytes", "deepspeed", "liger_kernel", "vllm", "xformers"))
_EXTENSIONS = frozenset(("cpp_extension", "load_inline", "CUDAExtension"))


class Uses:
    """An index of a package: which definitions use which others, and which need a GPU.

    Attributes:
        package: The modules and definitions of the package.
    """

    def __init__(self, package: Package) -> None:
        self.package = package
        self._imports = cache(self._read_imports)
        methods = Counter(item.name for item in package.definitions.values() if item.kind == "method")
        self._only_methods = {
            item.name: place
            for place, item in package.definitions.items()
            if item.kind == "method" and methods[item.name] == 1
        }

    @cached_property
    def of(self) -> Mapping[Target, frozenset[Target]]:
        """The other definitions that each definition uses. Uses in a class's methods do not count for the class."""
        return {place: frozenset(self._used(place, item)) - {place} for place, item in self.package.definitions.items()}

    @cached_property
    def callers(self) -> Mapping[Target, list[Target]]:
        """The definitions that use each definition."""
        found = defaultdict(list)
        for place, used in self.of.items():
            for target in used:
                found[target].append(place)
        return found

    @cached_property
    def gpu(self) -> Mapping[Target, Gpu]:
        """Whether each definition needs a GPU, judged from its own code and from the definitions that it uses."""
        own = {place: self._own_gpu(place, item) for place, item in self.package.definitions.items()}
        needing = [place for place, found in own.items() if found == "needs"]
        reached = set(needing)
        while needing:
            place = needing.pop()
            owner = Target(file=place.file, qualname=place.qualname.rpartition(".")[0] or place.qualname)
            for caller in (*self.callers.get(place, ()), *([owner] if owner in own else [])):
                if caller not in reached:
                    reached.add(caller)
                    needing.append(caller)
        return {place: "may" if found == "no" and place in reached else found for place, found in own.items()}

    def _own_gpu(self, place: Target, item: Definition) -> Gpu:
        names, may = self._imports(place.file), False
        for node in _own_nodes(item):
            match node:
                case ast.Name(id=name):
                    library = names.get(name, ("", None))[0]
                    if library in GPU_LIBRARIES or name in _EXTENSIONS:
                        return "needs"
                    may = may or library in PARTLY_GPU_LIBRARIES
                case ast.Call(func=ast.Attribute(attr="cuda"), args=[]):
                    return "needs"
                case ast.Attribute(attr="cuda"):
                    may = True
                case ast.Constant(value=str(text)) if text.partition(":")[0] == "cuda":
                    may = True
        if may or any(library in GPU_LIBRARIES for library, _ in names.values()):
            return "may"
        return "no"

    def _used(self, place: Target, item: Definition) -> Iterator[Target]:
        owner = place.qualname.rpartition(".")[0]
        for node in _own_nodes(item):
            found = None
            match node:
                case ast.Name(id=name, ctx=ast.Load()):
                    found = self._resolved(place.file, name, frozenset())
                case ast.Attribute(value=ast.Name(id="self" | "cls"), attr=name) if owner:
                    found = Target(file=place.file, qualname=f"{owner}.{name}")
                    if found not in self.package.definitions:
                        found = self._only_methods.get(name)
                case ast.Attribute(value=ast.Name(id=module), attr=name):
                    file = self._imports(place.file).get(module, ("", None))[0]
                    known = file in self.package.modules
                    found = self._resolved(file, name, frozenset()) if known else self._only_methods.get(name)
                case ast.Attribute(attr=name):
                    found = self._only_methods.get(name)
            if found is not None:
                yield found

    def _resolved(self, file: str, name: str, seen: frozenset[str]) -> Target | None:
        """Return the definition that a top-level name of a file refers to, or None if it is not in the package."""
        if file in seen or file not in self.package.modules:
            return None
        place = Target.model_construct(file=file, qualname=name)
        if place in self.package.definitions:
            return place
        names = self._imports(file)
        if name in names:
            origin, attribute = names[name]
            return self._resolved(origin, attribute, seen | {file}) if attribute else None
        for origin, attribute in names.values():
            if attribute == "*" and (found := self._resolved(origin, name, seen | {file})):
                return found
        return None

    def _read_imports(self, file: str) -> dict[str, tuple[str, str | None]]:
        """Return the origin of each imported name.

        An origin is a pair. The first item is a file of the package, or the name of another library. The second is the
        name that is imported from there, or None if the import binds the module itself.
        """
        found: dict[str, tuple[str, str | None]] = {}
        for node in ast.walk(self.package.modules[file].tree):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    module = alias.name if alias.asname else alias.name.partition(".")[0]
                    found[alias.asname or module] = (self._file(module), None)
            elif isinstance(node, ast.ImportFrom):
                module = ".".join(filter(None, (_package_of(file, node.level), node.module or "")))
                for alias in node.names:
                    inner = self._file(f"{module}.{alias.name}")
                    is_module = inner in self.package.modules
                    name = f"* of {module}" if alias.name == "*" else alias.asname or alias.name
                    found[name] = (inner, None) if is_module else (self._file(module), alias.name)
        return found

    def _file(self, module: str) -> str:
        """Return the file of a module of this package, or the top-level name of any other module."""
        path = module.replace(".", "/")
        for file in (f"{path}.py", f"{path}/__init__.py"):
            if file in self.package.modules:
                return file
        return module.partition(".")[0]


def _package_of(file: str, level: int) -> str:
    """Return the package that a relative import with `level` dots starts from; empty for an absolute import."""
    return ".".join(PurePosixPath(file).parts[:-level]) if level else ""


def _own_nodes(item: Definition) -> Iterator[ast.AST]:
    """Yield the syntax nodes of a definition. The methods and inner classes of a class are left out."""
    if not isinstance(item.node, ast.ClassDef):
        yield from ast.walk(item.node)
        return
    parts: list[ast.AST] = [*item.node.bases, *item.node.keywords, *item.node.decorator_list]
    parts += [node for node in item.node.body if not isinstance(node, FunctionNode | ast.ClassDef)]
    for part in parts:
        yield from ast.walk(part)
