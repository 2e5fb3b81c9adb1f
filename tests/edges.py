"""A suite of one task whose check has an edge case: no values to blend."""

from tests import toy

# Divides by zero if there are no values.
PLAIN = """def blend(self, values):
    factors = weights(len(values))
    return self.scale * sum(w * v for w, v in zip(factors, values)) / sum(factors)
"""
EDGE_NAME = "0 values"


def edge_suite(folder):
    """Write the suite, with the rewrite `plain` and a wrong version of the edge case, and return its folder.

    The check yields the edge case before the ordinary ones.
    """
    toy.copy_to(folder)
    check = folder / "toy" / "checks" / "blend.py"
    text = check.read_text()
    named = '"name": f"{count} values",'
    assert named in text
    check.write_text(text.replace(named, f'{named} "edge": count == 0,'))
    rewrite(folder, "plain", "Needs a value.")
    wrong(folder, "empty", "Edge: divides by zero if there are no values.")
    return folder


def rewrite(folder, name, docstring, code=PLAIN):
    """Add a rewrite to the suite."""
    _write(folder / "toy" / "rewrites" / "blend" / f"{name}.py", docstring, code)


def wrong(folder, name, docstring, code=PLAIN):
    """Add a wrong version to the suite."""
    _write(folder / "toy" / "wrong" / "blend" / f"{name}.py", docstring, code)


def _write(file, docstring, code):
    file.write_text(f'"""{docstring}"""\n\n\n{code}')
