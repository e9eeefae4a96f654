// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/domain/edges.hpp"

#include <algorithm>
#include <numeric>
#include <string>
#include <tuple>

#include "libsurrogate/src/ranks/send_rows.hpp"

namespace surrogate::impl {

namespace {

/// Which rank keeps the entry of an id. Ids of a mesh are often consecutive: the factor (2^64
/// divided by the golden ratio) spreads any of them.
int keeper_of(int64_t id, int n_rank) {
    const uint64_t mixed = static_cast<uint64_t>(id) * 0x9E3779B97F4A7C15ull;
    return static_cast<int>((mixed >> 32) % static_cast<uint64_t>(n_rank));
}

/// Owner rank and row of the point with an id.
struct Place {
    int64_t id = 0, rank = 0, row = 0;
};

/// The entries that this rank keeps.
class Directory {
public:
    /// Collective.
    Directory(Communicator& comm, std::span<const int64_t> ids) {
        std::vector<Place> own;
        comm.agree([&] {
            own.resize(ids.size());
            for (size_t i = 0; i < ids.size(); ++i)
                own[i] = {ids[i], comm.rank(), static_cast<int64_t>(i)};
        });
        places_ =
            send_rows(comm, own, [&](const Place& p) { return keeper_of(p.id, comm.size()); });
        comm.agree([&] {
            std::ranges::sort(places_, {}, &Place::id);
            const auto twin = std::ranges::adjacent_find(places_, {}, &Place::id);
            if (twin == places_.end()) return;
            throw Error(Status::invalid_argument,
                        "edges need points with different ids, but two points have id " +
                            std::to_string(twin->id));
        });
    }

    /// Throws if there is no such point; `end` names the end of the edge.
    const Place& at(int64_t id, const char* end) const {
        const auto place = std::ranges::lower_bound(places_, id, {}, &Place::id);
        if (place != places_.end() && place->id == id) return *place;
        throw Error(Status::invalid_argument, std::string("an edge has the ") + end + " " +
                                                  std::to_string(id) +
                                                  ", but no point of the domain has this id");
    }

private:
    std::vector<Place> places_;  // by ascending id
};

/// An edge on its way: what is known of its ends.
struct Edge {
    int64_t source_id = 0, target_id = 0;
    int64_t source_rank = 0, source_row = 0, target_rank = 0, target_row = 0;
};

Edges by_target(std::vector<Edge>& edges, size_t n_local) {
    std::ranges::sort(edges, {},
                      [](const Edge& e) { return std::tuple(e.target_row, e.source_id); });
    Edges result;
    result.first.assign(n_local + 1, 0);
    result.source_rank.reserve(edges.size());
    result.source_row.reserve(edges.size());
    result.source_id.reserve(edges.size());
    for (const Edge& edge : edges) {
        ++result.first[static_cast<size_t>(edge.target_row) + 1];
        result.source_rank.push_back(static_cast<int32_t>(edge.source_rank));
        result.source_row.push_back(edge.source_row);
        result.source_id.push_back(edge.source_id);
    }
    std::partial_sum(result.first.begin(), result.first.end(), result.first.begin());
    return result;
}

}  // namespace

Edges locate_edges(Communicator& comm, std::span<const int64_t> ids, const EdgeIds& given) {
    const Directory directory(comm, ids);
    std::vector<Edge> edges;
    comm.agree([&] {
        edges.resize(given.source.size());
        for (size_t i = 0; i < edges.size(); ++i) {
            edges[i].source_id = given.source[i];
            edges[i].target_id = given.target[i];
        }
    });
    const int n = comm.size();
    edges = send_rows(comm, edges, [&](const Edge& e) { return keeper_of(e.target_id, n); });
    comm.agree([&] {
        for (Edge& edge : edges) {
            const Place& place = directory.at(edge.target_id, "target");
            edge.target_rank = place.rank;
            edge.target_row = place.row;
        }
    });
    edges = send_rows(comm, edges, [&](const Edge& e) { return keeper_of(e.source_id, n); });
    comm.agree([&] {
        for (Edge& edge : edges) {
            const Place& place = directory.at(edge.source_id, "source");
            edge.source_rank = place.rank;
            edge.source_row = place.row;
        }
    });
    edges = send_rows(comm, edges, [](const Edge& e) { return static_cast<int>(e.target_rank); });
    Edges result;
    comm.agree([&] { result = by_target(edges, ids.size()); });
    return result;
}

}  // namespace surrogate::impl
