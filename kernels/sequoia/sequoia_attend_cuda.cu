// SPDX-License-Identifier: Apache-2.0
// Attention on a tree. A warp processes one head of a tile of 16 rows. Keys are read 16 at a time,
// from its own tile or gathered row by row. Sums over keys stay in registers.
#include <limits>
#include <type_traits>

#include "kernels/attention/softmax_cuda.cuh"
#include "kernels/device/products.cuh"
#include "kernels/linear/linear_cuda.hpp"
#include "kernels/sequoia/sequoia_launch.cuh"

namespace surrogate::kernels::sequoia::cuda {
namespace {

constexpr int n_warp = 4;  // per block
constexpr int most_groups = static_cast<int>(largest_head / 8);

/// Operations of a warp on one head of rows of operands. `full`: the head's groups if they are
/// known when this is compiled, so that no branch keeps loads from running ahead of products; 0
/// otherwise.
template <Operand operand, int full>
struct Head {
    using P = Products<operand>;
    using Piece = typename P::Piece;
    /// Data of one row of a piece in a lane.
    using Half = std::conditional_t<is_wide(operand), uint2, uint32_t>;

    const TreeOperands& nodes;
    int lane, g, t;
    int n_group;                // per head
    int64_t query, key, value;  // first groups

    __device__ Head(const TreeOperands& nodes_, int head)
        : nodes(nodes_),
          lane(static_cast<int>(threadIdx.x) % 32),
          g(lane / 4),
          t(lane % 4),
          n_group(full > 0 ? full : nodes_.head_groups),
          query(static_cast<int64_t>(head) * n_group),
          key(query + static_cast<int64_t>(nodes_.n_head) * n_group),
          value(key + static_cast<int64_t>(nodes_.n_head) * n_group) {}

    __device__ int groups() const { return full > 0 ? full : n_group; }

    /// Offsets of a lane's halves of two rows in group 0; -1: the row does not exist.
    struct Rows {
        int64_t first, second;
    };
    __device__ int64_t place(int64_t row) const {
        if (row < 0) return -1;
        const int64_t r = row % tile_rows;
        return (row / tile_rows * nodes.n_group * 32 + r % 8 * 4 + t) * 2 + r / 8;
    }
    /// Returns the offsets of the rows that the lane holds: g and g + 8 of 16 rows given by
    /// row_at(0 .. 15).
    template <class RowAt>
    __device__ Rows rows(const RowAt& row_at) const {
        return {place(row_at(g)), place(row_at(g + 8))};
    }
    __device__ Half half(int64_t place, int64_t group) const {
        // A row that does not exist reads another one: no branch, so that loads run ahead.
        const Half from = static_cast<const Half*>(nodes.qkv)[max(place, int64_t{0}) + group * 64];
        return place < 0 ? Half{} : from;
    }
    __device__ Piece piece(const Rows& rows, int64_t group) const {
        const Half a = half(rows.first, group), b = half(rows.second, group);
        if constexpr (is_wide(operand)) {
            return make_uint4(a.x, a.y, b.x, b.y);
        } else {
            return make_uint2(a, b);
        }
    }

    /// Computes the scores of 16 rows and 16 keys: s[0] of keys 0 .. 7, s[1] of 8 .. 15; hidden
    /// pairs get -infinity. weight(row, key) is added to a score; -infinity hides it.
    template <class Weight>
    __device__ void score(const Rows& queries, const Rows& keys, const Weight& weight,
                          float (&s)[2][4]) const {
#pragma unroll
        for (int i = 0; i < 4; ++i) s[0][i] = s[1][i] = 0;
        for (int c = 0; c < groups(); ++c)
            P::scores(s[0], s[1], piece(queries, query + c), piece(keys, key + c));
#pragma unroll
        for (int j = 0; j < 2; ++j) {
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                const float w = weight(g + i / 2 * 8, 8 * j + 2 * t + i % 2);
                s[j][i] = w == -infinity ? w : s[j][i] + w;
            }
        }
    }

    static constexpr float infinity = std::numeric_limits<float>::infinity();

    /// Computes y (16 rows, head) += softmax of all keys, 16 at a time: keys(chunk) returns their
    /// rows, weight(chunk, row, key) their weights. A row without visible keys adds 0.
    template <class Keys, class Weight>
    __device__ void attend(const Rows& queries, int n_chunk, const Keys& keys, const Weight& weight,
                           float (&y)[most_groups][4]) const {
        float s[2][4];
        float maximum[2] = {-infinity, -infinity}, sum[2] = {};
        for (int chunk = 0; chunk < n_chunk; ++chunk) {
            score(
                queries, keys(chunk), [&](int r, int k) { return weight(chunk, r, k); }, s);
#pragma unroll
            for (int r = 0; r < 2; ++r) {
                const float before = maximum[r];
                float highest = before;
#pragma unroll
                for (int j = 0; j < 2; ++j)
                    highest = fmaxf(highest, fmaxf(s[j][2 * r], s[j][2 * r + 1]));
                const float m = maximum[r] = max_of_quad(highest);
                float added = 0;
#pragma unroll
                for (int j = 0; j < 2; ++j)
                    added += power(s[j][2 * r], m) + power(s[j][2 * r + 1], m);
                sum[r] = sum[r] * power(before, m) + sum_of_quad(added);
            }
        }
        const float share[2] = {share_of(sum[0]), share_of(sum[1])};
        for (int chunk = 0; chunk < n_chunk; ++chunk) {
            const Rows rows = keys(chunk);
            if (n_chunk > 1)
                score(
                    queries, rows, [&](int r, int k) { return weight(chunk, r, k); }, s);
#pragma unroll
            for (int j = 0; j < 2; ++j) {
#pragma unroll
                for (int i = 0; i < 4; ++i) s[j][i] = power(s[j][i], maximum[i / 2]) * share[i / 2];
            }
            const auto left = P::left(s[0], s[1]);
#pragma unroll
            for (int c = 0; c < most_groups; ++c)
                if (c < groups()) P::weigh(y[c], left, P::transpose(piece(rows, value + c)));
        }
    }

