# SPDX-License-Identifier: Apache-2.0
"""Orders points for Ball Sparse Attention: a ball tree over points, and one over rotated slots."""

import numpy as np


def next_power(n):
    return 1 << max(0, int(n - 1).bit_length())


def _axis(x):
    """Returns the axis of the largest extent; the first one of equal axes."""
    return int(np.argmax(x.max(0) - x.min(0)))


def _sorted(ids, coordinate, key):
    return ids[np.lexsort((key[ids], coordinate[ids]))]


def tree(positions, gid, least_slots):
    """Returns (idx, mask): the point of each slot, and True if the slot is its first.

    The left child of a node gets the lower half of its points, ordered by (coordinate on its longest axis, gid), down
    to nodes of two slots. A single point fills both.
    """
    x = positions.astype(np.float64) + 0.0  # -0.0 becomes 0.0
    n_slot = next_power(len(x))
    idx, mask = np.zeros(n_slot, np.int64), np.zeros(n_slot, bool)
    stack = [(np.argsort(gid, kind="stable"), 0, n_slot)]
    while stack:
        ids, first, size = stack.pop()
        if size <= 2:
            idx[first : first + size] = ids if len(ids) == size else ids[0]
            mask[first : first + len(ids)] = True
            continue
        ids = _sorted(ids, x[:, _axis(x[ids])], gid)
        half = len(ids) // 2
        stack += [(ids[:half], first, size // 2), (ids[half:], first + size // 2, size // 2)]
    repeat = max(1, least_slots // n_slot)
    mask = np.repeat(mask, repeat) & (np.arange(n_slot * repeat) % repeat == 0)
    return np.repeat(idx, repeat), mask


def turned_order(slot_positions, rotation):
    """Returns perm: index j of the rotated order holds slot perm[j]. rotation: nine numbers, rows of the matrix R of p R."""
    p, r = slot_positions.astype(np.float64), np.array(rotation).reshape(3, 3)
    x = np.stack([(p[:, 0] * r[0, k] + p[:, 1] * r[1, k]) + p[:, 2] * r[2, k] for k in range(3)], axis=1)
    slot = np.arange(len(p))
    perm = np.zeros(len(p), np.int64)
    stack = [(slot, 0)]
    while stack:
        ids, first = stack.pop()
        if len(ids) <= 2:
            perm[first : first + len(ids)] = ids
            continue
        ids = _sorted(ids, x[:, _axis(x[ids])], slot)
        half = len(ids) // 2
        stack += [(ids[:half], first), (ids[half:], first + half)]
    return perm
