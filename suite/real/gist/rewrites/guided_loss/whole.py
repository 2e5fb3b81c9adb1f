"""All texts of a batch in one matrix of cosines of each model, from which blocks are cut; logarithms of a softmax."""

import torch
from torch import nn


class GISTEmbedLoss:
    def sim_matrix(self, embed1, embed2):
        return nn.functional.normalize(embed1, dim=-1, eps=1e-8).matmul(
            nn.functional.normalize(embed2, dim=-1, eps=1e-8).T
        )

    def forward(self, sentence_features, labels):
        count = len(sentence_features)
        if not 2 <= count <= 3:
            raise ValueError("there must be two or three columns")
        ours = torch.cat([self.model(item)["sentence_embedding"] for item in sentence_features])
        with torch.no_grad():
            read = list(sentence_features)
            if self.must_retokenize:
                for place, item in enumerate(read):
                    texts = list(self.tokenizer.batch_decode(item["input_ids"], skip_special_tokens=True))
                    read[place] = dict(self.guide.tokenize(texts).items())
            theirs = torch.cat([self.guide(item)["sentence_embedding"] for item in read])
        rows = len(ours) // count
        cosines = self.sim_matrix(ours, ours).view(count, rows, count, rows)
        guided = self.sim_matrix(theirs.double(), theirs.double()).view(count, rows, count, rows)
        limit = torch.einsum("ii->i", guided[0, :, 1])[:, None]
        left, right = [0, 0, 1, 0][: count + 1], [1, 0, 1, 2][: count + 1]
        picked = torch.stack([cosines[one, :, two] for one, two in zip(left, right)], dim=1)
        allowed = torch.stack([guided[one, :, two] for one, two in zip(left, right)], dim=1) <= limit[:, None]
        logits = (picked / self.temperature).masked_fill(~allowed, float("-inf")).flatten(1)
        return -logits.log_softmax(dim=1)[range(rows), range(rows)].sum() / rows
