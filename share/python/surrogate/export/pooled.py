# SPDX-License-Identifier: Apache-2.0
"""Statistics of pooled inputs, the card key `pooled`: how far a state is from those of training.

Two features an input that is a field, in the card's order: mean and standard deviation over all points of (value - mean) /
std. Points count equally, or with weights; on the sphere with their area.
"""

import numpy as np

from . import families, fields
from .errors import ExportError

quantile = 0.99
least_per_feature = 10  # samples: a covariance of fewer is noise
# A variance that every feature has at least, in the network's numbers: integrals that never change (the mean of vorticity)
# would make the covariance singular, and their rounding would count as far.
least_variance = 1e-6


def _lobatto(n):
    basis = np.polynomial.legendre.Legendre.basis(n - 1)
    x = np.concatenate([[-1.0], np.sort(basis.deriv().roots().real), [1.0]])
    return 2 / (n * (n - 1) * basis(x) ** 2)


def _clenshaw_curtis(n):
    gap = n - 1
    j = np.arange(1, gap // 2 + 1)
    b = np.where(2 * j == gap, 1.0, 2.0) / (4 * j * j - 1)
    k = np.arange(n)
    sums = np.cos(2 * np.pi * (np.outer(k, j) % gap) / gap) @ b
    return np.where((k == 0) | (k == gap), 1.0, 2.0) / gap * (1 - sums)


def _trapezoidal(n):
    weights = np.full(n, 2.0 / (n - 1))
    weights[[0, -1]] /= 2
    return weights


_rows = {
    "legendre-gauss": lambda n: np.polynomial.legendre.leggauss(n)[1],
    "lobatto": _lobatto,
    "equiangular": _clenshaw_curtis,
    "equiangular-trapezoidal": _trapezoidal,
}


def area_weights(card):
    """(n_lat, n_lon), summing to 1, of the grid of a card of family sphere; None: the library does not run its network."""
    constructor = families.constructor_of(card["family"], card["network"])
    if constructor is None:
        return None
    n_lat, n_lon = families.value_of(card["network"], constructor, "img_size")
    rows = _rows[families.value_of(card["network"], constructor, "grid")](n_lat)
    return np.repeat(rows[:, None] / (2 * n_lon), n_lon, axis=1)


def _pool(field, sample, weights):
    value = (sample.astype(np.float64) - field["mean"]) / field["std"]
    if weights is None:
        return value.mean(), value.std()
    weights = weights / weights.sum()
    mean = float((weights * value).sum())
    return mean, np.sqrt(float((weights * np.square(value - mean)).sum()))


def features(card, samples, weights=None):
    """(n_sample, 2 n_field) of {name: samples} of the card's input fields.

    weights   samples of points' weights, one for all or one each; None: all points alike, on the sphere by area
    """
    names = [f for f in card["inputs"] if f.get("role", "field") == "field"]
    missing = [f["name"] for f in names if f["name"] not in samples]
    if not names or missing:
        raise ExportError(f"no array of {', '.join(missing)}" if missing else "the card has no input that is a field")
    by_name = {f["name"]: samples[f["name"]] for f in names}
    if weights is None and card["family"] == "sphere":
        area = area_weights(card)
        weights = None if area is None else [area]
    if weights is not None:
        if min(float(one.min()) for one in weights) < 0 or min(float(one.sum()) for one in weights) <= 0:
            raise ExportError("point weights must not be negative, nor all zero")
        by_name[None] = weights
    by_name = fields.common_samples(by_name)
    weights = by_name.pop(None, None)
    n = len(next(iter(by_name.values())))
    rows = []
    for i in range(n):
        pooled = [_pool(f, by_name[f["name"]][i], weights[i] if weights else None) for f in names]
        rows.append(np.concatenate(pooled))
    return np.array(rows)


def distances(statistics, rows):
    """Mahalanobis distances of features from the statistics of a card."""
    factor = np.linalg.cholesky(np.array(statistics["covariance"]))
    return np.linalg.norm(np.linalg.solve(factor, (rows - np.array(statistics["mean"])).T), axis=0)


def statistics(rows, quantile=quantile):
    """The value of the card key for the features of the training samples."""
    n_sample, n = rows.shape
    if n_sample < least_per_feature * n:
        raise ExportError(f"{n_sample} samples tell too little about {n} features; {least_per_feature * n} are needed")
    covariance = np.atleast_2d(np.cov(rows, rowvar=False)) + least_variance * np.eye(n)
    found = {"mean": rows.mean(axis=0).tolist(), "covariance": ((covariance + covariance.T) / 2).tolist()}
    distance = float(np.quantile(distances(found, rows), quantile, method="inverted_cdf"))
    return found | {"quantile": quantile, "distance": distance, "samples": n_sample}