    /// Returns 2^(score - maximum), 0 for hidden pairs; a NaN stays.
    __device__ static float power(float score, float maximum) {
        return score == -infinity ? 0.0F : fast_exp2(score - maximum);
    }
    __device__ static float share_of(float sum) {
        return sum == 0 ? 0.0F : fast_reciprocal(sum);
    }
};

/// Finds this warp's tile and head; returns false if there is none.
__device__ bool take_work(int64_t n_tile, int n_head, int64_t& tile, int& head) {
    const int64_t work =
        static_cast<int64_t>(blockIdx.x) * n_warp + static_cast<int64_t>(threadIdx.x) / 32;
    tile = work / n_head;
    head = static_cast<int>(work % n_head);
    return tile < n_tile;
}
unsigned blocks_of(int64_t n_tile, int64_t n_head) {
    return static_cast<unsigned>((n_tile * n_head + n_warp - 1) / n_warp);
}

template <Operand operand, int full>
__global__ void __launch_bounds__(32 * n_warp) attend_kernel(const AttendArgs args) {
    using Pass = Head<operand, full>;
    constexpr float infinity = Pass::infinity;
    int64_t tile;
    int head;
    if (!take_work(args.level.n_tile, args.nodes.n_head, tile, head)) return;
    const Pass pass(args.nodes, head);
    const DeviceLevel& level = args.level;
    const int k = static_cast<int>(args.k), width = width_of(args.k);
    const int64_t first_row = (level.first_tile + tile) * tile_rows;
    const auto exists = [&](int row) { return node_in(level, width, tile, row) >= 0; };
    const auto own = pass.rows([&](int row) { return first_row + row; });

    float y[most_groups][4] = {};
    if (args.n_ancestor > 0) {
        const int n_ancestor = args.n_ancestor, n_key = width / k * n_ancestor;
        const auto row_at = [&](int index) -> int64_t {
            const int group = index / n_ancestor, up = index % n_ancestor;
            int64_t node = -1;
            for (int r = group * k; r < group * k + k && node < 0 && index < n_key; ++r)
                node = node_in(level, width, tile, r);
            if (node < 0) return -1;
            for (int step = 0; step <= up; ++step) node /= k;
            return row_of(args.ancestors[static_cast<size_t>(up)], width, node);
        };
        pass.attend(
            own, (n_key + 15) / 16,
            [&](int chunk) { return pass.rows([&](int j) { return row_at(16 * chunk + j); }); },
            [&](int chunk, int row, int key) {
                const int index = 16 * chunk + key;
                const bool sees = index < n_key && index / n_ancestor == row / k && exists(row);
                return sees ? 0.0F : -infinity;
            },
            y);
    }
    if (args.has_siblings) {
        pass.attend(
            own, 1, [&](int) { return own; },
            [&](int, int row, int key) {
                const int64_t node = node_in(level, width, tile, key);
                if (node < 0 || !exists(row) || row / k != key / k) return -infinity;
                return node + 1 == level.n ? log2f(static_cast<float>(args.n_last)) : 0.0F;
            },
            y);
    }

    constexpr float third = 1.0F / 3.0F;
    const int64_t first_child =
        ((level.first_tile + tile - args.first_tile) * pass.n_group * args.nodes.n_head +
         pass.query) *
            32 +
        pass.lane;
    auto* values = static_cast<typename Pass::Piece*>(args.nodes.qkv) +
                   ((level.first_tile + tile) * args.nodes.n_group + pass.value) * 32 + pass.lane;
#pragma unroll
    for (int c = 0; c < most_groups; ++c) {
        if (c >= pass.groups()) continue;
        if (args.children) {
            const float4 sum = reinterpret_cast<const float4*>(args.children)[first_child + c * 32];
            y[c][0] += sum.x;
            y[c][1] += sum.y;
            y[c][2] += sum.z;
            y[c][3] += sum.w;
        }
#pragma unroll
        for (int i = 0; i < 4; ++i) y[c][i] *= third;
        values[c * 32] = Pass::P::piece(y[c]);
    }
}

/// Processes a tile of parents, which are the queries: at most half a tile, with two children or
/// more each.
template <Operand operand, int full>
__global__ void __launch_bounds__(32 * n_warp, 4) children_kernel(const ChildrenArgs args) {
    using Pass = Head<operand, full>;
    constexpr float infinity = Pass::infinity;
    int64_t tile;
    int head;
    if (!take_work(args.children.n_tile, args.nodes.n_head, tile, head)) return;
    const Pass pass(args.nodes, head);
    const int k = static_cast<int>(args.k), width = width_of(args.k);
    const int64_t first_row = (args.children.first_tile + tile) * tile_rows;
    const int64_t first_parent = (args.children.origin + tile * width) / k;
    const auto parent_row = [&](int p) -> int64_t {
        const int64_t parent = first_parent + p;
        const bool exists =
            p < width / k && parent >= args.parents.begin && parent < args.parents.end;
        return exists ? row_of(args.parents, width, parent) : -1;
    };

    float y[most_groups][4] = {};
    const auto keys = pass.rows([&](int row) { return first_row + row; });
    pass.attend(
        pass.rows(parent_row), 1, [&](int) { return keys; },
        [&](int, int row, int key) {
            const int64_t node = node_in(args.children, width, tile, key);
            if (node < 0 || key / k != row) return -infinity;
            return node + 1 == args.children.n ? log2f(static_cast<float>(args.n_last)) : 0.0F;
        },
        y);

    // Parents are in rows 0 .. 7: this lane's parent is row g.
    const bool has_children = node_in(args.children, width, tile, pass.g * k) >= 0;
    const int64_t row = pass.g * k < width && has_children ? parent_row(pass.g) : -1;
    if (row < 0) return;
    const int64_t channels = static_cast<int64_t>(args.nodes.n_head) * pass.n_group * 8;
#pragma unroll
    for (int c = 0; c < most_groups; ++c) {
        if (c >= pass.groups()) continue;
        const int64_t channel = (pass.query + c) * 8 + 2 * pass.t;
        const int64_t at = fragment_index(row - args.first_tile * tile_rows, channel, channels);
        *reinterpret_cast<float2*>(args.to + at) = make_float2(y[c][0], y[c][1]);
    }
}

/// Heads of 128 channels, the model's own width, have an instance of their own for narrow operands;
/// wide ones have no registers for loads that run ahead.
template <class Body>
void with_head(Operand operand_, int head_groups, const Body& body) {
    with_operand(operand_, [&]<Operand operand>() {
        constexpr int full = is_wide(operand) ? 0 : most_groups;
        if (head_groups == most_groups) {
            body.template operator()<operand, full>();
        } else {
            body.template operator()<operand, 0>();
        }
    });
}

}  // namespace

