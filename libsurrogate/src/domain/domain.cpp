// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/domain/domain.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <span>

#include "libsurrogate/src/domain/columns.hpp"

namespace surrogate::impl {

using kernels::Buffer;

namespace {

void check_shape(const surrogate_array& x) {
    if (x.shape[1] < 0 || x.shape[1] > PointDomain::max_axis) {
        throw Error(
            Status::shape,
            "points: x is [n_local, 0..8], but shape[1] is " + std::to_string(x.shape[1]) +
                (x.shape[0] <= PointDomain::max_axis ? "; the array looks transposed" : ""));
    }
    check_array(x, "points x");
}

void check_coordinates(const surrogate_array& x) {
    for (int64_t axis = 0; axis < x.shape[1]; ++axis) {
        const Column column = column_of(x, axis);
        for (int64_t i = 0; i < x.shape[0]; ++i) {
            const double value = load(column, i);
            if (std::isfinite(value)) continue;
            throw Error(Status::not_finite, "coordinate " + std::to_string(axis) +
                                                " of local point " + std::to_string(i) + " is " +
                                                std::to_string(value));
        }
    }
}

void check_weights(const double* weight, int64_t n) {
    for (int64_t i = 0; i < n && weight; ++i) {
        if (weight[i] >= 0 && std::isfinite(weight[i])) continue;
        throw Error(std::isfinite(weight[i]) ? Status::invalid_argument : Status::not_finite,
                    "weight of local point " + std::to_string(i) + " is " +
                        std::to_string(weight[i]) + ", expected a finite number of at least 0");
    }
}

/// "point with id 7 (x = 0.25, 0.5)"; value(axis) gives its coordinates.
template <class Value>
std::string text_of(int64_t local, const int64_t* ids, int n_axis, const Value& value) {
    std::string text = ids ? "point with id " + std::to_string(ids[local])
                           : "local point " + std::to_string(local);
    for (int axis = 0; axis < n_axis; ++axis) {
        char number[40];
        std::snprintf(number, sizeof number, "%s%.9g", axis == 0 ? " (x = " : ", ", value(axis));
        text += number;
    }
    return n_axis > 0 ? text + ")" : text;
}

/// A buffer of so many elements, if `kept` has no room for them.
template <class T>
Buffer<T> beside(const Buffer<T>& kept, int64_t count) {
    return count > kept.capacity() ? Buffer<T>(count) : Buffer<T>();
}

/// Gives `kept` so many elements, in the memory of `room` if there is any.
template <class T>
void settle(Buffer<T>& kept, Buffer<T>& room, int64_t count) {
    if (room.size() > 0) kept = std::move(room);
    kept.resize(count);
}

template <class T>
void copy_array(const T* from, int64_t n, Buffer<T>& kept, Buffer<T>& room) {
    settle(kept, room, from ? n : 0);
    std::copy_n(from, kept.size(), kept.data());
}

}  // namespace

PointDomain::PointDomain(std::shared_ptr<Context> context, const surrogate_points* points)
    : Domain(std::move(context)) {
    take(points);
}

void PointDomain::move(const surrogate_points* points) {
    take(points);
    edges_.reset();
    ++revision_;
}

void PointDomain::set_edges(int64_t n_edge, const int64_t* source, const int64_t* target) {
    context().comm().agree([&] {
        constexpr int64_t most = std::numeric_limits<int64_t>::max() / (2 * sizeof(int64_t));
        if (n_edge > most)
            throw Error(Status::limit, "edges: n_edge is " + std::to_string(n_edge) +
                                           ", expected at most " + std::to_string(most));
        if (n_edge < 0 || (n_edge > 0 && (!source || !target)))
            throw Error(Status::invalid_argument,
                        "edges: n_edge is " + std::to_string(n_edge) +
                            (n_edge < 0 ? ", expected 0 or more"
                                        : " and source or target is NULL, expected arrays of so "
                                          "many ids"));
        if (!has_ids_ && n_global_ > 0)
            throw Error(Status::invalid_argument,
                        "edges name their points by global id, and the points of the domain have "
                        "none; give them ids");
    });
    edges_ = locate_edges(
        context().comm(), std::span(ids_.begin(), ids_.end()),
        {{source, static_cast<size_t>(n_edge)}, {target, static_cast<size_t>(n_edge)}});
    ++revision_;
}

/// Everything that can fail comes before the first change.
void PointDomain::take(const surrogate_points* points) {
    Room room;
    context().comm().agree([&] {
        if (!points) throw Error(Status::invalid_argument, "argument 'points' is NULL");
        check_shape(points->x);
        // Memory comes before the numbers are read: a count beyond all memory ends here.
        room = room_for(*points);
        check_coordinates(points->x);
        check_weights(points->weight, points->x.shape[0]);
    });
    const Arrays found = agree_on_arrays(*points);
    const int64_t n_cloud = count_clouds(*points, found);
    copy(*points, room);
    n_global_ = found.n_global;
    n_cloud_ = n_cloud;
    if (!found.has_points) return;
    n_axis_ = found.n_axis;
    has_ids_ = found.has_ids;
    has_clouds_ = found.has_clouds;
    has_weights_ = found.has_weights;
    has_had_points_ = true;
}

PointDomain::Room PointDomain::room_for(const surrogate_points& points) const {
    const int64_t n = points.x.shape[0];
    return {beside(x_, n * points.x.shape[1]), beside(weights_, points.weight ? n : 0),
            beside(ids_, points.global_id ? n : 0), beside(clouds_, points.cloud ? n : 0)};
}

PointDomain::Arrays PointDomain::agree_on_arrays(const surrogate_points& points) const {
    // Ranks without points go along with whatever the others have.
    const int64_t n = points.x.shape[0], n_axis = points.x.shape[1];
    const bool given[] = {points.global_id != nullptr, points.cloud != nullptr,
                          points.weight != nullptr};
    constexpr const char* names[] = {"global ids", "clouds", "weights"};
    int64_t facts[8] = {n == 0 ? -1 : n_axis, n == 0 ? -1 - max_axis : -n_axis};
    for (size_t a = 0; a < 3; ++a) {
        facts[2 + 2 * a] = n > 0 && given[a];
        facts[3 + 2 * a] = n > 0 && !given[a];
    }
    Communicator& comm = context().comm();
    comm.all_reduce_max(std::span(facts));
    Arrays found{
        facts[0] >= 0, static_cast<int>(facts[0]), facts[2] != 0, facts[4] != 0, facts[6] != 0, n};
    comm.agree([&] {
        if (found.has_points && facts[0] != -facts[1]) {
            throw Error(Status::shape,
                        "ranks give points of different dimension: " + std::to_string(-facts[1]) +
                            " and " + std::to_string(facts[0]) + " coordinates");
        }
        for (size_t a = 0; a < 3; ++a) {
            if (!facts[2 + 2 * a] || !facts[3 + 2 * a]) continue;
            throw Error(Status::invalid_argument, std::string("some ranks give ") + names[a] +
                                                      " and some do not; give them on all or none");
        }
        require_same_arrays(found);
    });
    comm.all_reduce_sum(std::span(&found.n_global, 1));
    return found;
}

/// Points that move keep what they have.
void PointDomain::require_same_arrays(const Arrays& found) const {
    if (!has_had_points_ || !found.has_points) return;
    if (found.n_axis != n_axis_) {
        throw Error(Status::shape, "the points had " + std::to_string(n_axis_) +
                                       " coordinates before they moved, now they have " +
                                       std::to_string(found.n_axis) + "; make another domain");
    }
    const auto require_same = [](bool before, bool now, const char* name) {
        if (before == now) return;
        throw Error(Status::invalid_argument,
                    std::string("the points had ") + (before ? "" : "no ") + name +
                        " before they moved; give " +
                        (before ? "them again" : "none, or make another domain"));
    };
    require_same(has_ids_, found.has_ids, "global ids");
    require_same(has_clouds_, found.has_clouds, "clouds");
    require_same(has_weights_, found.has_weights, "weights");
}

/// A larger number than there are points is a mistake, and would ask for memory by the cloud.
int64_t PointDomain::count_clouds(const surrogate_points& points, const Arrays& found) const {
    int64_t n_cloud = 1;
    if (!found.has_clouds) return n_cloud;
    Communicator& comm = context().comm();
    comm.agree([&] {
        for (int64_t i = 0; i < points.x.shape[0]; ++i) {
            const int64_t cloud = points.cloud[i];
            if (cloud >= 0 && cloud < found.n_global) {
                n_cloud = std::max(n_cloud, cloud + 1);
                continue;
            }
            const auto value = [&](int axis) { return load(column_of(points.x, axis), i); };
            throw Error(Status::invalid_argument,
                        "cloud of " + text_of(i, points.global_id, found.n_axis, value) + " is " +
                            std::to_string(cloud) +
                            ", expected at least 0 and below the number of points of all ranks, " +
                            std::to_string(found.n_global));
        }
    });
    comm.all_reduce_max(std::span(&n_cloud, 1));
    return n_cloud;
}

void PointDomain::copy(const surrogate_points& points, Room& room) {
    n_local_ = points.x.shape[0];
    n_axis_ = has_had_points_ ? n_axis_ : static_cast<int>(points.x.shape[1]);
    settle(x_, room.x, n_local_ * points.x.shape[1]);
    for (int64_t axis = 0; axis < points.x.shape[1]; ++axis) {
        const Column column = column_of(points.x, axis);
        for (int64_t i = 0; i < n_local_; ++i) x_[axis * n_local_ + i] = load(column, i);
    }
    copy_array(points.global_id, n_local_, ids_, room.ids);
    copy_array(points.cloud, n_local_, clouds_, room.clouds);
    copy_array(points.weight, n_local_, weights_, room.weights);
}

std::string PointDomain::point_text(int64_t local) const {
    return text_of(local, has_ids_ ? ids_.data() : nullptr, n_axis_,
                   [&](int axis) { return coordinate(axis)[local]; });
}

}  // namespace surrogate::impl
