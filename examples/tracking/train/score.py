# SPDX-License-Identifier: Apache-2.0
"""Measures the quality of an embedding, with the definitions of the example program."""

import numpy as np
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components
from scipy.spatial import cKDTree

least_hits, window_rad = 4, 0.6


def accuracy(e, event, least_momentum):
    """Returns the fraction of the k - 1 hits nearest to each hit of a particle with k hits (k >= 4) that belong to it."""
    particle = event["particle"].astype(int)
    size = np.bincount(particle[particle >= 0], minlength=particle.max() + 1)
    chosen = np.flatnonzero((particle >= 0) & (event["momentum"] > least_momentum))
    chosen = chosen[size[particle[chosen]] >= least_hits]
    k = size[particle[chosen]] - 1
    nearest = cKDTree(e).query(e[chosen], k=int(k.max()) + 1)[1][:, 1:]
    same = particle[nearest] == particle[chosen, None]
    return float((same & (np.arange(int(k.max())) < k[:, None])).sum(1).astype(float).dot(1 / k) / len(k))


def tracks(e, event, radius):
    """Returns (n,): number of the connected component of each hit. Two hits are linked if each is the nearest to the other on its
    layer, nearer than the radius, and within a window of the azimuth."""
    layer = event["layer"].astype(int)
    a, b = cKDTree(e).query_pairs(radius, output_type="ndarray").T
    turn = np.abs(event["azimuth"][a] - event["azimuth"][b])
    keep = (layer[a] != layer[b]) & (np.minimum(turn, 2 * np.pi - turn) < window_rad)
    a, b = np.concatenate([a[keep], b[keep]]), np.concatenate([b[keep], a[keep]])
    by_distance = np.lexsort((np.square(e[a] - e[b]).sum(1), layer[b], a))
    a, b = a[by_distance], b[by_distance]
    at = a * (int(layer.max()) + 1) + layer[b]
    is_first = np.append(True, at[1:] != at[:-1])
    a, b = a[is_first], b[is_first]
    is_mutual = np.isin(a * len(e) + b, b * len(e) + a)
    graph = coo_matrix((np.ones(is_mutual.sum()), (a[is_mutual], b[is_mutual])), shape=(len(e), len(e)))
    return connected_components(graph, directed=False)[1]


def efficiency_and_fakes(labels, event):
    """Matches by double majority: more than half of a candidate's hits are of a particle, and more than half of the particle's are in it."""
    particle = event["particle"].astype(int)
    of_particle = np.bincount(particle[particle >= 0], minlength=particle.max() + 1)
    of_label = np.bincount(labels)
    kept = particle >= 0
    pairs, shared = np.unique(np.stack([labels[kept], particle[kept]]), axis=1, return_counts=True)
    is_match = (2 * shared > of_label[pairs[0]]) & (2 * shared > of_particle[pairs[1]]) & (of_label[pairs[0]] >= least_hits)
    is_match &= of_particle[pairs[1]] >= least_hits
    n_candidate = int((of_label >= least_hits).sum())
    return is_match.sum() / (of_particle >= least_hits).sum(), 1 - is_match.sum() / max(1, n_candidate)


def best_radius(embedded):
    """Returns (radius, efficiency, fakes) with the largest efficiency minus fakes. embedded: [(embedding, event)]"""
    best = (0.0, 0.0, 1.0)
    for radius in np.geomspace(0.05, 2, 16):
        found = np.mean([efficiency_and_fakes(tracks(e, event, radius), event) for e, event in embedded], axis=0)
        if found[0] - found[1] > best[1] - best[2]:
            best = (float(radius), *map(float, found))
    return best
