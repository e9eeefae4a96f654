# SPDX-License-Identifier: Apache-2.0
"""Ball Sparse Attention (arXiv 2506.12541) in PyTorch, one cloud of points at a time; keys as in the public code."""

import torch
from torch import nn
from torch.nn import functional as F

import ball_tree


class Cloud:
    """Data that depends on positions only: both orders of the slots, and their positions.

    positions  (n, 3) normalized, float32;  gid  (n,) distinct integers;  dtype  of the network
    """

    def __init__(self, positions, gid, network, dtype=torch.float32):
        sparse = network["attention_kwargs"]
        least = max(2, sparse["compress_block_size"], sparse["group_selection_size"])
        idx, mask = ball_tree.tree(positions, gid, least)
        self.idx = torch.from_numpy(idx)
        self.perm = torch.from_numpy(_turned(positions[idx], network))
        self.inverse = torch.argsort(self.perm)
        self.slot_of_point = torch.empty(len(positions), dtype=torch.int64)
        slots = torch.from_numpy(mask).nonzero()[:, 0]
        self.slot_of_point[self.idx[slots]] = slots
        ball = min(network["ball_size"], len(idx))
        slot_positions = torch.from_numpy(positions)[self.idx]
        self.orders = [_places(slots, ball, dtype) for slots in (slot_positions, slot_positions[self.perm])]


def _turned(positions, network):
    return ball_tree.turned_order(positions, [float.fromhex(number) for number in network["rotation"]])


def _places(positions, ball, dtype):
    """Returns (relative positions (n, 3), distances inside each ball (n / ball, ball, ball))."""
    balls = positions.reshape(-1, ball, positions.shape[1]).double()
    relative = balls - balls.mean(dim=1, keepdim=True)
    distance = (balls[:, :, None] - balls[:, None]).square().sum(-1).sqrt()
    return relative.reshape(positions.shape).to(dtype), distance.to(dtype)


class RMSNorm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 2.0**-23) * self.weight


class SwiGLU(nn.Module):
    def __init__(self, width, hidden):
        super().__init__()
        self.w1, self.w2, self.w3 = nn.Linear(width, hidden), nn.Linear(width, hidden), nn.Linear(hidden, width)

    def forward(self, x):
        return self.w3(self.w2(x) * F.silu(self.w1(x)))


