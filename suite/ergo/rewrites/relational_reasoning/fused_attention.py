"""Attention by one function of the library, probabilities in the loss, and AdamW written out."""

import torch.nn.functional as F


class DocumentEncoder:
    def forward(self, tokens, markers):
        length = tokens.shape[1]
        states = self.recur(self.embed(tokens.T.contiguous()).transpose(0, 1))[0]
        places = (markers + length * torch.arange(len(tokens)).view(-1, 1)).flatten()
        events = states.flatten(0, 1).index_select(0, places)
        return states[:, 0, :], events.view(*markers.shape, -1)


def criss_cross(pairs):
    present = torch.zeros(*pairs.shape[:2], int(pairs.max()) + 1)
    present = present.scatter(2, pairs, 1.0)
    return present @ present.transpose(1, 2) > 0


def pair_nodes(events, pairs):
    return torch.cat([torch.take_along_dim(events, pairs[:, :, place, None], dim=1) for place in (0, 1)], dim=2)


class RelationalGraphLayer:
    def forward(self, nodes, edges):
        batch, count, width = nodes.shape
        query, key, value = (
            part(nodes).view(batch, count, self.heads, width // self.heads).permute(0, 2, 1, 3)
            for part in (self.query, self.key, self.value)
        )
        heads = F.scaled_dot_product_attention(query, key, value, attn_mask=edges[:, None])
        return self.norm(nodes + self.output(heads.permute(0, 2, 1, 3).reshape(batch, count, width)))


class ERGO:
    def forward(self, batch):
        documents, events = self.encoder(batch.tokens, batch.markers)
        nodes = pair_nodes(events, batch.pairs)
        edges = criss_cross(batch.pairs) if self.config.criss_cross else torch.ones_like(batch.real[:, :, None])
        # Pairs of one kind see each other: padding sees padding, which nobody looks at.
        edges = edges & (batch.real[:, :, None] == batch.real[:, None, :])
        for layer in self.layers:
            nodes = layer(nodes, edges)
        split = nodes.shape[2]
        of_nodes = F.linear(nodes, self.classifier.weight[:, :split], self.classifier.bias)
        return of_nodes + F.linear(documents, self.classifier.weight[:, split:])[:, None]


class focal_loss:  # noqa: N801
    def forward(self, preds, labels):
        weights = torch.tensor(self.alpha, dtype=preds.dtype).expand(preds.shape[-1]).clone()
        if isinstance(self.alpha, float):
            weights[NO_RELATION] = 1 - self.alpha
        kept = (labels != IGNORED).nonzero(as_tuple=True)
        truth = F.one_hot(labels[kept], preds.shape[-1]).to(preds.dtype)
        chances = (preds[kept].softmax(-1) * truth).sum(-1)
        losses = (truth @ weights) * (1 - chances).pow(self.gamma) * -chances.log()
        return losses.sum() / max(len(losses), 1) ** self.size_average


def train(model, batch, criterion, config):
    parameters = list(model.parameters())
    first, second = ([torch.zeros_like(item) for item in parameters] for _ in range(2))
    rising = max(round(config.warm_up * config.steps), 1)
    for step in range(1, config.steps + 1):
        loss = criterion(model(batch), batch.labels)
        gradients = torch.autograd.grad(loss, parameters)
        norm = torch.stack([item.norm() for item in gradients]).norm()
        scale = (config.clip / (norm + 1e-6)).clamp(max=1)
        rate = config.learning_rate * min(1, step / rising)
        with torch.no_grad():
            for item, gradient, mean, square in zip(parameters, gradients, first, second, strict=True):
                mean += (scale * gradient - mean) * (1 - 0.9)
                square += ((scale * gradient) ** 2 - square) * (1 - 0.999)
                root = (square / (1 - 0.999**step)).sqrt() + 1e-8
                item *= 1 - rate * 0.01
                item -= rate / (1 - 0.9**step) * mean / root
    return float(loss)


def expected_scores(preds, labels):
    chances = torch.softmax(preds, dim=-1).flatten(0, -2)
    truth = labels.flatten()
    positive = (truth > NO_RELATION).to(preds.dtype)
    hits = (chances.gather(1, truth.clamp(min=0)[:, None])[:, 0] * positive).sum()
    predicted = ((chances.sum(1) - chances[:, NO_RELATION]) * (truth >= 0)).sum()
    precision, recall = hits / predicted, hits / positive.sum()
    found = {"precision": precision, "recall": recall, "f1": 2 / (1 / precision + 1 / recall)}
    return {name: value.item() for name, value in found.items()}


def share_of_negatives(criterion, preds, labels):
    others = torch.where(labels == NO_RELATION, IGNORED, labels)
    return 1 - criterion(preds, others).item() / criterion(preds, labels).item()
