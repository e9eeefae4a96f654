// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/domain/ordered_edges.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

#include "libsurrogate/src/ranks/send_rows.hpp"

namespace surrogate::impl {

namespace {

/// Edge number `index` of its target.
struct Edge {
    int64_t target = 0;  ///< position
    int64_t source = 0;  ///< row, then position
    int32_t source_rank = 0, index = 0;
};

/// Returns the position of each point in the ordering of `route`. Collective.
std::vector<int64_t> positions_of(Communicator& comm, const RowRoute& route) {
    std::vector<int64_t> target, scratch, origin;
    comm.agree([&] {
        target.resize(static_cast<size_t>(route.target_rows().size()));
        std::iota(target.begin(), target.end(), route.target_rows().begin);
        scratch.resize(static_cast<size_t>(route.scratch_rows()));
        origin.resize(static_cast<size_t>(route.n_origin()));
        route.reserve(comm, sizeof(int64_t));
    });
    route.to_origin(comm, target.data(), scratch.data(), origin.data(), sizeof(int64_t));
    return origin;
}

/// The rank that holds a position.
int holder(std::span<const int64_t> begins, int64_t position) {
    return static_cast<int>(std::ranges::upper_bound(begins, position) - begins.begin()) - 1;
}

/// Sorts edges by target, then index.
Edges by_target(const std::vector<Edge>& list, Range own, std::span<const int64_t> begins) {
    Edges edges;
    edges.first.assign(static_cast<size_t>(own.size()) + 1, 0);
    edges.source_rank.resize(list.size());
    edges.source_row.resize(list.size());
    const auto row_of = [&](const Edge& edge) {
        return static_cast<size_t>(edge.target - own.begin);
    };
    for (const Edge& edge : list) ++edges.first[row_of(edge) + 1];
    std::partial_sum(edges.first.begin(), edges.first.end(), edges.first.begin());
    for (const Edge& edge : list) {
        const auto at = static_cast<size_t>(edges.first[row_of(edge)] + edge.index);
        edges.source_rank[at] = holder(begins, edge.source);
        edges.source_row[at] = edge.source - begins[static_cast<size_t>(edges.source_rank[at])];
    }
    return edges;
}

}  // namespace

Edges ordered_edges(Communicator& comm, const Edges& edges, const RowRoute& route,
                    std::span<const int64_t> begins) {
    const std::vector<int64_t> positions = positions_of(comm, route);
    std::vector<Edge> list;
    comm.agree([&] {
        list.reserve(edges.source_row.size());
        for (size_t i = 0; i < positions.size(); ++i)
            for (int64_t e = edges.first[i]; e < edges.first[i + 1]; ++e) {
                const auto at = static_cast<size_t>(e);
                list.push_back({positions[i], edges.source_row[at], edges.source_rank[at],
                                static_cast<int32_t>(e - edges.first[i])});
            }
    });
    list = send_rows(comm, list, [](const Edge& edge) { return edge.source_rank; });
    for (Edge& edge : list) edge.source = positions[static_cast<size_t>(edge.source)];
    list = send_rows(comm, list, [&](const Edge& edge) { return holder(begins, edge.target); });
    Edges result;
    comm.agree([&] { result = by_target(list, route.target_rows(), begins); });
    return result;
}

}  // namespace surrogate::impl
