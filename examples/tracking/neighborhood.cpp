// SPDX-License-Identifier: Apache-2.0
#include "neighborhood.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <stdexcept>

namespace tracking {

namespace {

/// Returns the ranks other than this one whose sectors are within the window of an azimuth.
std::vector<int> ranks_near(double azimuth, double window_rad, int rank, int n_rank) {
    constexpr double margin = 1e-9;  // for rounding
    const auto sector = [&](double a) {
        return static_cast<int>(
            std::floor((a + std::numbers::pi) / (2 * std::numbers::pi) * n_rank));
    };
    const int first = sector(azimuth - window_rad - margin);
    const int last = std::min(sector(azimuth + window_rad + margin), first + n_rank - 1);
    std::vector<int> ranks;
    for (int s = first; s <= last; ++s)
        if (const int near = ((s % n_rank) + n_rank) % n_rank; near != rank) ranks.push_back(near);
    return ranks;
}

}  // namespace

std::vector<Node> nodes_of(const std::vector<Hit>& hits, const Embedding& embedding) {
    const auto width = static_cast<std::size_t>(embedding.width);
    if (width > max_width)
        throw std::invalid_argument("an embedding of " + std::to_string(width) +
                                    " numbers; at most " + std::to_string(max_width) +
                                    " are expected");
    std::vector<Node> nodes;
    for (std::size_t i = 0; i < hits.size(); ++i) {
        nodes.push_back({hits[i].id, hits[i].event, hits[i].azimuth, hits[i].layer, {}});
        std::copy_n(&embedding.rows[i * width], width, nodes.back().place);
    }
    return nodes;
}

Neighborhood::Neighborhood(MPI_Comm comm, std::vector<Node> own, double window_rad)
    : comm_(comm), nodes_(std::move(own)) {
    const int rank = rank_of(comm), n_rank = size_of(comm);
    sent_.resize(static_cast<std::size_t>(n_rank));
    n_own_ = nodes_.size();
    for (std::size_t i = 0; i < n_own_; ++i)
        for (const int near : ranks_near(nodes_[i].azimuth, window_rad, rank, n_rank))
            sent_[std::size_t(near)].push_back(i);
    const std::vector<Node> copies = exchange_rows(comm, picked(nodes_));
    nodes_.insert(nodes_.end(), copies.begin(), copies.end());
}

}  // namespace tracking
