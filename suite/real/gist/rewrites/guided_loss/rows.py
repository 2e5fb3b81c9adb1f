"""One pair after the other: what is kept is gathered, and a softmax taken over that."""

import torch
from torch.nn import functional as F


def _cosines(one, two):
    lengths = one.square().sum(-1, keepdim=True).sqrt() * two.square().sum(-1).sqrt()
    products = torch.einsum("nd,md->nm", one, two)
    return products / torch.where(lengths == 0, torch.ones_like(lengths), lengths)


class GISTEmbedLoss:
    def sim_matrix(self, embed1, embed2):
        return torch.stack([F.cosine_similarity(row.unsqueeze(0), embed2, dim=1) for row in embed1])

    def forward(self, sentence_features, labels):
        columns = list(sentence_features)
        ours = [self.model(column)["sentence_embedding"] for column in columns]
        if len(columns) < 2 or len(columns) > 3:
            raise ValueError(f"{len(columns)} columns")
        if self.must_retokenize:
            texts = [self.tokenizer.batch_decode(column["input_ids"], skip_special_tokens=True) for column in columns]
            columns = [self.guide.tokenize(column) for column in texts]
        with torch.no_grad():
            theirs = [self.guide(column)["sentence_embedding"].double() for column in columns]
        total = 0
        for i in range(len(ours[0])):
            limit = _cosines(theirs[0][i : i + 1], theirs[1][i : i + 1])[0, 0]
            kept = []
            for left, right in ((0, 1), (0, 0), (1, 1), (0, 2)):
                if right < len(ours):
                    guided = _cosines(theirs[left][i : i + 1], theirs[right])[0]
                    scores = _cosines(ours[left][i : i + 1], ours[right])[0]
                    allowed = guided <= limit
                    if (left, right) == (0, 1):
                        # However rounding goes: a threshold is not above itself.
                        allowed[i] = True
                    kept.append(scores[allowed])
            scores = torch.cat(kept) / self.temperature
            own = _cosines(ours[0][i : i + 1], ours[1][i : i + 1])[0, 0] / self.temperature
            total = total + scores.logsumexp(dim=0) - own
        return total / len(ours[0])
