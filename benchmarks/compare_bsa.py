#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs layers of Ball Sparse Attention and PyTorch's attention in alternation and prints medians and ratios.

    python3 benchmarks/compare_bsa.py [--build build] [--rounds 3] [--threads 2] [--only layer,group_compression,ball,small]

CPU, single precision, inference mode, C = 64, 8 heads, balls of 256, blocks and groups of 8, 4 chosen blocks.
  layer, group_compression  the whole model of one layer at 65,536 points (embedding, tree order, SwiGLU, head), beside PyTorch's
                            scaled_dot_product_attention alone over as many keys: timed at 16,384, times 16
  ball                      the whole model of one layer with the ball branch only, beside PyTorch's ball branch alone, without
                            projections: batched attention with the distance bias as a mask, compiled and not
  small                     the layer and full attention of libsurrogate at 1,024 to 16,384 points; no PyTorch
PyTorch comes from the Python that runs this, libsurrogate from a build with -DSURROGATE_BENCHMARKS=ON, 2 threads. How to read the ratios:
paired.py.
"""
from paired import compare, measured, parser
from torch_peer import F, start, torch

N, C, H, BALL, TIMED = 65_536, 64, 8, 256, 16_384


def random_heads(*shape):
    return [torch.randn(*shape, C // H) for _ in range(3)]


def full_attention():
    q, k, v = random_heads(1, H, TIMED)
    return lambda: F.scaled_dot_product_attention(q, k, v)


def ball_attention(x, sigma, q, k, v):
    """x (balls, 256, 3); q, k, v (balls, H, 256, D)."""
    bias = sigma.view(1, H, 1, 1) * torch.cdist(x, x, compute_mode="donot_use_mm_for_euclid_dist").unsqueeze(1)
    return F.scaled_dot_product_attention(q, k, v, attn_mask=bias)


def balls(attention):
    x, sigma = torch.rand(N // BALL, BALL, 3), -torch.ones(H)
    q, k, v = random_heads(N // BALL, H, BALL)
    return lambda: attention(x, sigma, q, k, v)


def ours(build, program, wanted, scale=1.0):
    wall, processor, level = measured(build, program, wanted)
    return wall / scale, processor / scale, level


def compare_small(build):
    print("whole model of one layer, ours beside our own full attention")
    for n in (1024, 2048, 4096, 16384):
        times = [measured(build, "tree_model_bench", f"bsa/{kind}/{n}/")[0] for kind in ("bsa", "group_compression", "full")]
        print(f"  {n:6} points: bsa {times[0] * 1e3:8.1f} ms, group compression {times[1] * 1e3:8.1f} ms, "
              f"full {times[2] * 1e3:8.1f} ms; full / bsa {times[2] / times[0]:.2f}, full / group {times[2] / times[1]:.2f}")


def main():
    options = parser(__doc__, 3, "layer,group_compression,ball,small", "of PyTorch; ours take 2").parse_args()
    start(options)
    with torch.inference_mode():
        for name in options.only.split(","):
            if name == "small":
                compare_small(options.build)
            elif name == "ball":
                for how, attention in (("eager", ball_attention), ("compiled", torch.compile(ball_attention))):
                    compare(f"ball, PyTorch {how}",
                            lambda: ours(options.build, "tree_model_bench", f"bsa/ball/{N}/"), balls(attention), "PyTorch",
                            options.rounds, passes=2)
            else:
                variant = {"layer": "bsa", "group_compression": "group_compression"}[name]
                scale = (N / TIMED) ** 2   # so that a pass of the peer represents one over N keys
                compare(f"{name}, {N} points; both times / {scale:.0f}",
                        lambda: ours(options.build, "tree_model_bench", f"bsa/{variant}/{N}/", scale), full_attention(), "PyTorch",
                        options.rounds, passes=1)


if __name__ == "__main__":
    main()
