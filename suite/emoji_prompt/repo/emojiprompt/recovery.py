"""A stand-in for the model that is to recover values (Appendix A.8.1): it reads symbols, guesses, and chatters.

Such a model is told that it may think aloud, and that its answer is the last line of the form of `format_level`.
"""

import numpy as np

from emojiprompt.features import Level, format_level

_READINGS = {
    "🎓": ("graduate", "university", "student"),
    "🔬": ("scientist", "research"),
    "🏫": ("school", "college"),
    "⬆️": ("high", "rising"),
    "➗": ("divided", "partly"),
    "🚜": ("farming", "tractor"),
    "🎣": ("fishing", "angler"),
    "⚙️": ("machine", "technology"),
    "👷": ("builder", "worker"),
    "🏢": ("office", "company", "building"),
    "📎": ("clerk", "papers"),
    "💰": ("money", "rich", "pay"),
    "🔨": ("hammer", "construction"),
    "🔧": ("repair", "plumber"),
    "💍": ("married", "engaged"),
    "🚫": ("no", "forbidden", "never"),
    "💔": ("divorced", "heartbroken"),
    "🥀": ("grief", "widowed"),
    "🔒": ("private", "security"),
    "🏛️": ("government", "museum", "bank"),
    "👤": ("single", "self"),
    "💼": ("business", "employed"),
    "✅": ("Yes", "done"),
    "❌": ("No", "wrong"),
    "➕": ("and", "more"),
    "📜": ("degree", "scroll"),
}
GIVE_UP = "I can't recover this."


class Recoverer:
    """unable: how often it gives up; hasty: how often it names another value before it settles."""

    def __init__(self, generator: np.random.Generator, unable: float = 0.1, hasty: float = 0.3) -> None:
        self.generator, self.unable, self.hasty = generator, unable, hasty

    def recover(self, feature: str, obfuscated: str) -> str:
        """What it says: some chatter, and on the last line the level, if it has any idea."""
        if self.generator.random() < self.unable:
            return GIVE_UP
        lines = [f"{obfuscated} stands for something."]
        if self.generator.random() < self.hasty:
            lines += [format_level(Level(feature, self._read(obfuscated))), "Or rather:"]
        lines.append(format_level(Level(feature, self._read(obfuscated))))
        return "\n".join(lines)

    def _read(self, obfuscated: str) -> str:
        words = [str(self.generator.choice(_READINGS.get(part, (part,)))) for part in obfuscated.split()]
        return " ".join(words)
