#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains a small HEPT that maps hits of a particle to nearby points. One thread, fixed seeds; tutorials/tracking.md has the calls."""

import argparse
import copy
import math
import os
import pickle
import time

import numpy as np
import torch
from torch.nn import functional as F

import hept
import samples
import score

network = {
    "block_size": 100, "n_hashes": 3, "num_regions": 30, "num_heads": 4, "h_dim": 24, "n_layers": 3, "num_w_per_dist": 10,
    "in_dim": 15, "coords_dim": 6, "num_classes": None, "task": "tracking", "padding": "masked", "implementation": "independent",
}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    add = parser.add_argument
    add("--data", required=True, help="folder of the events")
    add("--out", required=True, help="file for weights and scales (pickle, for finish.py)")
    add("--seeds", default="1000:1300,5000:5300", help="first and last + 1 seed of events to train on, of several ranges")
    add("--watch", default="2000:2004", help="of events to look at, as large as the first size")
    add("--sizes", default="1000*3+3000*4+8000", help="hits an event * how often")
    add("--minutes", type=float, default=25, help="of processor time")
    add("--rate", type=float, default=2e-3, help="highest learning rate")
    add("--anchors", type=int, default=600, help="hits a step that all others are compared with")
    add("--start", help="goes on from the weights in this file of an earlier run, with a new schedule")
    return parser.parse_args()


def seeds(text):
    return [seed for part in text.split(",") for seed in range(*map(int, part.split(":")))]


def loss_of(e, particle, anchors):
    """Computes InfoNCE (tau 0.05, similarity exp(-distance / 1.125)) of pairs of an anchor and any hit: positive with one of the same
    particle, negative with all others. The mean over particles of means over their pairs."""
    tau, spread = 0.05, 2 * 0.75**2
    distance = (torch.cdist(e[anchors], e).square() + 1e-8).sqrt()
    t = torch.exp(-distance / spread) / tau
    same = (particle[anchors, None] == particle) & (particle[anchors, None] >= 0)
    negative = torch.logsumexp(t.masked_fill(same, -math.inf), dim=1, keepdim=True)
    rows, others = same.nonzero(as_tuple=True)
    rows, others = (index[anchors[rows] != others] for index in (rows, others))
    terms = F.softplus(negative[rows, 0] - t[rows, others])
    _, group = torch.unique(particle[anchors[rows]], return_inverse=True)
    n_group = int(group.max()) + 1
    sums = torch.zeros(n_group).index_add(0, group, terms)
    return (sums / torch.bincount(group, minlength=n_group)).mean()


class Events:
    """Events that are read once and rotated at random in each use."""

    def __init__(self, folder, wanted, sizes, random):
        self.folder, self.random, self.kept = folder, random, {}
        parts = [(part + "*1").split("*")[:2] for part in sizes.split("+")]
        self.sizes = [int(n) for n, _ in parts]
        self.share = np.array([float(often) for _, often in parts])
        self.seeds = {n: [s for s in wanted if os.path.exists(samples.path(folder, s, n))] for n in self.sizes}

    def get(self, seed, n_hit):
        if (seed, n_hit) not in self.kept:
            self.kept[seed, n_hit] = samples.read(self.folder, seed, n_hit)
        return self.kept[seed, n_hit]

    def draw(self):
        n_hit = int(self.random.choice(self.sizes, p=self.share / self.share.sum()))
        return samples.turned(self.get(int(self.random.choice(self.seeds[n_hit])), n_hit), self.random)


def tensors(scales, event):
    x, coords = scales.inputs(event)
    return torch.from_numpy(x), torch.from_numpy(coords)


def train_step(model, optimiser, event, scales, n_anchor):
    particle = torch.from_numpy(event["particle"]).long()
    anchors = torch.randperm(len(particle))[:n_anchor]
    loss = loss_of(model(*tensors(scales, event)), particle, anchors)
    optimiser.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimiser.step()
    return float(loss.detach())


def rate_at(share, step, highest):
    """Learning rate: linear over a hundred steps, then a cosine over the time, down to a hundredth."""
    return highest * min(1, (step + 1) / 100) * (0.01 + 0.99 * 0.5 * (1 + math.cos(math.pi * min(1, share))))


class Average:
    """Moving average over about the last two hundred weights."""

    def __init__(self, model):
        self.model, self.step = copy.deepcopy(model), 0

    @torch.no_grad()
    def add(self, model):
        self.step += 1
        for mine, new in zip(self.model.parameters(), model.parameters()):
            mine.lerp_(new, max(0.005, 1 / self.step))


@torch.no_grad()
def watch(model, scales, events):
    found = [score.accuracy(model(*tensors(scales, event)).numpy(), event, 0.9) for event in events]
    best = score.best_radius([(model(*tensors(scales, event)).numpy(), event) for event in events])
    return float(np.mean(found)), best


def main():
    options = arguments()
    torch.set_num_threads(1)
    torch.manual_seed(1)
    random = np.random.default_rng(1)
    trained = seeds(options.seeds)
    events = Events(options.data, trained, options.sizes, random)
    middle = sorted(events.sizes)[len(events.sizes) // 2]
    watched = [samples.read(options.data, seed, middle) for seed in seeds(options.watch)]
    scales = samples.Scales([samples.turned(events.get(s, middle), random) for s in events.seeds[middle]])
    model, before = hept.HEPT(network), 0.0
    if options.start:
        with open(options.start, "rb") as file:
            earlier = pickle.load(file)
        model.load_state_dict(earlier["weights"])
        scales, before = earlier["scales"], earlier["minutes"]
    average = Average(model)
    optimiser = torch.optim.Adam(model.parameters(), lr=options.rate)
    begin, step, share, recent = time.process_time(), 0, 0.0, []
    while share < 1:
        share = (time.process_time() - begin) / (60 * options.minutes)
        for group in optimiser.param_groups:
            group["lr"] = rate_at(share, step, options.rate)
        recent.append(train_step(model, optimiser, events.draw(), scales, options.anchors))
        average.add(model)
        step += 1
        if step % 250 and share < 1:
            continue
        accuracy, best = watch(average.model, scales, watched)
        print("step %5d, %5.1f min: loss %.4f; watched: accuracy@0.9 %.4f, radius %.2f, efficiency %.4f, fakes %.4f"
              % (step, (time.process_time() - begin) / 60, np.mean(recent[-250:]), accuracy, *best), flush=True)
        with open(options.out, "wb") as file:
            pickle.dump({"weights": average.model.state_dict(), "scales": scales, "network": network, "seeds": options.seeds,
                         "sizes": options.sizes, "steps": step, "minutes": before + share * options.minutes}, file)


if __name__ == "__main__":
    main()
