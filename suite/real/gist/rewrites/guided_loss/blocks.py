"""Blocks of normalised products, masked by where, with a logarithm of sums; the positive is taken from the diagonal."""

from torch import nn


def _guided(one, two):
    return nn.functional.cosine_similarity(one[:, None], two[None], dim=-1)


class GISTEmbedLoss:
    def sim_matrix(self, embed1, embed2):
        one, two = (
            item / torch.linalg.vector_norm(item, dim=1, keepdim=True).clamp(min=1e-8) for item in (embed1, embed2)
        )
        return one @ two.mT

    def forward(self, sentence_features, labels):
        if len(sentence_features) not in (2, 3):
            raise ValueError("two columns or three")
        ours = [self.model(features)["sentence_embedding"] for features in sentence_features]
        with torch.no_grad():
            given = sentence_features
            if self.must_retokenize:
                given = []
                for features in sentence_features:
                    texts = self.tokenizer.batch_decode(features["input_ids"], skip_special_tokens=True)
                    read = self.guide.tokenize(texts)
                    given.append({name: item.to(self.guide.device) for name, item in read.items()})
            theirs = [self.guide(features)["sentence_embedding"] for features in given]
            threshold = nn.functional.cosine_similarity(theirs[0], theirs[1], dim=1).unsqueeze(1)
        sides = [(0, 1), (0, 0), (1, 1), (0, 2)][: len(ours) + 1]
        logits = []
        for left, right in sides:
            scores = self.sim_matrix(ours[left], ours[right]) / self.temperature
            masked = _guided(theirs[left], theirs[right]) > threshold
            logits.append(torch.where(masked, -torch.inf, scores))
        positive = logits[0].diagonal()
        return (torch.cat(logits, dim=1).logsumexp(dim=1) - positive).mean()
