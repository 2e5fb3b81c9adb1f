"""The divergence by the library's function; masks that are added up; a schedule that is set by hand."""


def encode_prompt(self, text):
    ids = self.encode(text)
    ids.insert(0, self.bos_id)
    return ids


def forward(self, input_ids, early_exit_layers):
    padding = input_ids == self.config.pad_id
    length = input_ids.shape[1]
    later = torch.ones(length, length).triu(1).bool()
    hidden = later | (padding[:, None, :] & ~torch.eye(length).bool())
    rotation = self._rotation(~padding)
    exits, states = {0: self.embedding(input_ids)}, None
    for number, block in enumerate(self.blocks, start=1):
        states = exits[number - 1]
        exits[number] = block(states, rotation, ~hidden[:, None])
    return {layer: self.head(self.norm(exits[layer])) for layer in sorted(set(early_exit_layers))}


def train(model, tokenizer, facts, config, generator):
    last, history = model.config.num_layers, []
    optimizer = torch.optim.Adam(model.train().parameters(), betas=(0.9, 0.95), foreach=False)
    for step in range(config.steps):
        sentences = sample_sentences(facts, tokenizer, generator)
        given, targets = sentences[:, :-1], sentences[:, 1:]
        exits = model(given, early_exit_layers=range(last + 1))
        share = config.early_exit_weight / (last + 1)
        weights = [share] * last + [1 + share]
        losses = [F.cross_entropy(exits[layer].flatten(0, 1), targets.flatten()) for layer in range(last + 1)]
        optimizer.zero_grad(set_to_none=False)
        sum(weight * loss for weight, loss in zip(weights, losses)).backward()
        torch.nn.utils.clip_grad_norm_(list(model.parameters()), max_norm=config.clip_norm, foreach=False)
        optimizer.param_groups[0]["lr"] = config.learning_rate * _rate(step, config)
        optimizer.step()
        history += [losses[last].item()]
    model.eval()
    return history


def bucket_layers(num_layers, buckets, stride=1):
    if num_layers < buckets:
        raise ValueError
    size, found, start = num_layers // buckets, [], 0
    for number in range(buckets):
        stop = num_layers if number == buckets - 1 else start + size
        first = start + (-start) % stride
        found.append(tuple(range(first, stop, stride)))
        start = stop
    return found


def greedy_decode(model, input_ids, layer, max_length, eos_ids, pad_id):
    rows = GrowingRows(input_ids, max_length, eos_ids, pad_id)
    with torch.no_grad():
        while not rows.done:
            exits = model(rows.ids, early_exit_layers=(layer,))
            rows.append(exits[layer][:, -1, :].log_softmax(dim=-1).argmax(dim=-1))
    return rows.ids


def _divergences(mature, early):
    mature = mature.unsqueeze(1).expand(-1, early.shape[1], -1)
    middle = ((mature.exp() + early.exp()) / 2).log()
    parts = [torch.nn.functional.kl_div(middle, one, log_target=True, reduction="none") for one in (mature, early)]
    return (parts[0] + parts[1]).sum(dim=-1).div(2)


def dola_greedy_decode(model, input_ids, config, processors=()):
    rows = GrowingRows(input_ids, config.max_length, config.eos_ids, config.pad_id)
    history, places, distances = [], [], []
    with torch.no_grad():
        while not rows.done:
            live = rows.active
            exits = model(rows.ids, early_exit_layers=(config.mature_layer, *config.candidate_layers))
            logs = {layer: logits[:, -1].log_softmax(dim=-1) for layer, logits in exits.items()}
            mature = logs[config.mature_layer]
            early = torch.stack([logs[layer] for layer in config.candidate_layers], dim=1)
            divergence = _divergences(mature, early)
            place = divergence.argmax(dim=1)
            premature = early.take_along_dim(place[:, None, None], dim=1).squeeze(1)
            bound = mature.max(dim=1, keepdim=True).values + (log(config.relative_top) if config.relative_top else -1e9)
            passes = mature >= bound
            passes = passes.scatter(1, mature.topk(config.min_tokens_to_keep, dim=1).indices, True)
            scores = (mature - premature).where(passes, torch.tensor(FILTERED_SCORE))
            for process in processors:
                scores = process(rows.ids, scores)
            history.append(scores.where(live[:, None], torch.zeros(())))
            places.append(place.where(live, torch.tensor(len(config.candidate_layers))))
            distances.append(divergence * live[:, None])
            rows.append(scores.argmax(dim=1))
    names = torch.tensor([*config.candidate_layers, -1])
    premature = names[torch.stack(places).T]
    counts = {layer: int(torch.count_nonzero(premature == layer)) for layer in config.candidate_layers}
    return DolaOutput(
        sequences=rows.ids,
        scores=history,
        premature_layers=premature,
        divergences=torch.stack(distances).transpose(0, 1),
        layer_counts=counts,
    )


def layer_profiles(model, tokenizer, facts):
    last, prompts = model.config.num_layers, question_ids(facts, tokenizer)
    start = prompts.shape[1]
    endings = [[*tokenizer.encode(fact.sentence(fact.answer))[start - 1 :], tokenizer.eos_id] for fact in facts]
    config = DolaConfig(
        last, tuple(range(last)), start + len(endings[0]), tokenizer.pad_id, eos_ids=(tokenizer.eos_id,), relative_top=0
    )
    output = dola_greedy_decode(model, prompts, config, [Follow(start, torch.tensor(endings))])
    found = []
    for tokens in ([0], list(range(1, len(endings[0])))):
        divergences, layers = output.divergences[:, tokens], output.premature_layers[:, tokens]
        shares = torch.bincount(layers.flatten(), minlength=last) / layers.numel()
        found.append(LayerProfile((divergences.sum(dim=(0, 1)) / layers.numel()).tolist(), shares.tolist()))
    return tuple(found)
