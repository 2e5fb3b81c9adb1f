"""All that is ever said in the dialogues, and how well each line of the persuader is put."""

from core.acts import SYSTEM_ACTS

CHARITY = "Save the Children"
QUESTION = f"Would you be interested in donating to {CHARITY}?"

# Lines of the persuader with their force. What a line does to somebody grows with it.
SYSTEM_LINES: dict[str, tuple[tuple[str, float], ...]] = {
    "credibility appeal": (
        (f"{CHARITY} publishes audited accounts, and its work is reviewed by three independent bodies.", 1.3),
        (f"{CHARITY} has been around for more than a hundred years.", 1.0),
        (f"Everybody says that {CHARITY} is fine.", 0.4),
    ),
    "emotion appeal": (
        ("Last week a girl of six walked two days to our clinic, with her brother on her back.", 1.3),
        ("Think of children who go to bed hungry in the middle of a war.", 1.0),
        ("It is all so sad, is it not?", 0.4),
    ),
    "greeting": (
        ("Hello! How are you doing today?", 1.1),
        ("Good morning. Do you have a minute?", 0.9),
        ("Hi.", 0.6),
    ),
    "logical appeal": (
        ("Two dollars pay for five days of food, and 88 cents of each dollar reach a child.", 1.3),
        ("With your gift the charity can reach more children than it does now.", 1.0),
        ("If nobody gives, nothing changes, so one should give.", 0.4),
    ),
    "other": (
        ("I see. Thank you for telling me.", 1.1),
        ("That is interesting.", 0.9),
        ("Okay.", 0.6),
    ),
    "proposition of donation": (
        (f"{QUESTION} Any amount helps, and you can choose it yourself.", 1.2),
        (QUESTION, 1.0),
        ("How much of your payment will you give away now?", 0.5),
    ),
    "task related inquiry": (
        (f"What would you like to know about {CHARITY} before you think of giving?", 1.2),
        (f"Have you heard of {CHARITY} before?", 1.0),
        ("Do you ever give to charities?", 0.7),
    ),
}

# What keeps people from giving, and the words that give it away.
CONCERNS: dict[str, str] = {
    "trust": "I have read that such organizations keep the money for themselves.",
    "effect": "I doubt that a few dollars make any difference.",
    "distance": "These children are far away, and I don't really see their lives.",
}

# What the persuadee says with each act, where no concern is spoken of.
USER_LINES: dict[str, tuple[str, ...]] = {
    "no donation": ("No, I don't want to donate.", "I would rather not give anything."),
    "negative reaction": ("I am not convinced.", "That does not speak to me."),
    "neutral": ("I see.", "Okay, go on."),
    "positive reaction": ("That is good to hear.", "I like what they do."),
    "donate": ("Yes, I would like to donate.", "All right, I will give something."),
}

_FORCES = {line: force for act in SYSTEM_ACTS for line, force in SYSTEM_LINES[act]}


def force(utterance: str) -> float:
    """How well a line of the persuader is put."""
    return _FORCES[utterance]
