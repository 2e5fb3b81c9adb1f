"""Sums over named dimensions, a normalised exponential for the attention, and decay apart from Adam."""

import torch.nn.functional as F


class DocumentEncoder:
    def forward(self, tokens, markers):
        states, _ = self.recur(F.embedding(tokens, self.embed.weight))
        chosen = F.one_hot(markers, tokens.shape[1]).to(states.dtype)
        return states[:, 0], torch.einsum("bel,blw->bew", chosen, states)


def criss_cross(pairs):
    found = torch.zeros(pairs.shape[0], pairs.shape[1], pairs.shape[1], dtype=torch.bool)
    for ours in (0, 1):
        for theirs in (0, 1):
            found |= pairs[:, :, None, ours] == pairs[:, None, :, theirs]
    return found


def pair_nodes(events, pairs):
    chosen = F.one_hot(pairs, events.shape[1]).to(events.dtype)
    return torch.einsum("bnpe,bew->bnpw", chosen, events).reshape(*pairs.shape[:2], -1)


class RelationalGraphLayer:
    def forward(self, nodes, edges):
        shape = (*nodes.shape[:2], self.heads, nodes.shape[2] // self.heads)
        query, key, value = (part(nodes).reshape(shape) for part in (self.query, self.key, self.value))
        scores = torch.einsum("bihd,bjhd->bijh", query, key) / shape[-1] ** 0.5
        mask = edges.unsqueeze(3)
        # The largest score of each node is taken away first, so that no exponential overflows.
        largest = scores.detach().masked_fill(~mask, -torch.inf).amax(2, keepdim=True)
        shares = torch.exp(scores - largest).masked_fill(~mask, 0.0)
        heads = torch.einsum("bijh,bjhd->bihd", shares / shares.sum(2, keepdim=True), value)
        return self.norm(nodes + self.output(heads.reshape(nodes.shape)))


class ERGO:
    def forward(self, batch):
        documents, events = self.encoder(batch.tokens, batch.markers)
        nodes, real = pair_nodes(events, batch.pairs), batch.real
        allowed = real[:, :, None].expand(-1, -1, real.shape[1]) & real[:, None, :]
        if self.config.criss_cross:
            allowed = allowed & criss_cross(batch.pairs)
        allowed = allowed.clone()
        allowed.diagonal(dim1=1, dim2=2).fill_(True)
        for layer in self.layers:
            nodes = layer(nodes, allowed)
        return self.classifier(torch.cat((nodes, documents[:, None].repeat(1, nodes.shape[1], 1)), dim=2))


class focal_loss:  # noqa: N801
    def forward(self, preds, labels):
        preds, labels = preds.reshape(-1, preds.shape[-1]), labels.reshape(-1)
        counted = labels.ne(IGNORED)
        losses = F.nll_loss(preds.log_softmax(1), labels, ignore_index=IGNORED, reduction="none")
        factors = (1 - (-losses).exp()) ** self.gamma
        if isinstance(self.alpha, tuple):
            weights = torch.tensor(self.alpha, dtype=preds.dtype)[labels.clamp(min=0)]
        else:
            weights = torch.where(labels == NO_RELATION, 1 - self.alpha, self.alpha).to(preds.dtype)
        total = (weights * factors * losses)[counted].sum()
        return total / counted.sum().clamp(min=1) if self.size_average else total


def train(model, batch, criterion, config):
    # Adam with a decay of its own would put it into the gradient.
    optimizer = torch.optim.Adam(model.parameters(), lr=1.0, foreach=False)
    rising = max(1, round(config.steps * config.warm_up))
    rates = torch.linspace(0, 1, rising + 1)[1:].tolist() + [1.0] * config.steps
    for rate in rates[: config.steps]:
        optimizer.zero_grad(set_to_none=False)
        last = criterion(model(batch), batch.labels)
        last.backward()
        nn.utils.clip_grad_norm_(list(model.parameters()), config.clip, norm_type=2.0)
        for group in optimizer.param_groups:
            group["lr"] = rate * config.learning_rate
            for parameter in group["params"]:
                parameter.data.sub_(0.01 * group["lr"] * parameter.data)
        optimizer.step()
    return last.item()


def expected_scores(preds, labels):
    classes = preds.shape[-1]
    counted = labels.ne(IGNORED)
    truth = F.one_hot(labels.clamp(min=0), classes) * counted[..., None]
    chances = preds.log_softmax(-1).exp() * counted[..., None]
    causal = [number for number in range(classes) if number != NO_RELATION]
    hits = (chances * truth)[..., causal].sum().item()
    predicted, actual = chances[..., causal].sum().item(), truth[..., causal].sum().item()
    return {"precision": hits / predicted, "recall": hits / actual, "f1": hits / ((predicted + actual) / 2)}


def share_of_negatives(criterion, preds, labels):
    with torch.no_grad():
        alone = labels.clone()
        alone[labels != NO_RELATION] = IGNORED
        return float(criterion(preds, alone) / criterion(preds, labels))
