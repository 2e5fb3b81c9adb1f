"""The relations and tags that reading a tree for opinions needs, under spaCy's names."""

SUBJECTS = frozenset({"nsubj", "nsubjpass"})
OBJECTS = frozenset({"dobj"})
COMPLEMENTS = frozenset({"acomp", "attr", "oprd"})
MODIFIERS = frozenset({"amod"})
RELATIVE_CLAUSES = frozenset({"relcl"})
CONJUNCTS = frozenset({"conj"})
CONJUNCTIONS = frozenset({"cc"})
NEGATIONS = frozenset({"neg"})

# The lemmas of conjunctions that set what follows against what came before.
ADVERSATIVES = frozenset({"but", "yet"})
# The tags of words such as "which" and "that", which stand in a relative clause for what it modifies.
RELATIVE_TAGS = frozenset({"WDT", "WP"})
