// SPDX-License-Identifier: Apache-2.0
#include "coupling/training/sample_domain.hpp"

#include <algorithm>
#include <limits>

namespace surrogate::tool {

using dataset::PointForm;

SampleDomain::Key SampleDomain::key_of(const Pair& pair, const Change& change) const {
    const int64_t n = change.n_drawn;
    const uint64_t key = change.draw_key;
    // These points of different samples differ even if the samples share their points.
    if (n > 0 || change.transform)
        return {pair.file,
                pair.input.sample,
                pair.input.time,
                n,
                key,
                change.transform ? change.transform->key : 0};
    if (is_weighted_ || data_.has_clouds()) {
        const bool is_same = data_.has_fixed_points() &&
                             !(is_weighted_ && data_.file(pair.file).form().has_sample_weight);
        return {
            pair.file, is_same ? 0 : pair.input.sample,      is_same ? 0 : pair.input.time,
            0,         static_cast<uint64_t>(change.square), static_cast<uint64_t>(change.shift)};
    }
    if (data_.has_one_place()) return {0, 0, 0, 0, 0, 0};
    if (data_.has_fixed_points()) return {pair.file, 0, 0, 0, 0, 0};
    return {pair.file, pair.input.sample, pair.input.time, 0, 0, 0};
}

bool SampleDomain::is_fixed() const {
    if (!is_weighted_) return data_.has_one_place();
    return data_.n_file() == 1 && data_.has_fixed_points() && !data_.form().has_sample_weight;
}

void SampleDomain::read(const Pair& pair, const Change& change) {
    const dataset::ReadFile& file = data_.file(pair.file);
    const int64_t n_point = file.n_point(pair.input.sample);
    range_ = share_of(file, pair.input.sample, rank_, size_);
    is_drawn_ = change.n_drawn > 0 && change.n_drawn < n_point;
    drawn_ = is_drawn_ ? drawn_points(change, n_point, range_) : std::vector<int64_t>();
    read_key_ = key_of(pair, change);
    if (file.form().points == PointForm::sphere) return;
    const std::vector<double> points = read_points(file, pair.input, range_);
    const size_t n_axis = file.form().coordinates.size();
    points_.clear();
    ids_.clear();
    box_.fill(-std::numeric_limits<double>::infinity());
    for (size_t i = 0; i < points.size(); ++i) {
        if (i % n_axis >= 3) continue;
        box_[i % n_axis] = std::max(box_[i % n_axis], points[i]);
        box_[3 + i % n_axis] = std::max(box_[3 + i % n_axis], -points[i]);
    }
    for (int64_t i = 0; i < n(); ++i) {
        const int64_t point = is_drawn_ ? drawn_[static_cast<size_t>(i)] : i;
        const auto row = points.begin() + static_cast<ptrdiff_t>(n_axis) * point;
        points_.insert(points_.end(), row, row + static_cast<ptrdiff_t>(n_axis));
        ids_.push_back(range_.first + point);
    }
    if (data_.has_clouds()) {
        clouds_ = select(read_clouds(file, pair.input, change, range_));
        clouds_.reserve(1);  // not null, although the rank has no points
    }
    if (!is_weighted_) return;
    domain_weights_ = select(tool::read_weights(file, pair.input, change, range_));
    domain_weights_.reserve(1);  // not null, although the rank has no points
}

void SampleDomain::transform(const Context& context, const Change& change) {
    if (!change.transform) return;
    std::array<double, 3> center{};
    const size_t n_axis = data_.form().coordinates.size();
    if (change.transform->is_about_box) {
        std::array<double, 6> box = box_;
        context.reduce(SURROGATE_MAX, std::ssize(box), box.data());
        for (size_t axis = 0; axis < std::min<size_t>(n_axis, 3); ++axis)
            center[axis] = (box[axis] - box[3 + axis]) / 2;
    }
    transform_points(*change.transform, center, ids_, n_axis, &points_);
}

bool SampleDomain::read_weights(const Pair& pair, const Change& change) {
    const dataset::ReadFile& file = data_.file(pair.file);
    const bool has_own = file.form().has_sample_weight;
    const WeightsKey key = {read_key_,
                            pair.file,
                            has_own ? pair.target.sample : 0,
                            has_own ? pair.target.time : 0,
                            file.form().has_weight ? change.square : 0,
                            file.form().has_weight ? change.shift : 0};
    if (weights_key_ == key) return false;
    weights_ = tool::read_weights(file, pair.target, change, range_);
    if (!weights_.empty()) weights_ = select(std::move(weights_));
    weights_key_ = key;
    return true;
}

void SampleDomain::create(const Context& context, const Pair& pair) {
    const dataset::ReadFile& file = data_.file(pair.file);
    const auto& form = file.form();
    if (form.points == PointForm::sphere) {
        const auto latitude = file.along("lat"), longitude = file.along("lon");
        const int64_t n_lon = form.extents[1], first = range_.first / n_lon;
        surrogate_sphere sphere{};
        sphere.grid = form.grid.c_str();
        sphere.n_lat = form.extents[0];
        sphere.n_lon = n_lon;
        sphere.first_lat = first;
        sphere.n_lat_local = range_.n / n_lon;
        sphere.n_lon_local = n_lon;
        sphere.latitude = latitude.data() + first;
        sphere.longitude = longitude.data();
        domain_.emplace(context, sphere);
    } else {
        domain_.emplace(context, points());
    }
    key_ = read_key_;
}

surrogate_points SampleDomain::points() const {
    const auto n_axis = static_cast<int64_t>(data_.form().coordinates.size());
    return {matrix(points_.data(), n(), n_axis), ids_.data(),
            data_.has_clouds() ? clouds_.data() : nullptr,
            is_weighted_ ? domain_weights_.data() : nullptr};
}

void SampleDomain::update() {
    domain_->update_points(points());
    key_ = read_key_;
}

}  // namespace surrogate::tool
