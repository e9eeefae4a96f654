// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/flare/point_weights.hpp"

#include <algorithm>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "kernels/base/tiles.hpp"
#include "kernels/flare/flare.hpp"

namespace surrogate::impl::flare {

namespace {

/// Largest and smallest weight of each cloud on all ranks; below 0 and infinite without points.
struct Extremes {
    std::vector<double> words;  // (n_cloud) largest, (n_cloud) minus smallest

    int64_t n_cloud() const { return std::ssize(words) / 2; }
    double& largest(int64_t cloud) { return words[static_cast<size_t>(cloud)]; }
    double& minus_smallest(int64_t cloud) { return words[static_cast<size_t>(n_cloud() + cloud)]; }
};

int64_t cloud_of(const PointDomain& domain, int64_t point) {
    return domain.has_clouds() ? domain.clouds()[point] : 0;
}

Extremes extremes_of(const PointDomain& domain) {
    Communicator& comm = domain.context().comm();
    Extremes found;
    comm.agree([&] {
        const auto n = static_cast<size_t>(2 * domain.n_cloud());
        found.words.assign(n, -std::numeric_limits<double>::infinity());
    });
    for (int64_t i = 0; i < domain.n_local(); ++i) {
        const double weight = domain.weights()[i];
        double& largest = found.largest(cloud_of(domain, i));
        double& minus_smallest = found.minus_smallest(cloud_of(domain, i));
        largest = std::max(largest, weight);
        minus_smallest = std::max(minus_smallest, -weight);
    }
    comm.all_reduce_max(std::span(found.words));
    return found;
}

/// Never minus infinity: weights that underflow beside the largest stay above 0.
double log_share(double weight, double largest) {
    constexpr double least = std::numeric_limits<double>::min();
    return kernels::flare::log2_exact(std::max(weight / largest, least));
}

}  // namespace

template <class T>
void PointWeights<T>::read(const PointDomain& domain) {
    n_global_ = n_counted_ = domain.n_global();
    is_equal_ = true;
    if (n_global_ == 0) return;
    if (!domain.has_weights())
        throw Error(Status::invalid_argument,
                    "the points of the domain have no weights, expected one per point, because the "
                    "model weights them (network.point_weights of its card); set "
                    "surrogate_points.weight");
    Communicator& comm = domain.context().comm();
    Extremes extremes = extremes_of(domain);
    for (int64_t cloud = 0; cloud < extremes.n_cloud(); ++cloud) {
        const double largest = extremes.largest(cloud);
        if (largest == 0)
            throw Error(Status::invalid_argument,
                        "all weights of the points" +
                            (extremes.n_cloud() > 1 ? " of cloud " + std::to_string(cloud) : "") +
                            " are 0, expected one above 0; a point of weight 0 receives a "
                            "prediction and does not influence others");
        if (largest > 0) is_equal_ = is_equal_ && largest == -extremes.minus_smallest(cloud);
    }
    n_counted_ = std::count_if(domain.weights(), domain.weights() + domain.n_local(),
                               [](double weight) { return weight > 0; });
    comm.all_reduce_sum(std::span(&n_counted_, 1));
    if (is_equal_) return;
    comm.agree([&] { own_.resize(domain.n_local()); });
    for (int64_t i = 0; i < own_.size(); ++i) {
        const double weight = domain.weights()[i];
        const double largest = extremes.largest(cloud_of(domain, i));
        own_[i] = weight > 0 ? static_cast<T>(log_share(weight, largest))
                             : static_cast<T>(kernels::flare::no_weight);
    }
}

template <class T>
void PointWeights<T>::place() {
    if (is_equal_) return;
    tiles_.resize(kernels::round_up(own_.size(), kernels::tile_points));
    std::ranges::copy(own_, tiles_.begin());
    std::fill(tiles_.begin() + own_.size(), tiles_.end(), T(0));
}

template <class T>
void PointWeights<T>::place(Communicator& comm, const RowRoute& route) {
    if (is_equal_) return;
    RowExchange<T> rows(comm, route, 1);
    std::ranges::copy(own_, rows.solver());
    rows.to_canonical(1);
    comm.agree([&] {
        tiles_.resize(kernels::round_up(rows.n_canonical(), kernels::tile_points));
        std::copy_n(rows.canonical(), rows.n_canonical(), tiles_.data());
        std::fill(tiles_.begin() + rows.n_canonical(), tiles_.end(), T(0));
    });
}

template class PointWeights<float>;
template class PointWeights<double>;

}  // namespace surrogate::impl::flare
