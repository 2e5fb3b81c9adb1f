"""Where experiments keep what they find.

Arrays go into `.npz` files, which are read again without pickle. Files of an earlier run are replaced, and other files
in the folder are left alone.
"""

from pathlib import Path


def artifact_path(savedir: str | Path, experiment: str, model_family: str, model_size: str, suffix: str) -> Path:
    """The path of a file of an experiment; its folder is made if there is none.

    experiment: such as "exp2"; where the experiment is about one layer, its number follows, as in "exp1_layer3".
    suffix: with the dot, as in ".npz". Names of sizes hold dots too.
    """
    folder = Path(savedir)
    folder.mkdir(parents=True, exist_ok=True)
    return folder / f"{experiment}_{model_family}_{model_size}{suffix}"


def figure_title(model_family: str, model_size: str, layer_id: int | None = None) -> str:
    """What stands above a figure."""
    return f"{model_family} {model_size}" + ("" if layer_id is None else f", layer {layer_id}")
