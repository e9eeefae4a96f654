// SPDX-License-Identifier: Apache-2.0
#include "embedding_score.hpp"

#include <algorithm>
#include <numeric>

#include "exchange.hpp"
#include "neighborhood.hpp"
#include "tracks.hpp"
#include "tree.hpp"

namespace tracking {

namespace {

constexpr std::size_t max_scored = 10000, n_nearest = 64;

/// A hit with its truth.
struct Scored {
    Node node;
    int64_t particle;
    int32_t n_of_particle;
    double momentum;
};

/// Sums over hits, or over events.
struct Sums {
    double accuracy = 0, average_precision = 0, n = 0;
};

/// Adds the scores of one hit. is_match [nearest hits]: of the hit's particle; k other hits.
void add(const std::vector<bool>& is_match, int64_t k, Sums* sums) {
    double n_match = 0, precision = 0;
    for (std::size_t j = 0; j < is_match.size(); ++j) {
        if (!is_match[j]) continue;
        n_match += 1;
        precision += n_match / double(j + 1);
        if (int64_t(j) < k) sums->accuracy += 1 / double(k);
    }
    sums->average_precision += precision / double(k);
    sums->n += 1;
}

/// Returns the sums over the hits of one event, all of them in *hits.
Sums sums_of(const std::vector<Scored>& hits, int width, double min_momentum) {
    std::vector<Node> nodes;
    std::vector<std::size_t> all(hits.size()), scored;
    std::iota(all.begin(), all.end(), 0u);
    for (std::size_t i = 0; i < hits.size(); ++i) {
        nodes.push_back(hits[i].node);
        if (hits[i].particle >= 0 && hits[i].n_of_particle >= int32_t{min_hits} &&
            hits[i].momentum > min_momentum)
            scored.push_back(i);
    }
    Sums sums;
    const Points points{nodes, all.data(), all.size()};
    const Tree tree(width, points);
    std::vector<uint32_t> nearest(n_nearest + 1);
    std::vector<float> distance(n_nearest + 1);
    const std::size_t stride = 1 + scored.size() / (max_scored + 1);
    for (std::size_t s = 0; s < scored.size(); s += stride) {
        const std::size_t i = scored[s];
        const std::size_t n =
            tree.knnSearch(nodes[i].place, n_nearest + 1, nearest.data(), distance.data());
        std::vector<bool> is_match;
        for (std::size_t j = 0; j < n; ++j)
            if (nearest[j] != i) is_match.push_back(hits[nearest[j]].particle == hits[i].particle);
        is_match.resize(std::min(is_match.size(), n_nearest));
        add(is_match, hits[i].n_of_particle - 1, &sums);
    }
    return sums;
}

/// Returns the hits of the events that this rank scores, by event and id. Collective.
std::vector<Scored> events_of(MPI_Comm comm, const std::vector<Hit>& hits,
                              const Embedding& embedding) {
    const std::vector<Node> nodes = nodes_of(hits, embedding);
    std::vector<Scored> rows;
    for (std::size_t i = 0; i < hits.size(); ++i)
        rows.push_back({nodes[i], hits[i].particle, hits[i].n_of_particle, hits[i].momentum});
    return rows_by_event(
        comm, rows, [](const Scored& row) { return row.node.event; },
        [](const Scored& row) { return row.node.id; });
}

}  // namespace

EmbeddingScore embedding_score(MPI_Comm comm, const std::vector<Hit>& hits,
                               const Embedding& embedding, double min_momentum) {
    const std::vector<Scored> mine = events_of(comm, hits, embedding);
    double sums[4] = {};  // accuracy, average precision, events, hits
    for (auto first = mine.begin(); first != mine.end();) {
        const auto last = std::find_if(
            first, mine.end(), [&](const Scored& s) { return s.node.event != first->node.event; });
        const Sums event = sums_of({first, last}, int(embedding.width), min_momentum);
        if (event.n > 0) {
            sums[0] += event.accuracy / event.n;
            sums[1] += event.average_precision / event.n;
            sums[2] += 1;
            sums[3] += event.n;
        }
        first = last;
    }
    MPI_Allreduce(MPI_IN_PLACE, sums, 4, MPI_DOUBLE, MPI_SUM, comm);
    const double n_event = std::max(1.0, sums[2]);
    return {sums[0] / n_event, sums[1] / n_event, int64_t(sums[3])};
}

}  // namespace tracking
