"""Social groups (Section 3.1, Tables 1 and 4): three categories, and the identities that prompts name in each.

The unspecified identity, which serves as a reference, is the first of every category.
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
    """Return the identities of a category, the unspecified one first, the others in the order of Table 1.

    Raises:
        ValueError: If there is no such category.
    """
    if group_option == "ethnicity":
        specified = [name for names in ETHNIC_GROUPS.values() for name in names]
    elif group_option == "nationality":
        specified = [f"a person from {country}" for countries in CULTURAL_REGIONS.values() for country in countries]
    elif group_option == "religion":
        specified = list(RELIGIOUS_IDENTITIES)
    else:
        raise ValueError(f"Unknown category {group_option!r}; use one of {', '.join(GROUP_OPTIONS)}")
    return (UNSPECIFIED, *specified)


def ethnic_group(identity: str) -> str:
    """Return which of the four ethnic groups an identity names. Raises KeyError for any other identity."""
    return {name: group for group, names in ETHNIC_GROUPS.items() for name in names}[identity]


def cultural_region(identity: str) -> str:
    """Return the region of the cultural map of `a person from ...`. Raises KeyError for any other identity."""
    country = identity.removeprefix(f"{UNSPECIFIED} from ")
    return {name: region for region, names in CULTURAL_REGIONS.items() for name in names}[country]
