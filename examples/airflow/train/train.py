#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains a small Ball Sparse Attention on the pressures of panel solutions. One thread, fixed seeds; the README has the calls."""

import argparse
import copy
import math
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
    add("--stages", default="1900:3000,3800:700,7600:150", help="points a body : steps, one after the other")
    add("--rate", type=float, default=1.5e-3, help="highest learning rate")
    return parser.parse_args()


def seeds(text):
    first, last = map(int, text.split(":"))
    return list(range(first, last))


class Bodies:
    """Samples of one number of points, ready for the network, kept when they have been made once."""

    def __init__(self, folder, n_point, scales):
        self.folder, self.n_point, self.scales, self.kept = folder, n_point, scales, {}

    def __getitem__(self, seed):
        if seed not in self.kept:
            sample = samples.read(self.folder, seed, self.n_point)
            inputs = torch.from_numpy(self.scales.network_input(sample))
            self.kept[seed] = (inputs, self.scales.cloud(sample, network), torch.from_numpy(sample[:, 6:7].copy()))
        return self.kept[seed]


def predict(model, body, scales):
    inputs, cloud, _ = body
    return model(inputs, cloud) * scales.pressure_std + scales.pressure_mean


def relative_error(predicted, target):
    return (predicted - target).norm() / target.norm()


@torch.no_grad()
def mean_error(model, bodies, which, scales):
    return float(np.mean([float(relative_error(predict(model, bodies[s], scales), bodies[s][2])) for s in which]))


def rate_at(step, n_step, highest):
    """Linear for 100 steps, then a cosine down to a hundredth."""
    if step < 100:
        return highest * (step + 1) / 100
    return highest * (0.01 + 0.99 * 0.5 * (1 + math.cos(math.pi * (step - 100) / (n_step - 100))))


class Average:
    """Of the last hundred or so weights."""

    def __init__(self, model):
        self.model, self.step = copy.deepcopy(model), 0

    @torch.no_grad()
    def add(self, model):
        self.step += 1
        share = max(0.01, 1 / self.step)
        for mine, new in zip(self.model.parameters(), model.parameters()):
            mine.lerp_(new, share)


def main():
    options = arguments()
    torch.set_num_threads(1)
    torch.manual_seed(1)
    random = np.random.default_rng(1)
    stages = [tuple(map(int, stage.split(":"))) for stage in options.stages.split(",")]
    trained, watched = seeds(options.seeds), seeds(options.watch)
    scales = samples.Scales([samples.read(options.data, seed, stages[0][0]) for seed in trained])
    model = bsa.BSA(network)
    average = Average(model)
    optimiser = torch.optim.AdamW(model.parameters(), lr=options.rate, weight_decay=0.01)
    n_step, step, begin, history = sum(n for _, n in stages), 0, time.process_time(), []
    for n_point, n in stages:
        bodies, recent = Bodies(options.data, n_point, scales), []
        order = np.concatenate([random.permutation(trained) for _ in range(-(-n // len(trained)))])[:n]
        for seed in order:
            for group in optimiser.param_groups:
                group["lr"] = rate_at(step, n_step, options.rate)
            loss = relative_error(predict(model, bodies[int(seed)], scales), bodies[int(seed)][2])
            optimiser.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimiser.step()
            average.add(model)
            recent.append(float(loss.detach()))
            step += 1
            if step % 200 == 0 or len(recent) == n:
                error = mean_error(average.model, bodies, watched, scales)
                history.append((step, n_point, float(np.mean(recent[-200:])), error))
                print("step %5d, %5d points: loss %.4f, watched %.4f, %4.0f s" % (*history[-1], time.process_time() - begin),
                      flush=True)
                with open(options.out, "wb") as file:
                    pickle.dump({"weights": average.model.state_dict(), "scales": scales, "history": history,
                                 "network": network, "stages": stages, "seeds": options.seeds}, file)


if __name__ == "__main__":
    main()