void load_attention(Operand operand_) {
    const auto load = [&]<Operand operand, int full>() {
        check(allow_shared(attend_kernel<operand, full>, 0), "sequoia attend");
        check(allow_shared(children_kernel<operand, full>, 0), "sequoia children");
    };
    with_head(operand_, most_groups, load);
    with_head(operand_, 1, load);
}

void attend(const DeviceProperties&, const AttendArgs& args, Stream stream) {
    if (args.level.n_tile == 0) return;
    with_head(args.nodes.operand, args.nodes.head_groups, [&]<Operand operand, int full>() {
        SURROGATE_LAUNCH((attend_kernel<operand, full>),
                         blocks_of(args.level.n_tile, args.nodes.n_head), 32 * n_warp, 0, stream,
                         args);
    });
    check_launch("sequoia attend");
}

void children(const DeviceProperties&, const ChildrenArgs& args, Stream stream) {
    if (args.children.n_tile == 0) return;
    with_head(args.nodes.operand, args.nodes.head_groups, [&]<Operand operand, int full>() {
        SURROGATE_LAUNCH((children_kernel<operand, full>),
                         blocks_of(args.children.n_tile, args.nodes.n_head), 32 * n_warp, 0, stream,
                         args);
    });
    check_launch("sequoia children");
}

namespace {

void load(const DeviceProperties& device, Operand operand) {
    load_nodes();
    load_readout();
    load_linear(device, operand);
    load_attention(operand);
}

}  // namespace

const DeviceKernels& kernels() {
    static const DeviceKernels table = {
        begin,    average, mark,      surrogate::kernels::cuda::linear,
        children, attend,  pack,      unpack,
        end,      deliver, normalise, add_up,
        mean,     load};
    return table;
}

DeviceTable device_table() {
    static const DeviceKernels table = {
        &OnDevice<begin>::call,     &OnDevice<average>::call,
        &OnDevice<mark>::call,      &OnDevice<surrogate::kernels::cuda::linear>::call,
        &OnDevice<children>::call,  &OnDevice<attend>::call,
        &OnDevice<pack>::call,      &OnDevice<unpack>::call,
        &OnDevice<end>::call,       &OnDevice<deliver>::call,
        &OnDevice<normalise>::call, &OnDevice<add_up>::call,
        &OnDevice<mean>::call,      &OnDevice<load>::call};
    return {"sequoia", sizeof table, &table};
}

}  // namespace surrogate::kernels::sequoia::cuda
