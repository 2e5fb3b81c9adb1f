"""What a claim is; the package's extraction of claims, by a language model, is left out."""

from dataclasses import dataclass, field


@dataclass
class Claim:
    """A claim, the sentence that makes it, and the places of those tokens of the answer that it was read from."""

    claim_text: str = ""
    sentence: str = ""
    aligned_token_ids: list[int] = field(default_factory=list)
