"""Prices of models, read from a file."""

import pytest
from tests.solving.helpers import MODEL

from lmrbench.errors import RecordError
from lmrbench.models.opening import set_prices


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "Expecting property name"),
        ('{"m": {"input": 1}}', "m: output is missing"),
        ('{"m": {"input": 1, "output": 2, "inptu": 3}}', "m: inptu: unknown"),
    ],
)
def test_prices_that_can_not_be_read(tmp_path, text, words):
    (tmp_path / "prices.json").write_text(text)

    with pytest.raises(RecordError, match=words):
        set_prices(tmp_path / "prices.json", MODEL)
