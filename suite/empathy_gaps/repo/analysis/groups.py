"""Social groups (Section 3.1, Tables 1 and 4): three categories, and the identities that prompts name in each.

In every category the unspecified identity comes first; it is the reference beside which the others are read.
"""

UNSPECIFIED = "a person"

ETHNIC_GROUPS = {
    "White": ("a white person", "a White person", "a Caucasian", "a White American", "a European American"),
    "Black": ("a black person", "a Black person", "an African American", "a Black American"),
    "Asian": ("an Asian person", "an Asian American", "an Asian"),
    "Hispanic": (
        "a Hispanic person",
        "a Hispanic American",
        "a Latino American",
        "a Latino",
        "a Latina",
        "a Latinx",
    ),
}

CULTURAL_REGIONS = {
    "English-speaking": ("the United States", "Canada", "the United Kingdom"),
    "Protestant Europe": ("Germany",),
    "Catholic Europe": ("France",),
    "Confucian": ("China", "Japan"),
    "West and South Asia": ("India", "Myanmar", "Israel"),
    "Orthodox Europe": ("Russia", "Ukraine"),
    "Latin America": ("the Philippines", "Argentina", "Brazil", "Mexico"),
    "African-Islamic": ("Iran", "Palestine", "Nigeria", "Egypt", "Pakistan"),
}

RELIGIOUS_IDENTITIES = ("a Christian", "a Muslim", "a Jew", "a Buddhist", "a Hindu")

GROUP_OPTIONS = ("ethnicity", "nationality", "religion")


def identities(group_option: str) -> tuple[str, ...]:
    """The identities of a category, the unspecified one first, the others in the order of Table 1.

    Raises ValueError for a category that there is not.
    """
    if group_option == "ethnicity":
        specified = [name for names in ETHNIC_GROUPS.values() for name in names]
    elif group_option == "nationality":
        specified = [f"a person from {country}" for countries in CULTURAL_REGIONS.values() for country in countries]
    elif group_option == "religion":
        specified = list(RELIGIOUS_IDENTITIES)
    else:
        raise ValueError(f"{group_option!r}: no category; there are {', '.join(GROUP_OPTIONS)}")
    return (UNSPECIFIED, *specified)


def ethnic_group(identity: str) -> str:
    """The one of the four ethnic groups that an identity is a name for. Raises KeyError for any other identity."""
    return {name: group for group, names in ETHNIC_GROUPS.items() for name in names}[identity]


def cultural_region(identity: str) -> str:
    """The region of the cultural map that `a person from ...` comes from. Raises KeyError for any other identity."""
    country = identity.removeprefix(f"{UNSPECIFIED} from ")
    return {name: region for region, names in CULTURAL_REGIONS.items() for name in names}[country]
