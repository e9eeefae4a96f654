# SPDX-License-Identifier: Apache-2.0
"""Work and messages of plans by formula: tables(case, ..) has, for every rank, the lines of the table that
`surrogate_plan_describe` prints.

many_ranks.py compares them with real plans on 16, 32 and 64 ranks; simulate.py uses them for clouds and ranks that no
machine at hand has. Ghost points depend on the geometry: they are computed from the positions (`x`). simulate.py
estimates them for clouds that are too large for that.
"""
import bisect
import collections
import math
import struct

# One line of a plan's table on one rank. call: how ranks exchange the bytes, for simulate.py.
Layer = collections.namedtuple("Layer", "name flops exponentials bytes collectives messages call",
                               defaults=(0, 0, 0, 0, 0, None))


def balanced(n, rank, size):
    """Range of n items that a rank gets when they are distributed evenly, in order."""
    begin = rank * (n // size) + min(rank, n % size)
    return begin, begin + n // size + (1 if rank < n % size else 0)


def block_begins(n, block, size):
    blocks = -(-n // block)
    return [min(balanced(blocks, rank, size)[0] * block, n) for rank in range(size)] + [n]


def solver_points(partition, n, size):
    """Points of the solver on each rank."""
    cut = uneven if partition == "uneven" else balanced
    return [end - begin for begin, end in (cut(n, rank, size) for rank in range(size))]


def uneven(n, rank, size):
    """Range of a rank: rank 0 has nothing, rank 1 half, the others equal parts of the rest."""
    half = n // 2 + n % 2 if size > 2 else n
    if rank < 2:
        return (0, 0) if rank == 0 else (0, half)
    begin, end = balanced(n - half, rank - 2, size - 2)
    return half + begin, half + end


def owners(partition, n, size):
    """Rank of the solver of each point."""
    owner = [0] * n
    if partition == "scattered":
        order, state = list(range(n)), 2026
        mask = (1 << 64) - 1
        for i in range(n - 1, 0, -1):   # splitmix64
            state = (state + 0x9E3779B97F4A7C15) & mask
            z = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & mask
            z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
            j = (z ^ (z >> 31)) % (i + 1)
            order[i], order[j] = order[j], order[i]
        for i, point in enumerate(order):
            owner[point] = i % size
        return owner
    cut = uneven if partition == "uneven" else balanced
    for rank in range(size):
        for point in range(*cut(n, rank, size)):
            owner[point] = rank
    return owner


error_flag = Layer("error flag of every rank", bytes=8, collectives=1, call="reduce")


def rows(name, n_byte, collectives=1):
    return Layer(name, bytes=n_byte, collectives=collectives, call="rows")


# ---- FLARE ----

def flare(facts, n, size, given, reproducible=False):
    """Points stay on the ranks of the solver; in reproducible mode whole chunks of 1,024 go to ranks, in canonical
    order."""
    c, h, m = facts["channels"], facts["heads"], facts["latents"]
    n_in, n_out, chunk = facts.get("n_in", 3), facts.get("n_out", 1), 1024
    begins = block_begins(n, chunk, size)
    sums = 4 * m * (c + 2 * h)  # maxima, then sums of exponentials and of values
    if reproducible:
        limbs = 2 if -(-n // chunk) > 1 << 14 else 1
        sums = 4 * (h * m + h + 1) + 8 * limbs * m * (c + h)
    mlp = 10 * c * c  # three inner layers
    ends = facts.get("end_flops") or (2 * n_in * c + 4 * c * c + 2 * c * c, 2 * c * c + 4 * c * c + 2 * c * n_out)
    tables = []
    for rank in range(size):
        own = begins[rank + 1] - begins[rank] if reproducible else given[rank]
        mixing = 4 * c * m * own
        table = [rows("inputs to canonical order", given[rank] * 4 * n_in)] if reproducible else []
        table.append(Layer("in_proj", own * ends[0]))
        for block in range(facts["blocks"]):
            table.append(Layer(f"blocks.{block} k, v, encode", own * 2 * mlp + mixing, own * h * m, sums, 2,
                               call="reduce"))
            table.append(Layer(f"blocks.{block} decode, ffn", own * (2 * c * c + mlp) + mixing, own * h * m))
        table.append(Layer("out_proj", own * ends[1]))
        if reproducible:
            table.append(rows("outputs to solver order", own * 4 * n_out))
        tables.append(table)
    return tables


# ---- trees of balls ----

def tree_slots(n, least):
    return max(2, 1 << max(0, n - 1).bit_length(), least)


def points_before(slot, n, n_slot):
    """Points in slots before `slot`: leaves have two slots and one or two points."""
    if slot >= n_slot:
        return n
    leaf, before, points = slot // 2, 0, n
    for level in reversed(range(n_slot.bit_length() - 2)):
        if leaf >> level & 1:
            before, points = before + points // 2, points - points // 2
        else:
            points //= 2
    return before + slot % 2


def bsa(network, n, size, given, reproducible=False):
    """Ball Sparse Attention. Bytes of chosen blocks depend on the data: the table has the most that they can be."""
    c, h, d = network["c_hidden"], network["num_heads"], network["dimensionality"]
    kind, ball = network["attention_type"], network["ball_size"]
    options = network.get("attention_kwargs", {})
    block, choice = options.get("compress_block_size", 8), options.get("selected_blocks_number", 4)
    group = options.get("group_selection_size", 8)
    coarse_queries = options.get("use_coarse_q_attn", False)
    hidden = network["mlp_ratio"] * c
    n_slot = tree_slots(n, 8)
    balls = kind != "global"
    ball = min(ball, n_slot)
    begins = block_begins(n_slot, ball, size)
    slots = [begins[r + 1] - begins[r] for r in range(size)]
    choice = min(choice, n_slot // block)
    mlps = 2 + (1 if coarse_queries or options.get("use_coarse_q_importance") else 0)
    wide = 2 * block * (c // h)
    start = 6 * c * c + (2 * d * c if balls else 0) + (6 * h * c if kind == "sparse" else 0)
    finish = 2 * c * c + 6 * c * hidden
    compress = mlps * 2 * c * wide * (1 + 1 / block)
    compressed = 4 * c * n_slot / block / (block if coarse_queries else 1) + 2 * c * n_slot / block / group
    chunk = [2 * s * 4 * c for s in slots]
    most_fetched = fetches(slots, block, group, h, choice, 2 * block * (c // h) * 4)
    tables = []
    for rank in range(size):
        s, own = slots[rank], points_before(begins[rank + 1], n, n_slot) - points_before(begins[rank], n, n_slot)
        table = [error_flag, Layer("embed", own * (2 * d * network["c_in"] + 2 * network["c_in"] * c))]
        for layer in range(network["depth"]):
            name = f"layers.{layer}"
            if layer % 2 and balls:
                table.append(rows(name + " rotated and back", 2 * s * c * 4, 2))
            if kind != "sparse":
                ring = 0, 0
                if kind == "global":
                    ring = (chunk[rank], size) if reproducible else (sum(chunk) - chunk[(rank + 1) % size], size - 1)
                keys = ball if balls else n_slot
                table.append(Layer(name + " attention", s * (start + 4 * c * keys), s * h * keys, *ring,
                                   call="ring" if ring[1] else None))
                table.append(Layer(name + " mlp", s * finish, s * hidden))
                continue
            table.append(Layer(name + " qkv, coarse", s * (start + compress), 0, s // block * 2 * c * 4, 1,
                               call="gather"))
            table.append(Layer(name + " ball", s * 4 * c * ball, s * h * ball))
            table.append(Layer(name + " compressed, choice", s * compressed,
                               s * h * (n_slot // block / (block if coarse_queries else 1))))
            table.append(Layer(name + " selected, mlp", s * (4 * c * choice * block + finish),
                               s * (h * choice * block + 3 * h + hidden), *most_fetched[rank], call="rows"))
        table.append(Layer("pred_head", own * 2 * c * (c + 1)))
        table.append(rows("outputs to solver order", own * 4))
        tables.append(table)
    return tables


def fetches(slots, block, group, h, choice, reply):
    """The most bytes and collectives with which each rank fetches chosen blocks: k blocks of every group and head, no
    more than there are."""
    size = len(slots)
    choices, pairs = [s // group * h * choice for s in slots], [s // block * h for s in slots]
    kinds = collections.Counter(zip(choices, pairs))  # ranks have at most two sizes

    def asked(owner):
        return sum(count * min(c, pairs[owner]) for (c, _), count in kinds.items()) - min(choices[owner], pairs[owner])

    def requested(rank):
        of_all = sum(count * min(choices[rank], p) for (_, p), count in kinds.items())
        return min(choices[rank], of_all - min(choices[rank], pairs[rank]))

    rounds = max(-(-asked(r) // max(1, min(asked(r), pairs[r]))) for r in (0, size - 1))
    return [(8 * (size + 1) + 4 * requested(r) + reply * asked(r), 3 + rounds) for r in range(size)]


def erwin(network, n, size, given, reproducible=False, ghosts=None):
    """Erwin. ghosts (rank): points of this rank that others read, counted once for each, and ranks that read them."""
    width, balls, strides = network["c_hidden"], network["ball_sizes"], network["strides"]
    d = network["dimensionality"]
    fine, unit = 1, 1
    for level, ball in enumerate(balls):
        unit = max(unit, ball * fine)
        fine *= strides[level] if level < len(strides) else 1
    n_slot = tree_slots(n, max(2, fine))
    begins = block_begins(n_slot, max(min(balls[0], n_slot), min(unit, n_slot)), size)
    c, k = width[0], network["neighbors"]
    any_ghost = 1 if ghosts and any(g[0] for g in ghosts) else 0
    tables = []
    for rank in range(size):
        s = begins[rank + 1] - begins[rank]
        own = points_before(begins[rank + 1], n, n_slot) - points_before(begins[rank], n, n_slot)
        n_point, sent = given[rank], ghosts[rank] if ghosts else (0, 0)
        table = [error_flag, Layer("embed.embed_fn", n_point * 2 * c * network["c_in"])]
        for step in range(network["mp_steps"]):
            table.append(Layer(f"embed.mpnn step {step}", n_point * k * 2 * c * (2 * c + d) + n_point * 4 * c * c,
                               n_point * k * c, sent[0] * c * 4, any_ghost, sent[1], "neighbors"))
        table.append(rows("points to tree order", n_point * c * 4))

        def stage(name, level, heads, depth):
            slots = s // math.prod(strides[:level])
            w, ball, hidden = width[level], balls[level], network["mlp_ratio"] * width[level]
            for block in range(depth):
                turned = 2 if block % 2 and network.get("rotate", 0) > 0 and size > 1 else 0
                flops = slots * (8 * w * w + 2 * d * w + 4 * w * ball + 6 * w * hidden)
                table.append(Layer(f"{name}blocks.{block}", flops, slots * (heads * ball + hidden),
                                   turned * slots * w * 4, turned, call="rows" if turned else None))

        last = len(width) - 1
        for level in range(last + 1):
            stage("bottleneck." if level == last else f"encoder.{level}.", level, network["enc_num_heads"][level],
                  network["enc_depths"][level])
            if level < last:
                pooled, stride = s // math.prod(strides[:level + 1]), strides[level]
                table.append(Layer(f"pool {level}", pooled * 2 * width[level + 1] * stride * (width[level] + d)))
        for level in reversed(range(last)):
            pooled, stride = s // math.prod(strides[:level + 1]), strides[level]
            flops = pooled * 2 * stride * width[level] * (width[level + 1] + stride * d)
            table.append(Layer(f"unpool {level}", flops))
            stage(f"decoder.{last - 1 - level}.", level, network["dec_num_heads"][level], network["dec_depths"][level])
        table.append(Layer("pred_head", own * 2 * c * (c + network["c_out"]), own * c))
        table.append(rows("outputs to solver order", own * network["c_out"] * 4))
        tables.append(table)
    return tables


def nearest_ghosts(x, n_axis, k, owner, size):
    """(rows that each rank sends, ranks that it sends to) when every point reads its k nearest points, itself among
    them."""
    n, cells = len(owner), collections.defaultdict(list)
    edge = max(1, round((n / 2) ** (1 / n_axis)))
    points = [tuple(x[n_axis * i:n_axis * (i + 1)]) for i in range(n)]
    for i, p in enumerate(points):
        cells[tuple(min(edge - 1, int(v * edge)) for v in p)].append(i)
    read = [set() for _ in range(n)]  # ranks that read a point, besides its own
    for i, p in enumerate(points):
        home, reach = [min(edge - 1, int(v * edge)) for v in p], 1
        while True:
            near = []
            for cell in box(home, reach, edge):
                near += [(sum((a - b) ** 2 for a, b in zip(p, points[j])), j) for j in cells[cell]]
            near.sort()
            if len(near) >= k and near[k - 1][0] <= (reach / edge) ** 2 or reach >= edge:
                break
            reach += 1
        for _, j in near[:k]:
            if owner[j] != owner[i]:
                read[j].add(owner[i])
    items, readers = [0] * size, [set() for _ in range(size)]
    for j in range(n):
        items[owner[j]] += len(read[j])
        readers[owner[j]] |= read[j]
    return [(items[r], len(readers[r])) for r in range(size)]


def box(home, reach, edge):
    """Cells at most `reach` away, in each direction."""
    ranges = [range(max(0, v - reach), min(edge, v + reach + 1)) for v in home]
    cells = [()]
    for r in ranges:
        cells = [cell + (v,) for cell in cells for v in r]
    return cells


# ---- Sequoia ----

def sequoia(network, n, size, given, reproducible=False):
    """Ranks own the nodes of one level and all below; every rank computes the levels from there on."""
    k, dim = network.get("k", 16), network.get("transformer_dim", 128)
    hidden = network.get("transformer_hidden_dim", 128)
    heads, head_dim = network.get("num_head", 4), network.get("head_dim", 128)
    c_in, d = network.get("c_in", 64), network.get("dimensionality", 3)
    inner = heads * head_dim
    levels = [n]
    while levels[-1] > 1:
        levels.append((levels[-1] - 1) // k + 1)

    def highest(nodes):
        return max([level for level, m in enumerate(levels) if m >= nodes], default=0)

    def most_held(cut):
        own, held = -(-levels[cut] // size), sum(levels[cut:])
        for level in reversed(range(cut)):
            own = min(own * k, levels[level])
            held += own
        return held

    cut = highest(8 * size) or highest(size)
    cut = max(cut, min(1, len(levels) - 1))
    while cut + 1 < len(levels) and 8 * most_held(cut + 1) < 7 * most_held(cut):
        cut += 1
    tables = []
    for rank in range(size):
        own = [None] * (cut + 1)
        own[cut] = balanced(levels[cut], rank, size)
        for level in reversed(range(cut)):
            own[level] = tuple(min(v * k, levels[level]) for v in own[level + 1])
        held = [own[level][1] - own[level][0] if level < cut else levels[level] for level in range(len(levels))]
        pairs = heads * sum(m * (len(levels) - 1 - level + min(k, levels[level])) + (held[level - 1] if level else 0)
                            for level, m in enumerate(held))
        shared, leaves = own[cut][1] - own[cut][0], own[0][1] - own[0][0]
        gathers = 1 if cut else 0
        embedding = leaves * (2 * d * (c_in // 2) + 2 * c_in * dim)
        table = [error_flag, rows("inputs to the leaves", given[rank] * d * 4),
                 Layer("embedding, means", embedding, 0, shared * dim * 4, 1, call="gather")]
        for layer in range(network.get("num_layers", 4)):
            products = sum(held) * (4 * 2 * dim * inner + 2 * 2 * dim * hidden)
            table.append(Layer(f"layer {layer}", products + 4 * head_dim * pairs, pairs,
                               gathers * shared * inner * 4, gathers, call="gather"))
        table.append(Layer("head", leaves * (2 * dim * hidden + 2 * hidden)))
        table.append(rows("outputs to solver order", leaves * 4))
        tables.append(table)
    return tables


# ---- HEPT ----

def as_float(value):
    return struct.unpack("f", struct.pack("f", value))[0]


def region_size(r, n):
    """Points of a region when a cloud of n is divided into about r; rounded as the official code does."""
    if n <= 1 or r <= 1:
        return max(1, n)
    if n >= 1 << 24:
        return max(1, math.ceil(n / r))
    return max(1, math.ceil(as_float(as_float(1 / as_float(r)) * n)))


def region_numbers(network):
    """Of each row (table, head): regions along coordinates 0 and 1. As model_case.cpp makes them."""
    heads, found = network["num_heads"], []
    for table in range(network["n_hashes"]):
        for head in range(heads):
            both = []
            for axis in range(2):
                i = (table * 2 + axis) * heads + head
                along = 6 + (5 * (i // (2 * heads)) + 3 * (i % heads)) % 19
                both.append(as_float(round_away(3 * (along if axis == 0 else network["num_regions"] / along)) / 3))
            found.append(both)
    return found


def round_away(value):
    return math.floor(value + 0.5)


class Tokens:
    """Tokens of HEPT on ranks: which are ghosts where, from coordinates 0 and 1 of the points (lists of floats)."""

    def __init__(self, network, first, second, size):
        n, block = len(first), network["block_size"]
        self.n, self.size, self.heads = n, size, network["num_heads"]
        self.begins = block_begins(n, block, size)
        by_first = positions_of(first)
        self.by_second = positions_of(second)
        self.home = [self.rank_of(position) for position in self.by_second]
        self.rows = [self.cells(by_first, regions) for regions in region_numbers(network)]

    def rank_of(self, position):
        """Rank of a position. Blocks are distributed in order, so the guess is off by one rank at most."""
        rank = min(self.size - 1, position * self.size // self.n)
        while position < self.begins[rank]:
            rank -= 1
        while position >= self.begins[rank + 1]:
            rank += 1
        return rank

    def cells(self, by_first, regions):
        """Cells of a row in the order of its sorted positions: (first position, points)."""
        sizes = [region_size(r, self.n) for r in regions]
        members = collections.defaultdict(list)
        for i in range(self.n):
            members[self.by_second[i] // sizes[1], by_first[i] // sizes[0]].append(i)
        position, cells = 0, []
        for key in sorted(members):
            cells.append((position, members[key]))
            position += len(members[key])
        return cells

    def exchanged(self):
        """For each pair of ranks (from, to): points that are ghosts at `to`, and for each head the (point, table) that
        it may compute."""
        ghosts = collections.defaultdict(set)
        parts = collections.defaultdict(lambda: [0] * self.heads)
        for row, cells in enumerate(self.rows):
            for position, points in cells:
                first, last = self.rank_of(position), self.rank_of(position + len(points) - 1)
                if first == last and all(self.home[p] == first for p in points):
                    continue
                for p in points:
                    for to in range(first, last + 1):
                        if to != self.home[p]:
                            ghosts[self.home[p], to].add(p)
                            parts[self.home[p], to][row % self.heads] += 1
        return ghosts, parts


def positions_of(values):
    """Position of each value in ascending order, ties by number."""
    order = sorted(range(len(values)), key=lambda i: (values[i], i))
    positions = [0] * len(values)
    for position, i in enumerate(order):
        positions[i] = position
    return positions


def hept(network, n, size, given, reproducible=False, exchanged=None):
    """HEPT. exchanged: of Tokens, or None on one rank."""
    d, heads, hashes, block = network["h_dim"], network["num_heads"], network["n_hashes"], network["block_size"]
    ghosts, parts = exchanged or ({}, {})
    sent, ghosts_held, messages = [0] * size, [0] * size, [0] * size
    for (home, to), points in ghosts.items():
        sent[home] += len(points) * d
        ghosts_held[to] += len(points)
        messages[home] += 1
        for count in parts[home, to]:
            sent[to] += count * (d + 1)
            messages[to] += count > 0
    begins = block_begins(n, block, size)
    collectives = 1 + heads if ghosts else 0
    tables = []
    for rank in range(size):
        own = begins[rank + 1] - begins[rank]
        pairs = (own // block * block * block + (own % block) ** 2) * hashes * heads
        exchange = sent[rank] * 4, collectives, messages[rank]
        tables.append(hept_table(network, given[rank], own, own + ghosts_held[rank], pairs, exchange))
    return tables


def hept_table(network, given, own, tokens, pairs, exchange):
    d, heads, hashes = network["h_dim"], network["num_heads"], network["n_hashes"]
    m, query, wide = d // 2, d + network["coords_dim"], 256
    table = [error_flag, rows("inputs to owner ranks", given * network["in_dim"] * 4),
             Layer("encoder", 2 * own * (network["in_dim"] * d + d * d))]
    flops = 2 * (tokens * (3 * heads * d * d + 2 * heads * query * hashes) + pairs * (query + d)
                 + own * (heads * d * d + 2 * d * d))
    for layer in range(network["n_layers"]):
        table.append(Layer(f"layer {layer}", flops, pairs, *exchange, "neighbors" if exchange[1] else None))
    token = (network["n_layers"] + 1) * d * m + 2 * wide * m + 3 * wide * wide
    table.append(Layer("output MLP", 2 * own * token, own * 4 * wide))
    table.append(rows("outputs to solver order", own * m * 4))
    return table


# ---- sphere ----

def sphere(facts, size, partition="contiguous"):
    """A layer of attention with one head on an equiangular grid. Every rank computes whole rows,
    and gets the inputs of the rows that they attend to. Where rows near the poles are divided
    between ranks, it gets the keys and values of these rows and the queries of its share, and
    returns their averages."""
    n_lat, n_lon, c, is_global = facts["n_lat"], facts["n_lon"], facts["channels"], facts["is_global"]
    cutoff = 1.001 * 7 * math.sqrt(math.pi) / (n_lat - 1)
    near = [(0, n_lat, n_lat * n_lon, 0)] * n_lat if is_global else neighborhoods(n_lat, n_lon, cutoff)
    project = 8 * c * c
    pair_cost = [n_lon * (3 * 2 * c + 20) * near[row][3] for row in range(n_lat)]
    cost = [n_lon * project + pair_cost[row] for row in range(n_lat)]
    blocks = solver_blocks(partition, n_lat, n_lon, size)
    bands, shares_ = choose_bands(cost, None if is_global else pair_cost, blocks, n_lon, c)
    of_bands = [(begin * n_lon, end * n_lon) for begin, end in bands]
    points = shares_ or of_bands
    reached = [(near[begin // n_lon][0], near[-(-end // n_lon) - 1][1]) if begin < end else (0, 0)
               for begin, end in points]
    tables, block_rows, needed_rows = [], Rows(blocks), Rows(bands if shares_ else reached)
    reached_rows, share_points, band_points = Rows(reached), Rows(points), Rows(of_bands)
    for rank in range(size):
        begin, end = bands[rank]
        pairs = sum(near[row][2] * columns for row, columns in row_parts(points[rank], n_lon))
        width = blocks[rank][3] - blocks[rank][2]
        inward = [common * width for r, common in needed_rows.common(blocks[rank]) if r != rank]
        outward = [common * (blocks[r][3] - blocks[r][2]) for r, common in block_rows.common(bands[rank]) if r != rank]
        flops = (end - begin) * n_lon * project + 4 * c * pairs
        attention = [Layer("attention", flops, pairs)]
        if shares_:
            sent = collections.Counter()  # points whose queries, or keys and values, go to a rank
            for r, common in share_points.common(of_bands[rank]):
                sent[r] += common
            for r, common in reached_rows.common(bands[rank]):
                sent[r] += common * n_lon
            del sent[rank]
            returned = [common for r, common in band_points.common(points[rank]) if r != rank]
            keys = exchange("attention", list(sent.values()), 8 * c)
            attention = [keys._replace(flops=flops, exponentials=pairs),
                         exchange("attention averages", returned, 4 * c)]
        tables.append([Layer("status of inputs", bytes=8, collectives=1, call="reduce"),
                       exchange("rows of the input", inward, 4 * c), *attention,
                       exchange("rows of the output", outward, 4 * c)])
    for line in range(len(tables[0])):  # an exchange in which no rank has a message is none
        if all(table[line].messages == 0 for table in tables) and tables[0][line].call == "neighbors":
            for table in tables:
                table[line] = table[line]._replace(collectives=0, call=None)
    return tables


class Rows:
    """Ranges of rows of all ranks."""

    def __init__(self, ranges):
        self.ranges = sorted((r[0], r[1], rank) for rank, r in enumerate(ranges) if r[0] < r[1])
        self.longest = max(end - begin for begin, end, _ in self.ranges)

    def common(self, rows):
        """(rank, rows in common) of the ranks that have some of these."""
        first = bisect.bisect(self.ranges, (rows[0] - self.longest,))
        for begin, end, rank in self.ranges[first:bisect.bisect(self.ranges, (rows[1],))]:
            if overlap(rows, (begin, end)):
                yield rank, overlap(rows, (begin, end))


def overlap(a, b):
    return max(0, min(a[1], b[1]) - max(a[0], b[0]))


def row_parts(points, n_lon):
    """(row, columns) of a range of row * n_lon + column."""
    for row in range(points[0] // n_lon, -(-points[1] // n_lon)):
        yield row, overlap(points, (row * n_lon, (row + 1) * n_lon))


def exchange(name, points, width):
    return Layer(name, 0, 0, sum(points) * width, 1, len(points), "neighbors")


def neighborhoods(n_lat, n_lon, radius):
    """Of each row: first and last row within the radius, points there, and the estimate of them by which rows are distributed."""
    step, found = math.pi / (n_lat - 1), []
    for row in range(n_lat):
        reach = int(radius / step)
        first, last = max(0, row - reach), min(n_lat, row + reach + 1)
        points, estimate = 0, 0
        for other in range(first, last):
            sines = math.sin(row * step) * math.sin(other * step)
            rest = math.cos(radius) - math.cos(row * step) * math.cos(other * step)
            half = math.acos(max(-1, min(1, rest / sines))) if sines > 1e-12 else math.pi
            points += min(n_lon, 2 * int(half / (2 * math.pi) * n_lon) + 1)
            estimate += max(1, half / math.pi * n_lon)
        found.append((first, last, points, estimate))
    return found


def solver_blocks(partition, n_lat, n_lon, size):
    """Rows and columns of each rank: (first row, end, first column, end)."""
    if partition != "scattered":
        return [(uneven if partition == "uneven" else balanced)(n_lat, rank, size) + (0, n_lon) for rank in range(size)]
    bands = max(n for n in range(1, size + 1) if n * n <= size and size % n == 0)
    sectors = size // bands
    return [balanced(n_lat, rank // sectors, bands) + balanced(n_lon, rank % sectors, sectors) for rank in range(size)]


def choose_bands(cost, pair_cost, blocks, n_lon, n_channel):
    """Bands and shares: the solver's rows, or those of least largest cost if that saves more time
    than moving the fields takes. Rows are divided if that lowers the largest cost by a tenth;
    shares (None: no row is divided) are ranges of row * n_lon + column."""
    even, shares_ = balanced_bands(cost, blocks), None
    largest = lambda bands: max(sum(cost[begin:end]) for begin, end in bands)
    most = largest(even)
    if pair_cost:
        bands, points = divided_bands(cost, pair_cost, blocks, n_lon)
        divided = max(sum(cost[row] - pair_cost[row] for row in range(*band)) +
                      sum(pair_cost[row] * columns for row, columns in row_parts(share, n_lon)) / n_lon
                      for band, share in zip(bands, points))
        if any(begin % n_lon for begin, _ in points) and 1.1 * divided < most:
            even, shares_, most = bands, points, divided
    if any(block[3] - block[2] != n_lon for block in blocks if block[0] < block[1]):
        return even, shares_
    solver = [block[:2] for block in blocks]
    moved = max(b[1] - b[0] - overlap(a, b) for a, b in zip(solver, even))
    gain, price = (largest(solver) - most) / 3e10, moved * n_lon * n_channel * 4 / 2e9
    return (solver, None) if gain <= price else (even, shares_)


def divided_bands(cost, pair_cost, blocks, n_lon):
    """Rows whose pairs cost more than half of the mean of a rank may be cut at multiples of 16
    columns; their other cost stays with the rank of column 0."""
    heavy, column = sum(cost) / len(blocks) / 2, [pairs / n_lon for pairs in pair_cost]
    least = [total - pairs + min(n_lon, 16) * pairs / n_lon if pairs > heavy else total
             for total, pairs in zip(cost, pair_cost)]

    def fitting(row, n, room):
        if n * column[row] <= room:
            return n
        return max(0, int(room / column[row])) // 16 * 16 if pair_cost[row] > heavy else 0

    def fill(limit):
        row, taken, ends = 0, 0, []
        for _ in blocks:
            total = 0
            while row < len(cost):
                points = 0 if taken else cost[row] - pair_cost[row]
                n = fitting(row, n_lon - taken, limit - total - points)
                if n == 0:
                    break
                total += points + n * column[row]
                taken += n
                if taken < n_lon:
                    break
                row, taken = row + 1, 0
            ends.append(row * n_lon + taken)
        return ends if row == len(cost) else None

    ends = fill(least_limit(max(least), sum(cost) * (1 + 1e-12), fill))
    shares_ = [None] * len(blocks)
    for rank, begin, end in in_order(blocks, len(cost), ends):
        shares_[rank] = begin, end
    return [(-(-begin // n_lon), -(-end // n_lon)) for begin, end in shares_], shares_


def balanced_bands(cost, blocks):
    def fill(limit):
        row, ends = 0, []
        for _ in blocks:
            total = 0
            while row < len(cost) and total + cost[row] <= limit:
                total += cost[row]
                row += 1
            ends.append(row)
        return ends if row == len(cost) else None

    ends = fill(least_limit(max(cost), sum(cost) * (1 + 1e-12), fill))
    bands = [None] * len(blocks)
    for rank, begin, end in in_order(blocks, len(cost), ends):
        bands[rank] = begin, end
    return bands


def least_limit(low, high, fill):
    if fill(low):
        return low
    for _ in range(40):
        if high <= low:
            break
        middle = (low + high) / 2
        low, high = (low, middle) if fill(middle) else (middle, high)
    return high


def in_order(blocks, n_lat, ends):
    """(rank, begin, end), ranks from north to south."""
    def place(rank):
        first, end = blocks[rank][:2]
        return (first + end if first < end else 2 * n_lat), rank

    return zip(sorted(range(len(blocks)), key=place), [0] + ends[:-1], ends)


# ---- all ----

def tables(name, facts, n, size, partition="contiguous", reproducible=False):
    """The tables of a case of many_ranks, exactly: for small clouds."""
    if name in ("neighborhood", "global"):
        return sphere(dict(facts, is_global=name == "global"), size, partition)
    given = solver_points(partition, n, size)
    if name == "flare":
        return flare(facts, n, size, given, reproducible)
    network = facts["network"]
    if name == "erwin":
        ghosts = nearest_ghosts(facts["x"], 3, network["neighbors"], owners(partition, n, size), size)
        return erwin(network, n, size, given, reproducible, ghosts)
    if name == "hept":
        x, width = facts["x"], network["coords_dim"]
        tokens = Tokens(network, [as_float(v) for v in x[0::width]], [as_float(v) for v in x[1::width]], size)
        return hept(network, n, size, given, reproducible, tokens.exchanged())
    return {"sequoia": sequoia}.get(name, bsa)(network, n, size, given, reproducible)
