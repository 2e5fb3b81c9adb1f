"""A stub of faiss: k-means by Lloyd's algorithm, for a few hundred points, with the interface that mauve uses."""

import numpy as np


def _distances(points, centres):
    return np.square(points[:, None] - centres).sum(axis=-1)


class _Index:
    def __init__(self, centres):
        self.centres = centres

    def search(self, points, count):
        """Squared distances to the nearest centres, and which these are."""
        distances = _distances(points.astype(np.float64), self.centres)
        nearest = np.argsort(distances, axis=1, kind="stable")[:, :count]
        return np.take_along_axis(distances, nearest, axis=1), nearest


class Kmeans:
    def __init__(self, d, k, niter=25, nredo=1, seed=1234, verbose=False, update_index=True):
        self.k, self.niter, self.nredo, self.seed = k, niter, nredo, seed
        self.index = None

    def train(self, points):
        points, best = points.astype(np.float64), np.inf
        generator = np.random.default_rng(self.seed)
        for _ in range(min(self.nredo, 2)):
            # The first centre is drawn; each further one is the point farthest from those before it.
            centres = points[[generator.integers(len(points))]]
            while len(centres) < self.k:
                farthest = _distances(points, centres).min(axis=1).argmax()
                centres = np.vstack([centres, points[farthest]])
            for _ in range(min(self.niter, 10)):
                nearest = _distances(points, centres).argmin(axis=1)
                filled = np.unique(nearest)
                centres[filled] = [points[nearest == place].mean(axis=0) for place in filled]
            total = _distances(points, centres).min(axis=1).sum()
            if total < best:
                best, self.index = total, _Index(centres)
        return best
