"""Every other view in the order of rows, so that labels vary; ridge regression as least squares with further rows."""


def draw_images(patterns, count, generator):
    labels = torch.empty(count, dtype=torch.long).random_(CLASSES, generator=generator)
    brightness, contrast = torch.empty(2, count, 1, 1, dtype=torch.float64)
    brightness.normal_(0, 2, generator=generator)
    contrast.uniform_(0.5, 1.5, generator=generator)
    noise = torch.empty(count, SIZE, SIZE, dtype=torch.float64).normal_(0, 0.8, generator=generator)
    return Images(torch.addcmul(brightness + noise, contrast, patterns.index_select(0, labels)), labels)


def _inside(first, size):
    return ((torch.arange(size) - first - 2.5).abs() < 3).double()


def crop(pixels, generator):
    size = pixels.shape[-1]
    first_rows = torch.randint(0, size - 5, (len(pixels), 1), generator=generator)
    first_columns = torch.randint(0, size - 5, (len(pixels), 1), generator=generator)
    return torch.einsum("bij,bi,bj->bij", pixels, _inside(first_rows, size), _inside(first_columns, size))


def distort(pixels, generator):
    shape = (len(pixels), 1, 1)
    factors = torch.empty(shape, dtype=pixels.dtype).uniform_(0.5, 1.5, generator=generator)
    shifts = torch.empty(shape, dtype=pixels.dtype).normal_(0.0, 1.5, generator=generator)
    return torch.addcmul(shifts, factors, pixels)


def make_views(pixels, augmentation, n_views, generator):
    if n_views == 0:
        return pixels[:0]
    view = pixels
    for change in AUGMENTATIONS[augmentation]:
        view = change(view, generator)
    return torch.cat([view, make_views(pixels, augmentation, n_views - 1, generator)])


class ContrastiveModel(nn.Module):
    def __init__(self, pixels, width=24, projection=12, seed=0):
        super().__init__()
        first, second = nn.Linear(pixels, width), nn.Linear(width, width)
        third = nn.Linear(width, projection, bias=False)
        self.encoder, self.head = nn.Sequential(nn.Flatten(), first, nn.Tanh()), nn.Sequential(second, nn.ReLU(), third)
        self.to(torch.float64)
        source = torch.Generator()
        source.manual_seed(seed)
        with torch.no_grad():
            for item in (first.weight, first.bias, second.weight, second.bias, third.weight):
                item.normal_(0.0, item.shape[1] ** -0.5 if item.ndim == 2 else 0.1, generator=source)

    def forward(self, pixels):
        for part in (self.encoder, self.head):
            pixels = part(pixels)
        return pixels


def info_nce_loss(self, features):
    rows = torch.arange(len(features))
    images = len(features) // self.config.n_views
    lengths = features.square().sum(1).sqrt()
    cosines = (features @ features.T) / (lengths.unsqueeze(0) * lengths.unsqueeze(1))
    others = rows.unsqueeze(0).expand(len(rows), -1)[rows.unsqueeze(0) != rows.unsqueeze(1)].view(len(rows), -1)
    partner = torch.where(rows < images, rows + images, rows % images)
    return cosines.gather(1, others) / self.config.temperature, partner - (partner > rows).long()


def train(self, pixels, generator):
    optimizer = torch.optim.SGD(self.model.parameters(), self.config.learning_rate, momentum=0.9, foreach=False)
    for _ in range(self.config.epochs):
        losses = []
        for batch in pixels[torch.randperm(len(pixels), generator=generator)].split(self.config.batch):
            views = make_views(batch, self.config.augmentation, self.config.n_views, generator)
            logits, labels = self.info_nce_loss(self.model(views))
            loss = (logits.logsumexp(1) - logits[torch.arange(len(labels)), labels]).mean()
            self.model.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.detach())
    return torch.stack(losses).mean().item()


@torch.no_grad()
def linear_evaluation(model, train, test, penalty=1.0):
    inputs = _with_constant(model.encoder(train.pixels))
    targets = (train.labels.unsqueeze(1) == torch.arange(CLASSES)).to(inputs.dtype)
    expected = (test.labels.unsqueeze(1) == torch.arange(CLASSES)).to(inputs.dtype)
    ridge = penalty**0.5 * torch.eye(inputs.shape[1], dtype=inputs.dtype)
    rows = torch.cat([inputs, ridge])
    zeros = torch.zeros(len(ridge), CLASSES, dtype=inputs.dtype)
    weights = torch.linalg.lstsq(rows, torch.cat([targets, zeros])).solution
    left = F.mse_loss(_with_constant(model.encoder(test.pixels)) @ weights, expected)
    return 1 - (left / F.mse_loss(targets.mean(0).expand_as(expected), expected)).item()
