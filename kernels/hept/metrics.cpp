// SPDX-License-Identifier: Apache-2.0
#include "kernels/hept/metrics.hpp"

#include <algorithm>
#include <string>

#include "kernels/base/error.hpp"
#include "kernels/hept/nearest.hpp"

namespace surrogate::kernels::hept {
namespace {

void check_length(const char* what, size_t found, size_t expected) {
    if (found == expected) return;
    throw Error(Status::shape, std::string("metrics: ") + what + " of " + std::to_string(found) +
                                   " points, expected " + std::to_string(expected));
}

/// Returns the number of other hits of each point's particle.
std::vector<int64_t> other_hits(std::span<const int64_t> id) {
    std::vector<int64_t> sorted(id.begin(), id.end()), others(id.size());
    std::sort(sorted.begin(), sorted.end());
    for (size_t i = 0; i < id.size(); ++i) {
        const auto [begin, end] = std::equal_range(sorted.begin(), sorted.end(), id[i]);
        others[i] = end - begin - 1;
    }
    return others;
}

struct Judged {
    int32_t point;
    int64_t k;
};

/// Returns the points of scores for the lowest threshold, in order.
std::vector<Judged> judged_points(const HitTruth& truth, double pt_least, int64_t n_neighbor) {
    const std::vector<int64_t> others = other_hits(truth.id);
    std::vector<Judged> list;
    for (size_t i = 0; i < truth.id.size(); ++i) {
        const bool counts = truth.id[i] != 0 && truth.is_reconstructable[i] != 0 &&
                            static_cast<double>(truth.pt[i]) > pt_least && others[i] > 0;
        if (!counts) continue;
        if (others[i] > n_neighbor)
            throw Error(Status::limit, "metrics: particle " + std::to_string(truth.id[i]) +
                                           " has " + std::to_string(others[i] + 1) +
                                           " hits; scores from " + std::to_string(n_neighbor) +
                                           " neighbors allow at most " +
                                           std::to_string(n_neighbor + 1));
        list.push_back({static_cast<int32_t>(i), others[i]});
    }
    return list;
}

/// Adds one point to the sums of a score. nearest is (n_neighbor + 1).
void add_point(std::span<const int64_t> id, const Judged& judged, const int32_t* nearest,
               int64_t n_neighbor, TrackingScore& score) {
    int64_t n_match = 0, n_first = 0;
    for (int64_t j = 1; j <= n_neighbor && nearest[j] >= 0; ++j) {
        const bool is_match =
            id[static_cast<size_t>(nearest[j])] == id[static_cast<size_t>(judged.point)];
        n_match += is_match ? 1 : 0;
        if (j <= judged.k) n_first = n_match;
    }
    const auto k = static_cast<double>(judged.k);
    score.accuracy += static_cast<double>(n_first) / k;
    score.precision += static_cast<double>(n_match) / static_cast<double>(n_neighbor);
    score.recall += static_cast<double>(n_match) / k;
    ++score.n_point;
}

}  // namespace

template <class T>
std::vector<TrackingScore> tracking_scores(const Queue& queue, View<const T, 2> e,
                                           const HitTruth& truth, std::span<const double> pt_least,
                                           int64_t n_neighbor) {
    const auto n_point = static_cast<size_t>(e.shape[0]);
    check_length("particle ids", truth.id.size(), n_point);
    check_length("reconstructable flags", truth.is_reconstructable.size(), n_point);
    check_length("pt", truth.pt.size(), n_point);
    std::vector<TrackingScore> scores(pt_least.size());
    if (pt_least.empty()) return scores;
    const std::vector<Judged> judged =
        judged_points(truth, *std::min_element(pt_least.begin(), pt_least.end()), n_neighbor);
    std::vector<int32_t> queries;
    for (const Judged& point : judged) queries.push_back(point.point);
    std::vector<int32_t> nearest(judged.size() * static_cast<size_t>(n_neighbor + 1));
    nearest_points(queue, e, std::span<const int32_t>(queries), n_neighbor + 1,
                   std::span<int32_t>(nearest));
    for (size_t s = 0; s < scores.size(); ++s) {
        for (size_t i = 0; i < judged.size(); ++i) {
            const auto pt = static_cast<double>(truth.pt[static_cast<size_t>(judged[i].point)]);
            if (!(pt > pt_least[s])) continue;
            add_point(truth.id, judged[i],
                      nearest.data() + static_cast<int64_t>(i) * (n_neighbor + 1), n_neighbor,
                      scores[s]);
        }
        const auto n = static_cast<double>(std::max<int64_t>(1, scores[s].n_point));
        scores[s].accuracy /= n;
        scores[s].precision /= n;
        scores[s].recall /= n;
    }
    return scores;
}

template std::vector<TrackingScore> tracking_scores(const Queue&, View<const float, 2>,
                                                    const HitTruth&, std::span<const double>,
                                                    int64_t);
template std::vector<TrackingScore> tracking_scores(const Queue&, View<const double, 2>,
                                                    const HitTruth&, std::span<const double>,
                                                    int64_t);

}  // namespace surrogate::kernels::hept
