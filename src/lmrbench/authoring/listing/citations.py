"""Papers that a text names: by arXiv number, DOI, number of the ACL Anthology, OpenReview, or a link called "paper"."""

from __future__ import annotations

import re

_ADDRESS = r"[^\s<>\"'`\[\](){}|]+"
_FORMS = (
    (
        r"(?:arxiv\.org/(?:abs|pdf|html)/|huggingface\.co/papers/|alphaxiv\.org/abs/|\barxiv[:\s]\s?)(\d{4}\.\d{4,5})",
        "https://arxiv.org/abs/{}",
    ),
    (r"(?:doi\.org/|\bdoi[:\s]\s?)(10\.\d{4,}/" + _ADDRESS + ")", "https://doi.org/{}"),
    (r"aclanthology\.org/([A-Z]\d\d-\d{4}|\d{4}\.[\w-]+\.\d+)", "https://aclanthology.org/{}"),
    (r"openreview\.net/(?:forum|pdf)\?id=([\w-]+)", "https://openreview.net/forum?id={}"),
    (r"\bpaper\W{1,4}(https?://" + _ADDRESS + ")", "{}"),
)
_PATTERNS = [(re.compile(pattern, re.IGNORECASE), form) for pattern, form in _FORMS]
_OTHERS = re.compile(r"arxiv\.org|huggingface\.co|alphaxiv\.org|doi\.org|aclanthology\.org|openreview\.net|github\.com")


def papers_in(text: str) -> tuple[str, ...]:
    """Return the addresses of the papers that a text names, in its order, each once."""
    found: list[tuple[int, str]] = []
    for pattern, form in _PATTERNS:
        for match in pattern.finditer(text):
            name = match[1].rstrip(".,;:")
            if form != "{}" or not _OTHERS.search(name):
                found.append((match.start(), form.format(name)))
    return tuple(dict.fromkeys(name for _, name in sorted(found)))
