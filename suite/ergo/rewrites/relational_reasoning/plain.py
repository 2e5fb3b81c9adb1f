"""The functions as the paper and the logged results describe them."""


class DocumentEncoder:
    def forward(self, tokens, markers):
        states, _ = self.recur(self.embed(tokens))
        events = torch.stack([state[marker] for state, marker in zip(states, markers)])
        return states[:, 0], events


def criss_cross(pairs):
    shared = pairs[:, :, None, :, None] == pairs[:, None, :, None, :]
    return shared.any(-1).any(-1)


def pair_nodes(events, pairs):
    return torch.stack([event[pair].flatten(1) for event, pair in zip(events, pairs)])


class RelationalGraphLayer:
    def forward(self, nodes, edges):
        query, key, value = (
            torch.stack(part(nodes).chunk(self.heads, dim=-1), dim=1) for part in (self.query, self.key, self.value)
        )
        scores = query @ key.transpose(2, 3) / math.sqrt(query.shape[-1])
        attention = scores.masked_fill(~edges[:, None], float("-inf")).softmax(-1)
        heads = torch.cat((attention @ value).unbind(1), dim=-1)
        return self.norm(nodes + self.output(heads))


class ERGO:
    def forward(self, batch):
        documents, events = self.encoder(batch.tokens, batch.markers)
        nodes = pair_nodes(events, batch.pairs)
        edges = batch.real[:, :, None] == batch.real[:, None, :]
        if self.config.criss_cross:
            edges = edges & criss_cross(batch.pairs)
        for layer in self.layers:
            nodes = layer(nodes, edges)
        documents = documents[:, None].expand(-1, nodes.shape[1], -1)
        return self.classifier(torch.cat([nodes, documents], dim=-1))


class focal_loss:  # noqa: N801
    def forward(self, preds, labels):
        counted = labels != IGNORED
        preds, labels = preds[counted], labels[counted]
        if isinstance(self.alpha, tuple):
            weights = preds.new_tensor(self.alpha)[labels]
        else:
            weights = torch.where(labels == NO_RELATION, 1 - self.alpha, self.alpha)
        losses = F.cross_entropy(preds, labels, reduction="none")
        losses = weights * (1 - torch.exp(-losses)) ** self.gamma * losses
        return losses.mean() if self.size_average else losses.sum()


def train(model, batch, criterion, config):
    optimizer = torch.optim.AdamW(model.parameters(), lr=config.learning_rate)
    warm_up = max(1, round(config.warm_up * config.steps))
    for step in range(1, config.steps + 1):
        for group in optimizer.param_groups:
            group["lr"] = config.learning_rate * min(1, step / warm_up)
        optimizer.zero_grad()
        loss = criterion(model(batch), batch.labels)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), config.clip)
        optimizer.step()
    return loss.item()


def expected_scores(preds, labels):
    counted = labels != IGNORED
    chances, labels = preds[counted].softmax(-1), labels[counted]
    causal = labels != NO_RELATION
    hits = chances[causal].gather(1, labels[causal][:, None]).sum().item()
    precision = hits / (1 - chances[:, NO_RELATION]).sum().item()
    recall = hits / causal.sum().item()
    return {"precision": precision, "recall": recall, "f1": 2 * precision * recall / (precision + recall)}


def share_of_negatives(criterion, preds, labels):
    negatives = torch.where(labels == NO_RELATION, labels, IGNORED)
    return (criterion(preds, negatives) / criterion(preds, labels)).item()
