"""The functions as the paper and the logged results describe them."""


def draw_images(patterns, count, generator):
    labels = torch.randint(CLASSES, (count,), generator=generator)
    brightness = torch.randn(count, 1, 1, generator=generator, dtype=torch.float64)
    contrast = 0.5 + torch.rand(count, 1, 1, generator=generator, dtype=torch.float64)
    noise = torch.randn(count, SIZE, SIZE, generator=generator, dtype=torch.float64)
    return Images(contrast * patterns[labels] + 2 * brightness + 0.8 * noise, labels)


def crop(pixels, generator):
    size = pixels.shape[-1]
    rows = torch.randint(size - 5, (len(pixels),), generator=generator)
    columns = torch.randint(size - 5, (len(pixels),), generator=generator)
    views = torch.zeros_like(pixels)
    for view, image, row, column in zip(views, pixels, rows, columns):
        view[row : row + 6, column : column + 6] = image[row : row + 6, column : column + 6]
    return views


def distort(pixels, generator):
    factors = 0.5 + torch.rand(len(pixels), 1, 1, generator=generator, dtype=pixels.dtype)
    shifts = 1.5 * torch.randn(len(pixels), 1, 1, generator=generator, dtype=pixels.dtype)
    return factors * pixels + shifts


def make_views(pixels, augmentation, n_views, generator):
    views = []
    for _ in range(n_views):
        view = pixels
        for change in AUGMENTATIONS[augmentation]:
            view = change(view, generator)
        views.append(view)
    return torch.cat(views)


class ContrastiveModel(nn.Module):
    def __init__(self, pixels, width=24, projection=12, seed=0):
        super().__init__()
        self.encoder = nn.Sequential(nn.Flatten(), nn.Linear(pixels, width), nn.Tanh())
        self.head = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, projection, bias=False))
        generator = torch.Generator().manual_seed(seed)
        for parameter in self.parameters():
            drawn = torch.randn(parameter.shape, generator=generator, dtype=torch.float64)
            parameter.data = drawn / parameter.shape[1] ** 0.5 if parameter.dim() == 2 else 0.1 * drawn

    def forward(self, pixels):
        return self.head(self.encoder(pixels))


def info_nce_loss(self, features):
    count = len(features)
    image = torch.arange(count) % (count // self.config.n_views)
    same_image = image[:, None] == image
    itself = torch.eye(count, dtype=torch.bool)
    directions = F.normalize(features, dim=1)
    logits = directions @ directions.T / self.config.temperature
    positives = logits[same_image & ~itself].view(count, -1)
    negatives = logits[~same_image].view(count, -1)
    return torch.cat([positives, negatives], dim=1), torch.zeros(count, dtype=torch.long)


def train(self, pixels, generator):
    optimizer = torch.optim.SGD(self.model.parameters(), lr=self.config.learning_rate, momentum=0.9)
    for _ in range(self.config.epochs):
        losses = []
        for rows in torch.randperm(len(pixels), generator=generator).split(self.config.batch):
            views = make_views(pixels[rows], self.config.augmentation, self.config.n_views, generator)
            loss = F.cross_entropy(*self.info_nce_loss(self.model(views)))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return sum(losses) / len(losses)


@torch.no_grad()
def linear_evaluation(model, train, test, penalty=1.0):
    inputs, held_out = _with_constant(model.encoder(train.pixels)), _with_constant(model.encoder(test.pixels))
    targets, expected = F.one_hot(train.labels, CLASSES).double(), F.one_hot(test.labels, CLASSES).double()
    ridge = penalty * torch.eye(inputs.shape[1], dtype=inputs.dtype)
    weights = torch.linalg.solve(inputs.T @ inputs + ridge, inputs.T @ targets)
    errors = expected - held_out @ weights
    return (1 - (errors**2).sum() / ((expected - targets.mean(0)) ** 2).sum()).item()
