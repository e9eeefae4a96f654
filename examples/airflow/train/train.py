#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains a small Ball Sparse Attention on the pressures of panel solutions. One thread, fixed seeds; tutorials/airflow.md has the calls."""

import argparse
import copy
import math
import os
import pickle
import time

import numpy as np
import torch

import bsa
import samples

turn = ["0x1.0000000000001p-1", "-0x1.2bec333018868p-3", "0x1.b504f333f9de5p-1", "0x1.0p-1", "0x1.b504f333f9de6p-1",
        "-0x1.2bec333018868p-3", "-0x1.6a09e667f3bccp-1", "0x1.0p-1", "0x1.0000000000001p-1"]  # 45 degrees

network = {
    "dimensionality": 3, "c_in": 6, "c_out": 1, "c_hidden": 32, "depth": 4, "num_heads": 4, "mlp_ratio": 4,
    "ball_size": 128, "block_size": 2, "should_rotate": True, "rotation_angle": 45.0, "rotation": turn,
    "attention_type": "sparse", "pos_enc": "none", "rotated_order": "full", "sigma_trainable": False,
    "attention_kwargs": {
        "compress_block_size": 8, "selected_blocks_number": 4, "group_selection_size": 8, "use_group_selection": True,
        "use_compress_mlp": True, "compress_mlp_expand_factor": 2.0, "should_mask_blocks_in_ball": True,
        "use_token_gated_attention": True, "use_coarse_q_attn": False, "use_coarse_q_importance": False,
    },
}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    add = parser.add_argument
    add("--data", required=True, help="folder of the samples")
    add("--out", required=True, help="file for weights, scales and history (pickle, for finish.py)")
    add("--seeds", default="1000:1400", help="first and last + 1 seed of the training bodies")
    add("--watch", default="2000:2008", help="of bodies to look at, as many points as in the stage")
    add("--stages", default="1900:1600,3800:300,7600:60", help="points a body : steps, one after the other; 1900*3+3800:500 "
        "has bodies of 1900 points three times as often as those of 3800")
    add("--start", help="goes on from the weights in this file of an earlier run, with a new schedule")
    add("--rate", type=float, default=1.5e-3, help="highest learning rate")
    return parser.parse_args()


def seeds(text):
    first, last = map(int, text.split(":"))
    return list(range(first, last))


def mixture(text):
    """Returns [(points, fraction)] and the steps of a stage."""
    parts, n_step = text.split(":")
    pairs = [(part + "*1").split("*")[:2] for part in parts.split("+")]
    whole = sum(float(weight) for _, weight in pairs)
    return [(int(n_point), float(weight) / whole) for n_point, weight in pairs], int(n_step)


class Bodies:
    """Samples prepared for the network. Small ones are cached."""

    def __init__(self, folder, scales):
        self.folder, self.scales, self.kept = folder, scales, {}

    def seeds(self, n_point, wanted):
        """Returns the wanted bodies for which a sample of this size exists."""
        return [seed for seed in wanted if os.path.exists(samples.path(self.folder, seed, n_point))]

    def get(self, seed, n_point):
        if (seed, n_point) in self.kept:
            return self.kept[seed, n_point]
        sample = samples.read(self.folder, seed, n_point)
        inputs = torch.from_numpy(self.scales.network_input(sample))
        body = (inputs, self.scales.cloud(sample, network), torch.from_numpy(sample[:, 6:7].copy()))
        if n_point < 4000:
            self.kept[seed, n_point] = body
        return body


def predict(model, body, scales):
    inputs, cloud, _ = body
    return model(inputs, cloud) * scales.pressure_std + scales.pressure_mean


def relative_error(predicted, target):
    return (predicted - target).norm() / target.norm()


@torch.no_grad()
def mean_error(model, bodies, which, n_point, scales):
    watched = [bodies.get(seed, n_point) for seed in which]
    return float(np.mean([float(relative_error(predict(model, body, scales), body[2])) for body in watched]))


def rate_at(step, n_step, highest):
    """Learning rate: linear for a tenth of the steps, at most 100, then a cosine down to a hundredth."""
    n_first = min(100, n_step // 10)
    if step < n_first:
        return highest * (step + 1) / n_first
    return highest * (0.01 + 0.99 * 0.5 * (1 + math.cos(math.pi * (step - n_first) / (n_step - n_first))))


class Average:
    """Moving average over about the last hundred weights."""

    def __init__(self, model):
        self.model, self.step = copy.deepcopy(model), 0

    @torch.no_grad()
    def add(self, model):
        self.step += 1
        share = max(0.01, 1 / self.step)
        for mine, new in zip(self.model.parameters(), model.parameters()):
            mine.lerp_(new, share)


def order(bodies, stage, trained, random):
    """Returns (seed, points) of each step of a stage: every body of a size is used once before one is repeated."""
    parts, n_step = stage
    sizes = random.choice([n for n, _ in parts], size=n_step, p=[share for _, share in parts])
    queues = {n: [] for n, _ in parts}
    for n_point in sizes:
        if not queues[n_point]:
            queues[n_point] = list(random.permutation(bodies.seeds(n_point, trained)))
        yield int(queues[n_point].pop()), int(n_point)


def train_step(model, optimiser, body, scales):
    loss = relative_error(predict(model, body, scales), body[2])
    optimiser.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimiser.step()
    return float(loss.detach())


def main():
    options = arguments()
    torch.set_num_threads(1)
    torch.manual_seed(1)
    random = np.random.default_rng(1)
    stages = [mixture(stage) for stage in options.stages.split(",")]
    trained, watched = seeds(options.seeds), seeds(options.watch)
    scales = samples.Scales([samples.read(options.data, seed, 1900) for seed in trained])
    model, before = bsa.BSA(network), ""
    if options.start:
        with open(options.start, "rb") as file:
            earlier = pickle.load(file)
        model.load_state_dict(earlier["weights"])
        scales, before = earlier["scales"], earlier["stages"] + ", then "
    average, bodies = Average(model), Bodies(options.data, scales)
    optimiser = torch.optim.AdamW(model.parameters(), lr=options.rate, weight_decay=0.01)
    n_step, step, begin, recent = sum(n for _, n in stages), 0, time.process_time(), []
    for stage in stages:
        for seed, n_point in order(bodies, stage, trained, random):
            for group in optimiser.param_groups:
                group["lr"] = rate_at(step, n_step, options.rate)
            recent.append(train_step(model, optimiser, bodies.get(seed, n_point), scales))
            average.add(model)
            step += 1
            if step % 100 and step < n_step:
                continue
            errors = [mean_error(average.model, bodies, watched, n, scales) for n in (1900, 7600)]
            print("step %5d: loss %.4f, watched %.4f, %.4f, %4.0f s"
                  % (step, np.mean(recent[-100:]), *errors, time.process_time() - begin), flush=True)
            n_body = {n: len(bodies.seeds(n, trained)) for parts, _ in stages for n, _ in parts}
            with open(options.out, "wb") as file:
                pickle.dump({"weights": average.model.state_dict(), "scales": scales, "network": network,
                             "stages": before + options.stages, "seeds": options.seeds, "bodies": n_body}, file)


if __name__ == "__main__":
    main()
