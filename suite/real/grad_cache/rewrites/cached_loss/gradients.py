"""Close to the paper's steps, with autograd.grad for the cache and a hook on a leaf."""


def _backward_hook(grad_output, sentence_features, loss_obj):
    if loss_obj.cache is None or loss_obj.random_states is None:
        raise AssertionError("there is no cache")
    with torch.enable_grad():
        for column, gradients, states in zip(sentence_features, loss_obj.cache, loss_obj.random_states):
            embedded = loss_obj.embed_minibatch_iter(
                column, with_grad=True, copy_random_state=False, random_states=states
            )
            for gradient, (reps, _) in zip(gradients, embedded):
                reps.backward(gradient * grad_output)


class CachedMultipleNegativesRankingLoss:
    def calculate_loss_and_cache_gradients(self, reps):
        with torch.enable_grad():
            leaves = [rep for column in reps for rep in column]
            loss = torch.zeros((), dtype=leaves[0].dtype)
            gradients = [torch.zeros_like(rep) for rep in leaves]
            rows = sum(len(rep) for rep in reps[0])
            start = 0
            for anchors in reps[0]:
                targets = torch.cat([rep for column in reps[1:] for rep in column])
                scores = self.scale * self.similarity_fct(anchors, targets)
                chosen = scores.log_softmax(dim=1)[
                    torch.arange(len(anchors)), torch.arange(start, start + len(anchors))
                ]
                part = -chosen.sum() / rows
                for total, more in zip(gradients, torch.autograd.grad(part, leaves, allow_unused=True)):
                    if more is not None:
                        total += more
                loss = loss + part.detach()
                start += len(anchors)
        given = iter(gradients)
        self.cache = [[next(given) for _ in column] for column in reps]
        return loss.requires_grad_()

    def calculate_loss(self, reps):
        anchors = torch.cat(reps[0])
        targets = torch.cat([rep for column in reps[1:] for rep in column])
        total = 0
        for start in range(0, len(anchors), self.mini_batch_size):
            scores = self.similarity_fct(anchors[start : start + self.mini_batch_size], targets) * self.scale
            total = total + (scores.logsumexp(dim=1) - scores.diagonal(offset=start)).sum()
        return total / len(anchors)

    def forward(self, sentence_features, labels):
        reps, self.random_states = [], []
        for column in sentence_features:
            pairs = list(self.embed_minibatch_iter(column, with_grad=False, copy_random_state=True))
            reps.append([rep.detach().clone() for rep, _ in pairs])
            self.random_states.append([state for _, state in pairs])
        if not torch.is_grad_enabled():
            return self.calculate_loss(reps)
        for column in reps:
            for rep in column:
                rep.requires_grad_()
        loss = self.calculate_loss_and_cache_gradients(reps)
        loss.register_hook(lambda gradient: _backward_hook(gradient, sentence_features, self))
        return loss
