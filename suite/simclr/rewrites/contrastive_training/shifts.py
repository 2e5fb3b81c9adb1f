"""Similarities by the distance of rows, ridge regression in its dual form, and log-softmax for the loss."""


def draw_images(patterns, count, generator):
    labels = torch.randint(0, len(patterns), (count,), generator=generator)
    bright = 2 * torch.randn(count, generator=generator, dtype=torch.float64)
    scale = 0.5 + torch.rand(count, generator=generator, dtype=torch.float64)
    noise = torch.randn(count, SIZE * SIZE, generator=generator, dtype=torch.float64) * 0.8
    flat = scale[:, None] * patterns[labels].flatten(1) + bright[:, None] + noise
    return Images(flat.view(count, SIZE, SIZE), labels)


def crop(pixels, generator):
    size, kept = pixels.shape[-1], torch.ones_like(pixels, dtype=torch.bool)
    for axis in (1, 2):
        first = torch.randint(size - 5, (len(pixels),), generator=generator)
        inside = torch.zeros(len(pixels), size, dtype=torch.bool)
        inside.scatter_(1, first[:, None] + torch.arange(6), True)
        kept &= inside.unsqueeze(3 - axis)
    return torch.where(kept, pixels, 0.0)


def distort(pixels, generator):
    factors = torch.rand(len(pixels), generator=generator, dtype=pixels.dtype) + 0.5
    shifts = torch.randn(len(pixels), generator=generator, dtype=pixels.dtype) * 1.5
    return torch.einsum("b,bij->bij", factors, pixels) + shifts[:, None, None]


def make_views(pixels, augmentation, n_views, generator):
    found = pixels.new_empty(0, *pixels.shape[1:])
    while len(found) < n_views * len(pixels):
        view = pixels.clone()
        for change in AUGMENTATIONS[augmentation]:
            view = change(view, generator)
        found = torch.cat([found, view])
    return found


def _layer(inputs, outputs, generator, bias=True):
    layer = nn.Linear(inputs, outputs, bias=bias)
    weight = torch.randn(outputs, inputs, generator=generator, dtype=torch.float64)
    layer.weight = nn.Parameter(weight / inputs**0.5)
    if bias:
        layer.bias = nn.Parameter(0.1 * torch.randn(outputs, generator=generator, dtype=torch.float64))
    return layer


class ContrastiveModel(nn.Module):
    def __init__(self, pixels, width=24, projection=12, seed=0):
        nn.Module.__init__(self)
        source = torch.Generator().manual_seed(seed)
        self.encoder = nn.Sequential(nn.Flatten(start_dim=1), _layer(pixels, width, source), nn.Tanh())
        hidden = _layer(width, width, source)
        self.head = nn.Sequential(hidden, nn.ReLU(), _layer(width, projection, source, bias=False))

    def forward(self, pixels):
        hidden = self.head[0](self.encoder(pixels)).clamp(min=0)
        return hidden @ self.head[2].weight.T


def info_nce_loss(self, features):
    count = len(features)
    images = count // self.config.n_views
    directions = features / features.norm(dim=1, keepdim=True)
    columns = [(directions * directions.roll(-shift, 0)).sum(1) for shift in range(1, count)]
    rows = torch.arange(count)
    partner = (rows % images) + images * (rows < images)
    return torch.stack(columns, dim=1) / self.config.temperature, (partner - rows - 1) % count


def train(self, pixels, generator):
    optimizer = torch.optim.SGD([{"params": self.model.parameters(), "lr": self.config.learning_rate}], momentum=0.9)
    means = []
    for _ in range(self.config.epochs):
        total, order = [], torch.randperm(len(pixels), generator=generator)
        while len(order):
            rows, order = order[: self.config.batch], order[self.config.batch :]
            views = make_views(pixels[rows], self.config.augmentation, self.config.n_views, generator)
            logits, labels = self.info_nce_loss(self.model(views))
            loss = F.nll_loss(logits.log_softmax(1), labels)
            optimizer.zero_grad(set_to_none=False)
            loss.backward()
            optimizer.step()
            total.append(loss.item())
        means.append(sum(total) / len(total))
    return means[-1]


def linear_evaluation(model, train, test, penalty=1.0):
    inputs, held_out = (_with_constant(model.encoder(item.pixels).detach()) for item in (train, test))
    targets, expected = (F.one_hot(item.labels, num_classes=CLASSES).to(inputs.dtype) for item in (train, test))
    kernel = inputs @ inputs.T + penalty * torch.eye(len(inputs), dtype=inputs.dtype)
    predicted = held_out @ inputs.T @ torch.cholesky_solve(targets, torch.linalg.cholesky(kernel))
    about_mean = expected - targets.mean(0, keepdim=True)
    return 1.0 - ((expected - predicted).norm() / about_mean.norm()).item() ** 2
