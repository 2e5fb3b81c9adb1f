"""The paper's three steps."""


def _backward_hook(grad_output, sentence_features, loss_obj):
    with torch.enable_grad():
        for features, gradients, states in zip(sentence_features, loss_obj.cache, loss_obj.random_states):
            embedded = loss_obj.embed_minibatch_iter(features, True, False, states)
            for (reps, _), gradient in zip(embedded, gradients):
                reps.backward(gradient * grad_output)


class CachedMultipleNegativesRankingLoss:
    def calculate_loss_and_cache_gradients(self, reps):
        loss = self.calculate_loss(reps)
        loss.backward()
        self.cache = [[rep.grad for rep in column] for column in reps]
        return loss.detach().requires_grad_()

    def calculate_loss(self, reps):
        anchors, targets = torch.cat(reps[0]), torch.cat([rep for column in reps[1:] for rep in column])
        total, start = 0, 0
        for part in anchors.split(self.mini_batch_size):
            scores = self.similarity_fct(part, targets) * self.scale
            labels = torch.arange(start, start + len(part))
            total = total + nn.functional.cross_entropy(scores, labels, reduction="sum")
            start += len(part)
        return total / len(anchors)

    def forward(self, sentence_features, labels):
        reps, self.random_states = [], []
        for features in sentence_features:
            embedded = list(self.embed_minibatch_iter(features, with_grad=False, copy_random_state=True))
            reps.append([rep.requires_grad_() for rep, _ in embedded])
            self.random_states.append([state for _, state in embedded])
        if not torch.is_grad_enabled():
            return self.calculate_loss(reps)
        loss = self.calculate_loss_and_cache_gradients(reps)
        loss.register_hook(partial(_backward_hook, sentence_features=sentence_features, loss_obj=self))
        return loss
