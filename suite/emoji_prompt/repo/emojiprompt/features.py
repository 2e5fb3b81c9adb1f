"""Feature levels of tabular data (Appendix A.1): a name and a value, obfuscated once and reused in every row."""

from dataclasses import dataclass

import numpy as np

LEVELS = {
    "education": ("Bachelors degree", "Masters degree", "Doctorate", "Some college", "High school graduate"),
    "occupation": ("Farming and fishing", "Machine operator", "Office clerk", "Sales", "Craft and repair"),
    "marital status": ("Married", "Never married", "Divorced", "Widowed"),
    "work class": ("Private company", "Federal government", "Self employed", "Without pay"),
    "owns house": ("Yes", "No"),
    "pays alimony": ("Yes", "No"),
}


@dataclass(frozen=True)
class Level:
    """One value of one feature."""

    feature: str
    value: str


def format_level(level: Level) -> str:
    """A level as prompts and answers write it, on a line of its own."""
    return f"Feature: {level.feature}, Value: {level.value}"


def sample_rows(rows: int, generator: np.random.Generator) -> list[list[Level]]:
    """A table: in each row a level of every feature, early ones more often than late ones."""
    table = []
    for _ in range(rows):
        row = []
        for feature, values in LEVELS.items():
            weights = 1.0 / np.arange(1, len(values) + 1)
            row.append(Level(feature, values[generator.choice(len(values), p=weights / weights.sum())]))
        table.append(row)
    return table
