"""Image by image and row by row, with momentum written out."""


def draw_images(patterns, count, generator):
    labels = torch.randint(CLASSES, (count,), generator=generator)
    brightness = torch.randn(count, generator=generator, dtype=torch.float64)
    contrast = torch.rand(count, generator=generator, dtype=torch.float64) + 0.5
    noise = torch.randn(count, SIZE, SIZE, generator=generator, dtype=torch.float64)
    pixels = [
        contrast[index] * patterns[label] + (2 * brightness[index] + 0.8 * noise[index])
        for index, label in enumerate(labels.tolist())
    ]
    return Images(torch.stack(pixels), labels)


def crop(pixels, generator):
    places = pixels.shape[-1] - 5
    rows = torch.randint(places, (len(pixels),), generator=generator).tolist()
    columns = torch.randint(places, (len(pixels),), generator=generator).tolist()
    kept = torch.zeros_like(pixels)
    for index, (row, column) in enumerate(zip(rows, columns, strict=True)):
        kept[index, row : row + 6, column : column + 6] = pixels[index, row : row + 6, column : column + 6]
    return kept


def distort(pixels, generator):
    factors = torch.rand(len(pixels), generator=generator, dtype=pixels.dtype)
    shifts = torch.randn(len(pixels), generator=generator, dtype=pixels.dtype)
    changed = [
        (0.5 + factor) * image + 1.5 * shift for image, factor, shift in zip(pixels, factors, shifts, strict=True)
    ]
    return torch.stack(changed)


def make_views(pixels, augmentation, n_views, generator):
    views = torch.empty(n_views, *pixels.shape, dtype=pixels.dtype)
    for number in range(n_views):
        views[number] = pixels
        for change in AUGMENTATIONS[augmentation]:
            views[number] = change(views[number].clone(), generator)
    return views.flatten(0, 1)


class ContrastiveModel(nn.Module):
    def __init__(self, pixels, width=24, projection=12, seed=0):
        super().__init__()
        self.encoder = nn.Sequential(nn.Flatten(), nn.Linear(pixels, width, dtype=torch.float64), nn.Tanh())
        layers = [nn.Linear(width, width, dtype=torch.float64), nn.ReLU()]
        self.head = nn.Sequential(*layers, nn.Linear(width, projection, bias=False, dtype=torch.float64))
        generator = torch.Generator().manual_seed(seed)
        with torch.no_grad():
            for layer in (self.encoder[1], self.head[0], self.head[2]):
                drawn = torch.randn(layer.weight.shape, generator=generator, dtype=torch.float64)
                layer.weight.copy_(drawn / layer.in_features**0.5)
                if layer.bias is not None:
                    layer.bias.copy_(torch.randn(len(layer.bias), generator=generator, dtype=torch.float64) / 10)

    def forward(self, pixels):
        representations = self.encoder(pixels)
        return self.head(representations)


def info_nce_loss(self, features):
    count, views = len(features), self.config.n_views
    images, orders = count // views, []
    for row in range(count):
        own = [other for other in range(row % images, count, images) if other != row]
        orders.append(own + [other for other in range(count) if other % images != row % images])
    cosines = F.cosine_similarity(features.unsqueeze(1), features[torch.tensor(orders)], dim=2, eps=1e-12)
    return cosines / self.config.temperature, torch.zeros(count, dtype=torch.long)


def train(self, pixels, generator):
    parameters = list(self.model.parameters())
    velocities = [torch.zeros_like(item) for item in parameters]
    for _ in range(self.config.epochs):
        order, total, batches = torch.randperm(len(pixels), generator=generator), 0.0, 0
        for first in range(0, len(pixels), self.config.batch):
            batch = pixels[order[first : first + self.config.batch]]
            views = make_views(batch, self.config.augmentation, self.config.n_views, generator)
            loss = F.cross_entropy(*self.info_nce_loss(self.model(views)))
            gradients = torch.autograd.grad(loss, parameters)
            with torch.no_grad():
                for item, gradient, velocity in zip(parameters, gradients, velocities, strict=True):
                    velocity.mul_(0.9).add_(gradient)
                    item -= self.config.learning_rate * velocity
            total, batches = total + loss.item(), batches + 1
    return total / batches


def linear_evaluation(model, train, test, penalty=1.0):
    with torch.no_grad():
        inputs, held_out = _with_constant(model.encoder(train.pixels)), _with_constant(model.encoder(test.pixels))
    targets = torch.eye(CLASSES, dtype=torch.float64)[train.labels]
    expected = torch.eye(CLASSES, dtype=torch.float64)[test.labels]
    left = variance = 0.0
    for number in range(CLASSES):
        normal = inputs.T @ inputs + torch.diag(torch.full((inputs.shape[1],), penalty, dtype=inputs.dtype))
        weights = torch.linalg.inv(normal) @ (inputs.T @ targets[:, number])
        left += ((expected[:, number] - held_out @ weights) ** 2).sum().item()
        variance += ((expected[:, number] - targets[:, number].sum() / len(targets)) ** 2).sum().item()
    return 1 - left / variance