class Gates(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.to_strategy = nn.Sequential(nn.Linear(width, 3 * heads))


class Attention(nn.Module):
    def __init__(self, network):
        super().__init__()
        width, self.heads = network["c_hidden"], network["num_heads"]
        sparse = network["attention_kwargs"]
        self.ball, self.block = network["ball_size"], sparse["compress_block_size"]
        self.group, self.chosen = sparse["group_selection_size"], sparse["selected_blocks_number"]
        d = width // self.heads
        hidden = int(sparse["compress_mlp_expand_factor"] * self.block * d)
        self.register_buffer("sigma_att", -1 + 0.01 * torch.randn(1, self.heads, 1, 1))  # never trained, as in the public code
        self.qkv, self.out_proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.position_proj = nn.Linear(network["dimensionality"], width)
        compress = lambda: nn.Sequential(nn.Linear(self.block * d, hidden), nn.ReLU(), nn.Linear(hidden, d))
        self.k_compress_mlp, self.v_compress_mlp = compress(), compress()
        self.gated_attention = Gates(width, self.heads)

    def forward(self, x, places):
        relative, distance = places
        n, width = x.shape
        x = x + self.position_proj(relative)
        q, k, v = self.qkv(x).reshape(n, 3, self.heads, -1).permute(1, 2, 0, 3)  # each (heads, n, d)
        coarse_k, coarse_v = self.coarse(k, self.k_compress_mlp), self.coarse(v, self.v_compress_mlp)
        branches = [
            self.in_balls(q, k, v, distance),
            F.scaled_dot_product_attention(q[None], coarse_k[None], coarse_v[None])[0],
            self.in_chosen_blocks(q, k, v, self.choose(q, coarse_k)),
        ]
        gates = torch.sigmoid(self.gated_attention.to_strategy(x)).reshape(n, self.heads, 3).permute(2, 1, 0)
        mixed = sum(gate[..., None] * branch for gate, branch in zip(gates, branches))
        return self.out_proj(mixed.permute(1, 0, 2).reshape(n, width))

    def coarse(self, u, mlp):
        heads, n, d = u.shape
        return mlp(u.reshape(heads, n // self.block, self.block * d))

    def in_balls(self, q, k, v, distance):
        split = lambda u: u.reshape(self.heads, distance.shape[0], distance.shape[1], -1).transpose(0, 1)
        bias = self.sigma_att * distance[:, None]
        out = F.scaled_dot_product_attention(split(q), split(k), split(v), attn_mask=bias)
        return out.transpose(0, 1).reshape(q.shape)

    @torch.no_grad()
    def choose(self, q, coarse_k):
        """Returns (heads, groups, chosen): blocks of other balls first, then by score, then by number; ascending."""
        heads, n, d = q.shape
        mean = q.reshape(heads, n // self.group, self.group, d).mean(2)
        score = mean @ coarse_k.transpose(1, 2) * d**-0.5
        ball = min(self.ball, n)
        own = (torch.arange(n // self.group) * self.group // ball)[:, None] == (torch.arange(n // self.block) * self.block // ball)
        score = score.masked_fill(own, float("-inf"))
        if n <= ball:
            best = torch.sort(score, dim=-1, descending=True, stable=True).indices[..., : self.chosen]
        else:
            best = torch.topk(score, min(self.chosen, score.shape[-1]), dim=-1).indices
        return torch.sort(best, dim=-1).values

    def in_chosen_blocks(self, q, k, v, blocks):
        heads, n, d = q.shape
        rows = torch.arange(heads)[:, None, None]
        take = lambda u: u.reshape(heads, n // self.block, self.block, d)[rows, blocks].reshape(heads, n // self.group, -1, d)
        out = F.scaled_dot_product_attention(q.reshape(heads, n // self.group, self.group, d), take(k), take(v))
        return out.reshape(heads, n, d)


class Layer(nn.Module):
    def __init__(self, network):
        super().__init__()
        width = network["c_hidden"]
        self.norm1, self.norm2 = RMSNorm(width), RMSNorm(width)
        self.attn, self.mlp = Attention(network), SwiGLU(width, network["mlp_ratio"] * width)

    def forward(self, x, places):
        x = x + self.attn(self.norm1(x), places)
        return x + self.mlp(self.norm2(x))


class Main(nn.Module):
    def __init__(self, network):
        super().__init__()
        self.embed = nn.Linear(network["c_in"], network["c_hidden"])
        self.layers = nn.ModuleList([Layer(network) for _ in range(network["depth"])])
        self.residual_every = network["block_size"]
        for module in self.modules():
            if isinstance(module, nn.Linear):
                nn.init.trunc_normal_(module.weight, std=0.02, a=-2, b=2)
                nn.init.zeros_(module.bias)

    def forward(self, x, cloud):
        x = residual = self.embed(x)[cloud.idx]
        for i, layer in enumerate(self.layers):
            if i % 2:
                x = layer(x[cloud.perm], cloud.orders[1])[cloud.inverse]
            else:
                x = layer(x, cloud.orders[0])
            if self.residual_every and (i + 1) % self.residual_every == 0 or i + 1 == len(self.layers):
                x = residual = x + residual
        return x[cloud.slot_of_point]


class BSA(nn.Module):
    """Network from features (n, c_in), normalized, of the points of `cloud` to (n, c_out)."""

    def __init__(self, network):
        super().__init__()
        if network["pos_enc"] != "none" or network["dimensionality"] != 3 or network["rotated_order"] != "full":
            raise ValueError("this transcription has pos_enc none, 3 dimensions and the full turned order only")
        self.main_model = Main(network)
        width = network["c_hidden"]
        self.pred_head = nn.Sequential(nn.Linear(width, width), nn.GELU(), nn.Linear(width, network["c_out"]))

    def forward(self, features, cloud):
        return self.pred_head(self.main_model(features, cloud))
