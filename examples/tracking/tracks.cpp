// SPDX-License-Identifier: Apache-2.0
#include "tracks.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "exchange.hpp"
#include "random.hpp"

namespace tracking {

namespace {

struct Labelled {
    int64_t label;
    Hit hit;
};

/// Compares by label, then from the middle outwards.
bool is_before(const Labelled& a, const Labelled& b) {
    const auto key = [](const Labelled& l) {
        return std::tuple(l.label, std::hypot(l.hit.radius, l.hit.z), l.hit.id);
    };
    return key(a) < key(b);
}

}  // namespace

std::vector<Track> collect(MPI_Comm comm, const std::vector<Hit>& hits,
                           const std::vector<int64_t>& labels) {
    const auto n_rank = static_cast<std::size_t>(size_of(comm));
    std::vector<std::vector<Labelled>> to(n_rank);
    for (std::size_t i = 0; i < hits.size(); ++i)
        if (labels[i] >= 0)
            to[std::size_t(labels[i] / 32) % n_rank].push_back({labels[i], hits[i]});
    std::vector<Labelled> all = exchange_rows(comm, to);
    std::sort(all.begin(), all.end(), is_before);
    std::vector<Track> tracks;
    for (auto first = all.begin(); first != all.end();) {
        const auto last = std::find_if(first, all.end(),
                                       [&](const Labelled& l) { return l.label != first->label; });
        if (std::size_t(last - first) >= min_hits) {
            Track& track = tracks.emplace_back();
            track.label = first->label;
            for (auto l = first; l != last; ++l) track.hits.push_back(l->hit);
            track.momentum = fitted_momentum(track.hits);
            track.particle = matched_particle(track.hits);
        }
        first = last;
    }
    return tracks;
}

std::vector<int64_t> true_labels(const std::vector<Hit>& hits) {
    std::vector<int64_t> labels;
    for (const Hit& hit : hits) labels.push_back(hit.particle);
    return labels;
}

double fitted_momentum(const std::vector<Hit>& hits) {
    // In u = x / r^2, v = y / r^2 a circle through the beam is a line whose distance from the
    // origin is half the curvature. An error of x becomes an error of x / r^2, hence the weights.
    double w = 0, u = 0, v = 0, uu = 0, uv = 0, vv = 0;
    for (const Hit& hit : hits) {
        const double weight = std::pow(hit.radius, 4);
        w += weight;
        u += weight * std::cos(hit.azimuth) / hit.radius;
        v += weight * std::sin(hit.azimuth) / hit.radius;
    }
    u /= w, v /= w;
    for (const Hit& hit : hits) {
        const double weight = std::pow(hit.radius, 4);
        const double du = std::cos(hit.azimuth) / hit.radius - u;
        const double dv = std::sin(hit.azimuth) / hit.radius - v;
        uu += weight * du * du;
        uv += weight * du * dv;
        vv += weight * dv * dv;
    }
    const double along = 0.5 * std::atan2(2 * uv, uu - vv);  // direction of the line
    const double distance = std::abs(v * std::cos(along) - u * std::sin(along));
    constexpr double max_momentum = 1000;  // GeV; straight within the resolution of the sensors
    return distance > 0 ? std::min(max_momentum, momentum_of(2 * distance)) : max_momentum;
}

int64_t matched_particle(const std::vector<Hit>& hits) {
    for (const Hit& hit : hits) {
        const auto n = static_cast<std::size_t>(std::count_if(
            hits.begin(), hits.end(), [&](const Hit& h) { return h.particle == hit.particle; }));
        const auto n_whole = static_cast<std::size_t>(hit.n_of_particle);
        if (hit.particle >= 0 && 2 * n > hits.size() && 2 * n > n_whole && n_whole >= min_hits)
            return hit.particle;
    }
    return -1;
}

uint64_t fingerprint(MPI_Comm comm, const std::vector<Hit>& hits,
                     const std::vector<int64_t>& labels) {
    uint64_t sum = 0;
    for (std::size_t i = 0; i < hits.size(); ++i) {
        const auto id = static_cast<uint64_t>(hits[i].id), label = static_cast<uint64_t>(labels[i]);
        const auto words = philox(
            {uint32_t(id), uint32_t(id >> 32), uint32_t(label), uint32_t(label >> 32)}, {0, 0});
        sum += uint64_t{words[0]} << 32 | words[1];
    }
    MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_UINT64_T, MPI_SUM, comm);
    return sum;
}

}  // namespace tracking
