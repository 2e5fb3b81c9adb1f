"""Each document through the graph alone, without its padding; pairs are compared event by event."""


class DocumentEncoder:
    def forward(self, tokens, markers):
        states = self.recur(self.embed(tokens))[0]
        events = states.gather(1, markers.unsqueeze(2).expand(-1, -1, states.shape[2]))
        return states.select(1, 0), events


def criss_cross(pairs):
    first, second = pairs[..., 0], pairs[..., 1]

    def same(ours, theirs):
        return ours.unsqueeze(2) == theirs.unsqueeze(1)

    return same(first, first) | same(second, second) | same(first, second) | same(second, first)


def pair_nodes(events, pairs):
    chosen = [document[of_document] for document, of_document in zip(events, pairs, strict=True)]
    return torch.stack([torch.cat((item[:, 0], item[:, 1]), dim=1) for item in chosen])


class RelationalGraphLayer:
    def forward(self, nodes, edges):
        width = nodes.shape[2] // self.heads
        query, key, value = self.query(nodes), self.key(nodes), self.value(nodes)
        blocked = torch.zeros(edges.shape, dtype=nodes.dtype).masked_fill(edges.logical_not(), float("-inf"))
        found = []
        for head in range(self.heads):
            part = slice(head * width, (head + 1) * width)
            scores = torch.bmm(query[..., part], key[..., part].mT) * width**-0.5
            found.append(torch.bmm((scores + blocked).softmax(2), value[..., part]))
        return self.norm(self.output(torch.cat(found, dim=2)) + nodes)


class ERGO:
    def forward(self, batch):
        documents, events = self.encoder(batch.tokens, batch.markers)
        scores = documents.new_zeros(*batch.real.shape, self.config.num_classes)
        for row, real in enumerate(batch.real):
            pairs = batch.pairs[row : row + 1, real]
            nodes = pair_nodes(events[row : row + 1], pairs)
            edges = torch.ones(1, pairs.shape[1], pairs.shape[1], dtype=torch.bool)
            if self.config.criss_cross:
                edges = criss_cross(pairs)
            for layer in self.layers:
                nodes = layer(nodes, edges)
            context = documents[row].repeat(pairs.shape[1], 1)
            scores[row, real] = self.classifier(torch.cat((nodes[0], context), dim=1))
        return scores


class focal_loss:  # noqa: N801
    def forward(self, preds, labels):
        if isinstance(self.alpha, float):
            weights = [1 - self.alpha if number == NO_RELATION else self.alpha for number in range(preds.shape[-1])]
        else:
            weights = self.alpha
        total, count = 0 * preds.sum(), 0
        for number, weight in enumerate(weights):
            logps = preds[labels == number].log_softmax(-1)[:, number]
            total = total - weight * ((1 - logps.exp()) ** self.gamma * logps).sum()
            count += len(logps)
        return total / count if self.size_average and count else total


def train(model, batch, criterion, config):
    optimizer = torch.optim.AdamW(model.parameters(), lr=config.learning_rate)
    rising = max(1, round(config.warm_up * config.steps))
    losses = []
    for step in range(1, config.steps + 1):
        optimizer.param_groups[0]["lr"] = config.learning_rate * min(step, rising) / rising
        loss = criterion(model(batch), batch.labels)
        model.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=config.clip)
        optimizer.step()
        losses.append(loss.item())
    return losses[-1]


def expected_scores(preds, labels):
    hits = predicted = actual = 0.0
    for scores, label in zip(preds.flatten(0, 1).softmax(-1).tolist(), labels.flatten().tolist(), strict=True):
        if label == IGNORED:
            continue
        predicted += sum(scores) - scores[NO_RELATION]
        if label != NO_RELATION:
            actual += 1
            hits += scores[label]
    precision, recall = hits / predicted, hits / actual
    return {"precision": precision, "recall": recall, "f1": 2 * precision * recall / (precision + recall)}


def share_of_negatives(criterion, preds, labels):
    negative = labels == NO_RELATION
    part = criterion(preds[negative][None], labels[negative][None])
    rest = criterion(preds[~negative][None], labels[~negative][None])
    return (part / (part + rest)).item()
