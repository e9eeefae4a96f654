// SPDX-License-Identifier: Apache-2.0
#include "coupling/training/sample_domain.hpp"

#include <algorithm>
#include <limits>

namespace surrogate::tool {

using dataset::PointForm;

SampleDomain::Key SampleDomain::key_of(const Draw& draw) const {
    const Pair& pair = *draw.pair;
    const Change& change = draw.change;
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

std::vector<SampleDomain::Key> SampleDomain::keys_of(const std::vector<Draw>& draws) const {
    std::vector<Key> keys;
    for (const Draw& draw : draws) keys.push_back(key_of(draw));
    return keys;
}

void SampleDomain::read(const std::vector<Draw>& draws) {
    parts_.clear();
    for (const Draw& draw : draws) read_part(draw);
    read_keys_ = keys_of(draws);
}

void SampleDomain::read_part(const Draw& draw) {
    const Pair& pair = *draw.pair;
    const dataset::ReadFile& file = data_.file(pair.file);
    const int64_t n_point = file.n_point(pair.input.sample), n_drawn = draw.change.n_drawn;
    Part& part = parts_.emplace_back();
    part.range = share_of(file, pair.input.sample, rank_, size_);
    part.is_drawn = n_drawn > 0 && n_drawn < n_point;
    if (part.is_drawn) part.drawn = drawn_points(draw.change, n_point, part.range);
    if (file.form().points == PointForm::sphere) return;
    const size_t sample = parts_.size() - 1;
    const std::vector<double> points = read_points(file, pair.input, part.range);
    const size_t n_axis = file.form().coordinates.size();
    part.box.fill(-std::numeric_limits<double>::infinity());
    for (size_t i = 0; i < points.size(); ++i) {
        if (i % n_axis >= 3) continue;
        double& upper = part.box[i % n_axis];
        double& lower = part.box[3 + i % n_axis];
        upper = std::max(upper, points[i]);
        lower = std::max(lower, -points[i]);
    }
    for (int64_t i = 0; i < part.n(); ++i) {
        const int64_t point = part.is_drawn ? part.drawn[static_cast<size_t>(i)] : i;
        const auto row = points.begin() + static_cast<ptrdiff_t>(n_axis) * point;
        part.points.insert(part.points.end(), row, row + static_cast<ptrdiff_t>(n_axis));
        part.ids.push_back(part.range.first + point);
    }
    if (data_.has_clouds())
        part.clouds = select(read_clouds(file, pair.input, draw.change, part.range), sample);
    if (is_weighted_)
        part.weights =
            select(tool::read_weights(file, pair.input, draw.change, part.range), sample);
}

void SampleDomain::transform(const Context& context, const std::vector<Draw>& draws) {
    for (size_t sample = 0; sample < draws.size(); ++sample) {
        const auto& transform = draws[sample].change.transform;
        Part& part = parts_[sample];
        if (!transform) continue;
        std::array<double, 3> center{};
        const size_t n_axis = data_.form().coordinates.size();
        if (transform->is_about_box) {
            std::array<double, 6> box = part.box;
            context.reduce(SURROGATE_MAX, std::ssize(box), box.data());
            for (size_t axis = 0; axis < std::min<size_t>(n_axis, 3); ++axis)
                center[axis] = (box[axis] - box[3 + axis]) / 2;
        }
        transform_points(*transform, center, part.ids, n_axis, &part.points);
    }
}

bool SampleDomain::read_weights(const std::vector<Draw>& draws) {
    std::vector<WeightsKey> keys;
    for (size_t i = 0; i < draws.size(); ++i) {
        const Pair& pair = *draws[i].pair;
        const Change& change = draws[i].change;
        const auto& form = data_.file(pair.file).form();
        const bool has_own = form.has_sample_weight;
        keys.push_back({read_keys_[i], pair.file, has_own ? pair.target.sample : 0,
                        has_own ? pair.target.time : 0, form.has_weight ? change.square : 0,
                        form.has_weight ? change.shift : 0});
    }
    if (weights_keys_ == keys) return false;
    weights_.clear();
    for (size_t i = 0; i < draws.size(); ++i) {
        const Pair& pair = *draws[i].pair;
        auto own = tool::read_weights(data_.file(pair.file), pair.target, draws[i].change,
                                      parts_[i].range);
        if (!own.empty()) own = select(std::move(own), i);
        // Samples of other files may have weights.
        if (own.empty() && draws.size() > 1) own.assign(static_cast<size_t>(parts_[i].n()), 1.0);
        weights_.insert(weights_.end(), own.begin(), own.end());
    }
    weights_keys_ = std::move(keys);
    return true;
}

void SampleDomain::create(const Context& context, const Pair& pair) {
    const dataset::ReadFile& file = data_.file(pair.file);
    const auto& form = file.form();
    if (form.points == PointForm::sphere) {
        const auto latitude = file.along("lat"), longitude = file.along("lon");
        const int64_t n_lon = form.extents[1], first = range().first / n_lon;
        surrogate_sphere sphere{};
        sphere.grid = form.grid.c_str();
        sphere.n_lat = form.extents[0];
        sphere.n_lon = n_lon;
        sphere.first_lat = first;
        sphere.n_lat_local = range().n / n_lon;
        sphere.n_lon_local = n_lon;
        sphere.latitude = latitude.data() + first;
        sphere.longitude = longitude.data();
        domain_.emplace(context, sphere);
    } else {
        domain_.emplace(context, points());
    }
    keys_ = read_keys_;
}

surrogate_points SampleDomain::points() {
    if (parts_.size() > 1) join_parts();
    Part& all = parts_.size() > 1 ? all_ : parts_[0];
    if (has_clouds_ && all.clouds.empty()) all.clouds.assign(all.ids.size(), 0);
    // Not null, although the rank has no points.
    all.clouds.reserve(1);
    all.weights.reserve(1);
    const auto n_axis = static_cast<int64_t>(data_.form().coordinates.size());
    return {matrix(all.points.data(), n(), n_axis), all.ids.data(),
            has_clouds_ ? all.clouds.data() : nullptr, is_weighted_ ? all.weights.data() : nullptr};
}

/// Puts the points of several samples one after the other, each sample as a cloud.
void SampleDomain::join_parts() {
    const auto append = [](auto& all, const auto& more) {
        all.insert(all.end(), more.begin(), more.end());
    };
    all_ = {};
    int64_t first_id = 0, cloud = 0;
    for (const Part& part : parts_) {
        append(all_.points, part.points);
        append(all_.weights, part.weights);
        for (const int64_t id : part.ids) all_.ids.push_back(first_id + id);
        all_.clouds.insert(all_.clouds.end(), part.ids.size(), cloud++);
        first_id += part.range.first + part.range.n;
    }
}

void SampleDomain::update() {
    domain_->update_points(points());
    keys_ = read_keys_;
}

}  // namespace surrogate::tool
