"""Find the papers that a text cites by arXiv number, DOI, ACL Anthology or OpenReview id, or a link called "paper"."""

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
# Links called "paper" to these sites are skipped: the other patterns find the papers there, and other pages of these
# sites are not papers.
_OTHERS = re.compile(r"arxiv\.org|huggingface\.co|alphaxiv\.org|doi\.org|aclanthology\.org|openreview\.net|github\.com")


def papers_in(text: str) -> tuple[str, ...]:
    """Return the URLs of the papers that a text cites, in order of appearance and without duplicates."""
    found: list[tuple[int, str]] = []
    for pattern, form in _PATTERNS:
        for match in pattern.finditer(text):
            name = match[1].rstrip(".,;:")
            if form != "{}" or not _OTHERS.search(name):
                found.append((match.start(), form.format(name)))
    return tuple(dict.fromkeys(name for _, name in sorted(found)))
