#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains a planar Transformer in PyTorch on hours of shallow water, and writes its predictions.

    python3 planar.py hours.h5 held_out.h5 neighborhood|global predictions.npy

The model of train.toml on the image of latitudes and longitudes: convolutions of 3 x 3, attention
with equal weights to all points or to 7 x 7, without poles and without periodic longitude, and the
position embedding of the spherical model. Parameters, recipe and loss (with the weights of the
quadrature) are those of the spherical models; samples come in a random order of its own.
"""

import math
import os
import sys
import time
import tomllib

import numpy as np
import torch
from rotation import legendre
from shallow_water import FIELDS, read
from torch import nn

with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "train.toml"), "rb") as file:
    recipe = tomllib.load(file)
network, training = recipe["model"]["network"], recipe["training"]
CHANNELS = network["embed_dim"]


def embedding(colatitude, columns):
    """Returns the position embedding [CHANNELS, lat, lon]: harmonics with a maximum of one."""
    longitude = 2 * np.pi * np.arange(columns) / columns
    maps = []
    for index in range(CHANNELS):
        degree = math.isqrt(index)
        m = index - degree**2 - degree
        wave = np.cos(m * longitude) if m >= 0 else np.sin(m * longitude)
        map_ = legendre(np.cos(colatitude), abs(m), degree + 1)[-1][:, None] * wave
        maps.append(map_ / np.abs(map_).max())
    return torch.tensor(np.array(maps), dtype=torch.float32)


class Attention(nn.Module):
    def __init__(self, shape, is_global):
        super().__init__()
        self.project = nn.ModuleList(nn.Linear(CHANNELS, CHANNELS, bias=False) for _ in range(4))
        for layer in self.project[:3]:
            nn.init.uniform_(layer.weight, -math.sqrt(3 / CHANNELS), math.sqrt(3 / CHANNELS))
        nn.init.uniform_(self.project[3].weight, -math.sqrt(3 / CHANNELS), math.sqrt(3 / CHANNELS))
        index = torch.arange(shape[0] * shape[1])
        row, column = index // shape[1], index % shape[1]
        near = ((row[:, None] - row).abs() <= 3) & ((column[:, None] - column).abs() <= 3)
        self.register_buffer("near", None if is_global else near)

    def forward(self, x):
        batch, _, rows, columns = x.shape
        x = x.flatten(2).transpose(1, 2)
        q, k, v = (layer(x) for layer in self.project[:3])
        mixed = nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=self.near)
        y = self.project[3](mixed)
        return y.transpose(1, 2).reshape(batch, CHANNELS, rows, columns)


class Block(nn.Module):
    def __init__(self, shape, is_global):
        super().__init__()
        self.norm = nn.ModuleList(
            nn.InstanceNorm2d(CHANNELS, eps=1e-6, affine=True) for _ in range(2)
        )
        self.attention = Attention(shape, is_global)
        wide = 2 * CHANNELS
        first, second = nn.Conv2d(CHANNELS, wide, 1), nn.Conv2d(wide, CHANNELS, 1, bias=False)
        self.mlp = nn.Sequential(first, nn.GELU(), second)
        nn.init.normal_(self.mlp[0].weight, std=math.sqrt(2 / CHANNELS))
        nn.init.zeros_(self.mlp[0].bias)
        nn.init.normal_(self.mlp[2].weight, std=math.sqrt(0.5 / (2 * CHANNELS)))

    def forward(self, x):
        x = x + self.attention(self.norm[0](x))
        return x + self.mlp(self.norm[1](x))


class Planar(nn.Module):
    def __init__(self, latitude, columns, is_global):
        super().__init__()
        rows = len(latitude) // 2
        self.encoder = nn.Conv2d(3, CHANNELS, 3, stride=2, padding=1, bias=False)
        nn.init.normal_(self.encoder.weight, std=1 / math.sqrt(27))
        coarse = np.radians(90 - (latitude[0::2] + latitude[1::2]) / 2)
        self.register_buffer("position", embedding(coarse, columns // 2))
        blocks = (Block((rows, columns // 2), is_global) for _ in range(network["num_layers"]))
        self.blocks = nn.Sequential(*blocks)
        self.upsample = nn.Upsample(scale_factor=2, mode="bilinear")
        self.decoder = nn.Conv2d(CHANNELS, 3, 3, padding=1, bias=False)
        scale = recipe["model"]["output_scale"]
        nn.init.normal_(self.decoder.weight, std=scale / math.sqrt(9 * CHANNELS))

    def forward(self, x):
        return x + self.decoder(self.upsample(self.blocks(self.encoder(x) + self.position)))


def main():
    torch.set_num_threads(1)
    torch.manual_seed(training["seed"])
    epochs, batch_size = training["epochs"], training["batch"]
    (train, latitude, _), (held_out, _, _) = read(sys.argv[1]), read(sys.argv[2])
    rows, columns = train.shape[-2:]
    mean, std = (f(train, axis=(0, 1, 3, 4), keepdims=True)[0] for f in (np.mean, np.std))
    increment = np.sqrt(np.mean(((train[:, 1:] - train[:, :-1]) / std) ** 2, axis=(0, 1, 3, 4)))
    # sum over the grid: 1
    weight = np.polynomial.legendre.leggauss(rows)[1][:, None] / (2 * columns)
    factor = torch.tensor(weight / increment[:, None, None] ** 2 / len(FIELDS), dtype=torch.float32)
    states = torch.tensor((train - mean) / std, dtype=torch.float32)
    model = Planar(latitude, columns, sys.argv[3] == "global")
    pairs = np.array(list(np.ndindex(train.shape[0], train.shape[1] - 1)))  # (run, hour)
    random = np.random.default_rng(training["seed"])
    optimizer = torch.optim.Adam(model.parameters(), training["learning_rate"])
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(
        optimizer, epochs * (len(pairs) // batch_size)
    )
    begin = time.process_time()
    for epoch in range(epochs):
        order, losses = random.permutation(pairs), []
        for batch in np.array_split(order, len(order) // batch_size):
            shifts = random.integers(columns, size=len(batch))
            x, y = (
                torch.stack(
                    [states[r, h + lead].roll(int(s), -1) for (r, h), s in zip(batch, shifts)]
                )
                for lead in (0, 1)
            )
            optimizer.zero_grad()
            loss = (factor * (model(x) - y) ** 2).sum() / len(batch)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), training["max_grad_norm"])
            optimizer.step()
            schedule.step()
            losses.append(loss.item())
        seconds = time.process_time() - begin
        print(f"epoch {epoch + 1}: loss {np.mean(losses[-400:]):.4g}, {seconds:.0f} s", flush=True)
    print(f"{sum(p.numel() for p in model.parameters()):,} parameters")
    states = torch.tensor((held_out[:, :-1] - mean) / std, dtype=torch.float32)
    with torch.inference_mode():
        predicted = np.array([model(run).numpy() for run in states])
    np.save(sys.argv[4], predicted * std + mean)


if __name__ == "__main__":
    main()
