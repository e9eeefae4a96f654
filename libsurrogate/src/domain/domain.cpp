// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/domain/domain.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>

#include "libsurrogate/src/domain/columns.hpp"

namespace surrogate::impl {

namespace {

/// An array (n) of the caller's, or null.
kernels::Buffer<int64_t> copy_of(const int64_t* from, int64_t n) {
    kernels::Buffer<int64_t> to(from ? n : 0);
    if (to.size() > 0) std::memcpy(to.data(), from, static_cast<size_t>(to.bytes()));
    return to;
}

}  // namespace

PointDomain::PointDomain(std::shared_ptr<Context> context, const surrogate_points* points)
    : Domain(std::move(context)) {
    Domain::context().comm().agree([&] {
        if (!points) throw Error(Status::invalid_argument, "argument 'points' is NULL");
        copy_coordinates(points->x);
        ids_ = copy_of(points->global_id, n_local_);
        clouds_ = copy_of(points->cloud, n_local_);
        copy_weights(points->weight);
    });
    agree_on_arrays(*points);
    count_clouds();
}

void PointDomain::copy_coordinates(const surrogate_array& x) {
    if (x.shape[1] < 0 || x.shape[1] > max_axis) {
        throw Error(Status::shape,
                    "points: x is [n_local, 0..8], but shape[1] is " + std::to_string(x.shape[1]) +
                        (x.shape[0] <= max_axis ? "; the array looks transposed" : ""));
    }
    check_array(x, "points x");
    n_local_ = x.shape[0];
    n_axis_ = static_cast<int>(x.shape[1]);
    x_ = kernels::Buffer<double>(n_axis_ * n_local_);
    for (int axis = 0; axis < n_axis_; ++axis) {
        const Column column = column_of(x, axis);
        for (int64_t i = 0; i < n_local_; ++i) {
            const double value = load(column, i);
            if (!std::isfinite(value)) {
                throw Error(Status::not_finite, "coordinate " + std::to_string(axis) +
                                                    " of local point " + std::to_string(i) +
                                                    " is " + std::to_string(value));
            }
            x_[axis * n_local_ + i] = value;
        }
    }
}

void PointDomain::copy_weights(const double* weight) {
    weights_ = kernels::Buffer<double>(weight ? n_local_ : 0);
    for (int64_t i = 0; i < weights_.size(); ++i) {
        weights_[i] = weight[i];
        if (weight[i] >= 0 && std::isfinite(weight[i])) continue;
        throw Error(std::isfinite(weight[i]) ? Status::invalid_argument : Status::not_finite,
                    "weight of local point " + std::to_string(i) + " is " +
                        std::to_string(weight[i]) + ", expected a finite number of at least 0");
    }
}

void PointDomain::agree_on_arrays(const surrogate_points& points) {
    // Ranks without points go along with whatever the others have.
    const bool empty = n_local_ == 0;
    const bool given[] = {points.global_id != nullptr, points.cloud != nullptr,
                          points.weight != nullptr};
    constexpr const char* names[] = {"global ids", "clouds", "weights"};
    int64_t facts[8] = {empty ? -1 : n_axis_, empty ? -1 - max_axis : -n_axis_};
    for (size_t a = 0; a < 3; ++a) {
        facts[2 + 2 * a] = !empty && given[a];
        facts[3 + 2 * a] = !empty && !given[a];
    }
    Communicator& comm = context().comm();
    comm.all_reduce_max(std::span(facts));
    const bool no_points = facts[0] < 0;
    comm.agree([&] {
        if (!no_points && facts[0] != -facts[1]) {
            throw Error(Status::shape,
                        "ranks give points of different dimension: " + std::to_string(-facts[1]) +
                            " and " + std::to_string(facts[0]) + " coordinates");
        }
        for (size_t a = 0; a < 3; ++a) {
            if (!facts[2 + 2 * a] || !facts[3 + 2 * a]) continue;
            throw Error(Status::invalid_argument, std::string("some ranks give ") + names[a] +
                                                      " and some do not; give them on all or none");
        }
    });
    if (!no_points) n_axis_ = static_cast<int>(facts[0]);
    has_ids_ = facts[2] != 0;
    has_clouds_ = facts[4] != 0;
    has_weights_ = facts[6] != 0;
    n_global_ = n_local_;
    comm.all_reduce_sum(std::span(&n_global_, 1));
}

/// A larger number than there are points is a mistake, and would ask for memory by the cloud.
void PointDomain::count_clouds() {
    if (!has_clouds_) return;
    Communicator& comm = context().comm();
    comm.agree([&] {
        for (int64_t i = 0; i < n_local_; ++i) {
            if (clouds_[i] >= 0 && clouds_[i] < n_global_) {
                n_cloud_ = std::max(n_cloud_, clouds_[i] + 1);
                continue;
            }
            throw Error(Status::invalid_argument,
                        "cloud of " + point_text(i) + " is " + std::to_string(clouds_[i]) +
                            "; clouds are numbered from 0, below the number of points of all "
                            "ranks, " +
                            std::to_string(n_global_));
        }
    });
    comm.all_reduce_max(std::span(&n_cloud_, 1));
}

std::string PointDomain::point_text(int64_t local) const {
    std::string text = has_ids_ ? "point with id " + std::to_string(ids_[local])
                                : "local point " + std::to_string(local);
    for (int axis = 0; axis < n_axis_; ++axis) {
        char number[40];
        std::snprintf(number, sizeof number, "%s%.9g", axis == 0 ? " (x = " : ", ",
                      coordinate(axis)[local]);
        text += number;
    }
    return n_axis_ > 0 ? text + ")" : text;
}

}  // namespace surrogate::impl
