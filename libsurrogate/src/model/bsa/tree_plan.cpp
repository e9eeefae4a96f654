// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/bsa/tree_plan.hpp"

#include <numeric>
#include <string>
#include <vector>

#include "libsurrogate/src/domain/canonical_order.hpp"
#include "libsurrogate/src/ranks/split_rules.hpp"

namespace surrogate::impl::bsa {

using kernels::Buffer;
using kernels::Tile;
using kernels::tile_points;
using kernels::Tiles;

template <class T>
TreePlan<T>::TreePlan(const Config& config, const PointDomain& domain, const kernels::Queue& queue,
                      int64_t least_unit)
    : config_(config),
      domain_(domain),
      queue_(queue),
      comm_(domain.context().comm()),
      least_unit_(least_unit) {}

template <class T>
RowRoute TreePlan<T>::build(std::span<const Column> coordinates, bool is_reproducible,
                            std::span<PointPorts<T>* const> ports) {
    const TreePoints points = tree_points(domain_, coordinates, is_reproducible);
    std::vector<int64_t> point_begins;
    comm_.agree([&] {
        set_shape();
        point_begins = slots_.point_begins(begins_);
    });
    RowRoute route(comm_, positions(points, point_begins), point_begins);
    set_coordinates(route, points);
    if (config_.has_balls()) set_relative(rows_of_slots_, main_);
    if (config_.is_rotated) {
        comm_.agree([&] { rotate(); });
        set_rotated();
    }
    for (PointPorts<T>* const each : ports) {
        std::optional<RowRoute> copy;
        comm_.agree([&] { copy = route; });
        each->reorder(std::move(*copy));
    }
    return route;
}

/// Sets the shape, which depends on the number of points only.
template <class T>
void TreePlan<T>::set_shape() {
    const int64_t n = domain_.n_global();
    if (config_.is_single_layer) {
        require_whole_balls();
        slots_ = Slots::without_copies(n);
    } else {
        slots_ = Slots(n, config_.min_slots());
    }
    shape_.n_slot = slots_.n_slot();
    set_balls();
    const int64_t unit =
        std::max(shape_.ball, std::min(std::max(config_.slot_unit, least_unit_), shape_.n_slot));
    begins_ = slots_.begins(unit, comm_.size());
    const auto rank = static_cast<size_t>(comm_.rank());
    shape_.own = {begins_[rank], begins_[rank + 1]};
}

template <class T>
void TreePlan<T>::set_balls() {
    shape_.ball = std::max<int64_t>(1, std::min(config_.ball_size, shape_.n_slot));
    const int64_t widest = std::max({tile_points, config_.block_size, config_.group_size});
    shape_.n_column = std::min(shape_.ball, widest);
}

namespace {

/// Distances, in elements, between rows and between the numbers of a row.
struct Step {
    int64_t row, axis;
};
/// Computes means of `stride` consecutive rows of (n * stride, d), in the order of the rows.
void average(const double* from, Step from_step, int64_t n, int64_t d, int64_t stride, double* to,
             Step to_step) {
    for (int64_t i = 0; i < n; ++i) {
        for (int64_t k = 0; k < d; ++k) {
            double sum = 0;
            for (int64_t j = i * stride; j < (i + 1) * stride; ++j)
                sum += from[j * from_step.row + k * from_step.axis];
            to[i * to_step.row + k * to_step.axis] = sum / static_cast<double>(stride);
        }
    }
}

}  // namespace

template <class T>
void TreePlan<T>::build_coarser(const TreePlan& finer, int64_t stride) {
    comm_.agree([&] {
        const int64_t d = config_.n_axis;
        shape_.n_slot = finer.shape_.n_slot / stride;
        shape_.own = {finer.shape_.own.begin / stride, finer.shape_.own.end / stride};
        set_balls();
        begins_.assign(finer.begins_.begin(), finer.begins_.end());
        for (int64_t& begin : begins_) begin /= stride;
        const int64_t n = shape_.n_local();
        rows_of_slots_.resize(n * d);
        average(finer.rows_of_slots_.data(), {d, 1}, n, d, stride, rows_of_slots_.data(), {d, 1});
        if (!config_.is_rotated) return;
        turned_.resize(n * d);
        average(finer.turned_.data(), {1, n * stride}, n, d, stride, turned_.data(), {1, n});
    });
    set_relative(rows_of_slots_, main_);
    if (config_.is_rotated) set_rotated();
}

template <class T>
void TreePlan<T>::require_whole_balls() const {
    const int64_t n = domain_.n_global();
    if (n % config_.ball_size != 0) {
        throw Error(
            Status::shape,
            "a single layer of Erwin's ball attention works on whole balls: the domain has " +
                std::to_string(n) + " points, expected a multiple of " +
                std::to_string(config_.ball_size) +
                "; the network (family bsa without key model) supports any number of "
                "points");
    }
    if (n > 0 && !domain_.has_ids()) {
        throw Error(
            Status::invalid_argument,
            "a single layer of Erwin's ball attention takes its balls from the order of the "
            "points, but the domain has no global ids; set global ids");
    }
}

/// Returns the position of each point in the order of the main tree. Collective.
template <class T>
std::vector<int64_t> TreePlan<T>::positions(const TreePoints& points,
                                            std::span<const int64_t> begins) const {
    if (config_.is_single_layer) return canonical_positions(domain_, "a single layer");
    std::vector<double> x;
    comm_.agree([&] { x.assign(points.x.begin(), points.x.end()); });
    const SplitPoints given{static_cast<int>(config_.n_axis), x,
                            std::span(points.ids.begin(), points.ids.end())};
    return split_positions(comm_, queue_, given, BallRule(std::max<int64_t>(1, slots_.n_point())),
                           begins);
}

/// Sends the coordinates once to the points and slots of this rank. Collective.
template <class T>
void TreePlan<T>::set_coordinates(const RowRoute& route, const TreePoints& points) {
    const int64_t d = config_.n_axis, n = route.n_origin();
    Buffer<float> from, scratch, to;
    comm_.agree([&] {
        from = Buffer<float>(n * d);
        scratch = Buffer<float>(route.scratch_rows() * d);
        to = Buffer<float>(route.target_rows().size() * d);
        route.reserve(comm_, d * static_cast<int64_t>(sizeof(float)));
        for (int64_t i = 0; i < n; ++i)
            for (int64_t k = 0; k < d; ++k) from[i * d + k] = points.x[k * n + i];
    });
    route.to_target(comm_, from.data(), scratch.data(), to.data(),
                    d * static_cast<int64_t>(sizeof(float)));
    comm_.agree([&] {
        set_slots(route.target_rows());
        resize_tiles(coordinates_, (n_point() + tile_points - 1) / tile_points, d);
        for (int64_t p = 0; p < n_point(); ++p)
            for (int64_t k = 0; k < d; ++k)
                coordinates_[(p / tile_points * d + k) * tile_points + p % tile_points] =
                    static_cast<T>(to[p * d + k]);
        rows_of_slots_.resize(shape_.n_local() * d);
        for (int64_t p = 0; p < n_point(); ++p)
            for (int64_t s = slot_of_[p]; s < end_of(p); ++s)
                std::copy_n(to.data() + p * d, d, rows_of_slots_.data() + s * d);
    });
}

/// Sets the slot of each point's original.
template <class T>
void TreePlan<T>::set_slots(Range positions) {
    slot_of_.resize(positions.size());
    for (int64_t s = 0; s < shape_.n_local(); ++s) {
        const Slots::Entry entry = slots_.at(shape_.own.begin + s);
        if (entry.is_original) slot_of_[entry.position - positions.begin] = s;
    }
}

/// Computes positions relative to the center of their ball, in double, rounded once.
template <class T>
void TreePlan<T>::set_relative(const Buffer<double>& slots, Buffer<T>& relative) const {
    const int64_t d = config_.n_axis, m = shape_.ball;
    comm_.agree([&] {
        relative.resize(shape_.size(d));
        std::fill(relative.begin(), relative.end(), T(0));
    });
    const Tiles<T> to = shape_.tiles(relative.data(), d);
    queue_.parallel_for(shape_.n_local() / m, [&](int64_t ball, int) {
        for (int64_t k = 0; k < d; ++k) {
            double sum = 0;
            for (int64_t s = ball * m; s < (ball + 1) * m; ++s) sum += slots[s * d + k];
            const double centre = sum / static_cast<double>(m);
            for (int64_t s = ball * m; s < (ball + 1) * m; ++s)
                to(k, s) = static_cast<T>(slots[s * d + k] - centre);
        }
    });
}

/// Multiplies row vectors by the matrix without fused multiply-add (-ffp-contract=off): a tree must
/// not depend on the processor.
template <class T>
void TreePlan<T>::rotate() {
    const int64_t d = config_.n_axis, n = shape_.n_local();
    turned_.resize(n * d);
    for (int64_t s = 0; s < n; ++s) {
        for (int64_t k = 0; k < d; ++k) {
            double sum = 0;
            for (int64_t j = 0; j < d; ++j)
                sum += rows_of_slots_[s * d + j] * config_.rotation[static_cast<size_t>(j * d + k)];
            turned_[k * n + s] = sum;
        }
    }
}

/// Computes the rotated order of slots, the route to it, and relative positions in it. Collective.
template <class T>
void TreePlan<T>::set_rotated() {
    const int64_t d = config_.n_axis, n = shape_.n_local();
    std::vector<int64_t> ids;
    comm_.agree([&] {
        ids.resize(static_cast<size_t>(n));
        for (int64_t s = 0; s < n; ++s) ids[static_cast<size_t>(s)] = shape_.own.begin + s;
    });
    const HalvesRule rule =
        config_.is_rotated_fully ? HalvesRule(2, false) : HalvesRule(shape_.ball, true);
    const SplitPoints turned{static_cast<int>(d), {turned_.begin(), turned_.end()}, ids};
    rotated_.emplace(comm_, split_positions(comm_, queue_, turned, rule, begins_), begins_);
    if (!config_.is_stage()) turned_ = {};
    Buffer<double> scratch, to;
    comm_.agree([&] {
        scratch = Buffer<double>(rotated_->scratch_rows() * d);
        to = Buffer<double>(n * d);
        const int64_t widest = std::max(d, config_.n_channel);
        rotated_->reserve(comm_, widest * static_cast<int64_t>(sizeof(double)));
    });
    rotated_->to_target(comm_, rows_of_slots_.data(), scratch.data(), to.data(),
                        d * static_cast<int64_t>(sizeof(double)));
    set_relative(to, in_rotated_);
}

template <class T>
Tile<const T> TreePlan<T>::coordinates(int64_t tile) const {
    const int64_t d = config_.n_axis, first = tile * tile_points;
    return {coordinates_.data() + first * d,
            {d, std::min(tile_points, n_point() - first)},
            {tile_points, 1}};
}

template <class T>
Tiles<const T> TreePlan<T>::relative(bool rotated) const {
    return shape_.tiles((rotated ? in_rotated_ : main_).data(), config_.n_axis);
}

namespace {

/// Copies the values of slots from tiles to rows, or back.
template <class T, class Copy>
void for_slots(const kernels::Queue& queue, const SlotShape& shape, const Tiles<T>& x,
               const Copy& copy) {
    queue.parallel_for(shape.n_tile(), [&](int64_t t, int) {
        const Tile<T> tile = x.tile(t);
        for (int64_t i = 0; i < tile.shape[1]; ++i)
            for (int64_t c = 0; c < tile.shape[0]; ++c)
                copy(tile(c, i), (t * shape.n_column + i) * tile.shape[0] + c);
    });
}

}  // namespace

template <class T>
void TreePlan<T>::move(Tiles<T> x, bool to_rotated, T* memory) const {
    const int64_t size = shape_.n_local() * x.n_channel;
    T* const from = memory;
    T* const scratch = memory + size;
    T* const to = memory + 3 * size;
    const int64_t row_bytes = x.n_channel * static_cast<int64_t>(sizeof(T));
    for_slots(queue_, shape_, x, [&](T& value, int64_t i) { from[i] = value; });
    if (comm_.size() == 1) {
        if (to_rotated) rotated_->to_target_alone(from, to, row_bytes);
        if (!to_rotated) rotated_->to_origin_alone(from, to, row_bytes);
    } else {
        if (to_rotated) rotated_->to_target(comm_, from, scratch, to, row_bytes);
        if (!to_rotated) rotated_->to_origin(comm_, from, scratch, to, row_bytes);
    }
    for_slots(queue_, shape_, x, [&](T& value, int64_t i) { value = to[i]; });
}

template <class T>
std::vector<int32_t> TreePlan<T>::slots_of_rotated() const {
    std::vector<int32_t> slots(static_cast<size_t>(shape_.n_local())), rotated(slots);
    std::iota(slots.begin(), slots.end(), 0);
    rotated_->to_target_alone(slots.data(), rotated.data(), sizeof(int32_t));
    return rotated;
}

template <class T>
typename TreePlan<T>::Rotation TreePlan<T>::rotation() const {
    Rotation result;
    std::vector<int64_t> own, scratch;
    comm_.agree([&] {
        own.resize(static_cast<size_t>(shape_.n_local()));
        std::iota(own.begin(), own.end(), shape_.own.begin);
        scratch.resize(static_cast<size_t>(rotated_->scratch_rows()));
        result.targets.resize(own.size());
        result.sources.resize(own.size());
        rotated_->reserve(comm_, sizeof(int64_t));
    });
    rotated_->to_target(comm_, own.data(), scratch.data(), result.sources.data(), sizeof(int64_t));
    rotated_->to_origin(comm_, own.data(), scratch.data(), result.targets.data(), sizeof(int64_t));
    return result;
}

template <class T>
int64_t TreePlan<T>::move_bytes(int64_t n_channel) const {
    return comm_.size() == 1 ? 0 : shape_.n_local() * n_channel * static_cast<int64_t>(sizeof(T));
}

template <class T>
int64_t TreePlan<T>::bytes() const {
    return slot_of_.bytes() + coordinates_.bytes() + main_.bytes() + in_rotated_.bytes() +
           rows_of_slots_.bytes() + turned_.bytes() + (rotated_ ? rotated_->bytes() : 0);
}

template class TreePlan<float>;
template class TreePlan<double>;

}  // namespace surrogate::impl::bsa
