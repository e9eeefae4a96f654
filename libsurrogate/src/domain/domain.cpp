// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/domain/domain.hpp"

#include <cmath>
#include <cstdio>
#include <cstring>

#include "libsurrogate/src/domain/columns.hpp"

namespace surrogate::impl {

PointDomain::PointDomain(std::shared_ptr<Context> context, const surrogate_array* x,
                         const int64_t* global_id)
    : Domain(std::move(context)) {
    Domain::context().comm().agree([&] { copy_points(x, global_id); });
    agree_on_kind(global_id != nullptr);
}

void PointDomain::copy_points(const surrogate_array* x, const int64_t* global_id) {
    if (!x) throw Error(Status::invalid_argument, "points: array x is NULL");
    if (x->shape[1] < 0 || x->shape[1] > 3) {
        throw Error(Status::shape, "points: x is [n_local, 0..3], but shape[1] is " +
                                       std::to_string(x->shape[1]) +
                                       (x->shape[0] <= 3 ? "; the array looks transposed" : ""));
    }
    check_array(*x, "points x");
    n_local_ = x->shape[0];
    n_axis_ = static_cast<int>(x->shape[1]);
    x_ = kernels::Buffer<double>(n_axis_ * n_local_);
    for (int axis = 0; axis < n_axis_; ++axis) {
        const Column column = column_of(*x, axis);
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
    if (!global_id) return;
    ids_ = kernels::Buffer<int64_t>(n_local_);
    if (n_local_ > 0) std::memcpy(ids_.data(), global_id, static_cast<size_t>(ids_.bytes()));
}

void PointDomain::agree_on_kind(bool given_ids) {
    // Ranks without points go along with whatever the others have.
    const bool empty = n_local_ == 0;
    int64_t facts[] = {empty ? -1 : n_axis_, empty ? -4 : -n_axis_, !empty && given_ids,
                       !empty && !given_ids};
    Communicator& comm = context().comm();
    comm.all_reduce_max(std::span(facts));
    const bool no_points = facts[0] < 0;
    comm.agree([&] {
        if (!no_points && facts[0] != -facts[1]) {
            throw Error(Status::shape,
                        "ranks give points of different dimension: " + std::to_string(-facts[1]) +
                            " and " + std::to_string(facts[0]) + " coordinates");
        }
        if (facts[2] && facts[3]) {
            throw Error(Status::invalid_argument,
                        "some ranks give global ids and some do not; give them on all or none");
        }
    });
    if (!no_points) n_axis_ = static_cast<int>(facts[0]);
    has_ids_ = facts[2] != 0;
    n_global_ = n_local_;
    comm.all_reduce_sum(std::span(&n_global_, 1));
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
