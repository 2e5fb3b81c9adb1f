"""One loss for both methods; scores' gradients in closed form, that of the similarity by a product with a vector."""


def _loss_parts(self, reps):
    """The anchors' number, and for each mini-batch its loss and the gradient of the loss with respect to its scores."""
    anchors, targets = torch.cat(reps[0], dim=0), torch.cat([torch.cat(column, dim=0) for column in reps[1:]], dim=0)
    for start in range(0, anchors.shape[0], self.mini_batch_size):
        part = anchors[start : start + self.mini_batch_size]
        scores = self.similarity_fct(part, targets) * self.scale
        rows = torch.arange(part.shape[0])
        logs = torch.log_softmax(scores, dim=-1)
        yield scores, logs, rows, rows + start, anchors.shape[0]


def _backward_hook(grad_output, sentence_features, loss_obj):
    assert None not in (loss_obj.random_states, loss_obj.cache)
    for index, features in enumerate(sentence_features):
        gradients, states = list(loss_obj.cache[index]), loss_obj.random_states[index]
        with torch.enable_grad():
            for step, (embedded, _) in enumerate(loss_obj.embed_minibatch_iter(features, True, False, states)):
                surrogate = torch.einsum("md,md->", embedded, gradients[step].detach())
                torch.autograd.backward(surrogate * grad_output)


class CachedMultipleNegativesRankingLoss:
    def calculate_loss_and_cache_gradients(self, reps):
        total = 0.0
        with torch.enable_grad():
            for scores, logs, rows, wanted, count in _loss_parts(self, reps):
                slope = logs.detach().exp()
                slope[rows, wanted] -= 1
                scores.backward(slope / count)
                total = total - logs.detach()[rows, wanted].sum() / count
        self.cache = [[torch.zeros_like(rep) if rep.grad is None else rep.grad for rep in column] for column in reps]
        return total.requires_grad_()

    def calculate_loss(self, reps):
        return sum(-logs[rows, wanted].sum() / count for _, logs, rows, wanted, count in _loss_parts(self, reps))

    def forward(self, sentence_features, labels):
        self.random_states = []
        reps = []
        for features in sentence_features:
            embedded = [*self.embed_minibatch_iter(features, with_grad=False, copy_random_state=True)]
            self.random_states.append([state for _, state in embedded])
            reps.append([rep.clone().requires_grad_(torch.is_grad_enabled()) for rep, _ in embedded])
        if torch.is_grad_enabled():
            loss = self.calculate_loss_and_cache_gradients(reps)
            leaf = torch.zeros_like(loss.detach(), requires_grad=True)
            leaf.register_hook(lambda arriving: _backward_hook(arriving, sentence_features, self))
            return leaf + loss.detach()
        return self.calculate_loss(reps)
