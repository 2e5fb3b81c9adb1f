"""The dialogue acts of persuader and persuadee.

An act of the persuader is known to the search by its number, which is its place in SYSTEM_ACTS, and to everything else
by its name.
"""

SYSTEM_ACTS = (
    "credibility appeal",
    "emotion appeal",
    "greeting",
    "logical appeal",
    "other",
    "proposition of donation",
    "task related inquiry",
)
APPEALS = ("credibility appeal", "emotion appeal", "logical appeal")
GREETING = "greeting"
INQUIRY = "task related inquiry"
PROPOSITION = "proposition of donation"

# The order in which a persuader thinks of acts: get to know the other, argue, ask for a donation.
STRATEGY = (
    "greeting",
    "task related inquiry",
    "logical appeal",
    "credibility appeal",
    "emotion appeal",
    "proposition of donation",
    "other",
)

# What each act of the persuadee says about the inclination to donate.
USER_ACT_VALUES = {
    "no donation": -1.0,
    "negative reaction": -0.5,
    "neutral": 0.0,
    "positive reaction": 0.5,
    "donate": 1.0,
}
DONATE = "donate"
NO_DONATION = "no donation"


def act_number(name: str) -> int:
    """The number of an act of the persuader."""
    return SYSTEM_ACTS.index(name)
