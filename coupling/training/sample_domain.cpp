// SPDX-License-Identifier: Apache-2.0
#include "coupling/training/sample_domain.hpp"

#include <numeric>

namespace surrogate::tool {

using dataset::PointForm;

SampleDomain::Key SampleDomain::key_of(const Pair& pair) const {
    if (data_.has_one_place()) return {0, 0, 0};
    if (data_.has_fixed_points()) return {pair.file, 0, 0};
    return {pair.file, pair.input.sample, pair.input.time};
}

void SampleDomain::read(const Pair& pair) {
    const dataset::ReadFile& file = data_.file(pair.file);
    range_ = share_of(file, pair.input.sample, rank_, size_);
    weights_ = read_weights(file, pair.input, range_);
    if (file.form().points == PointForm::sphere) return;
    points_ = read_points(file, pair.input, range_);
    ids_.resize(static_cast<size_t>(range_.n));
    std::iota(ids_.begin(), ids_.end(), range_.first);
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
        const auto n_axis = static_cast<int64_t>(form.coordinates.size());
        domain_.emplace(context, matrix(points_.data(), range_.n, n_axis), ids_.data());
    }
    key_ = key_of(pair);
}

void SampleDomain::update(const Pair& pair) {
    const auto n_axis = static_cast<int64_t>(data_.form().coordinates.size());
    domain_->update_points(matrix(points_.data(), range_.n, n_axis), ids_.data());
    key_ = key_of(pair);
}

}  // namespace surrogate::tool
