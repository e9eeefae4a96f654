// SPDX-License-Identifier: Apache-2.0
#include "coupling/timeloop/point_weights.hpp"

#include "coupling/timeloop/error.hpp"

namespace surrogate::timeloop {

double sum_over_ranks(surrogate_context* context, const double* values, int64_t n) {
    ExactSum sum;
    sum.add(values, n);
    double limbs[ExactSum::n_limb];
    sum.write(limbs);
    require_success(surrogate_context_reduce(context, SURROGATE_SUM, ExactSum::n_limb, limbs));
    return ExactSum::value(limbs);
}

PointWeights::PointWeights(surrogate_context* context, const surrogate_model* model,
                           const Domain& domain, bool is_output)
    : domain_(domain) {
    surrogate_domain_info grid{};
    agreed(context, [&] {
        require_success(surrogate_model_domain(model, is_output, &grid));
        is_sphere_ = grid.kind == SURROGATE_SPHERE;
        refresh();
        if (is_sphere_) take_steps();
    });
    if (is_sphere_) {
        take_areas(context, grid);
        return;
    }
    // Ranks without points have no weights, so that the ranks compare what they have.
    double has_weights = values_ ? 1 : 0;
    require_success(surrogate_context_reduce(context, SURROGATE_MAX, 1, &has_weights));
    is_given_ = has_weights > 0;
}

void PointWeights::take_steps() {
    surrogate_sphere block{};
    require_success(surrogate_domain_sphere(domain_.get(), &block));
    placement_.n_lat = block.n_lat_local;
    placement_.n_lon = block.n_lon_local;
    placement_.lat_stride = block.lat_stride;
    placement_.lon_stride = block.lon_stride;
    placement_.is_stepped = block.lon_stride != 1 || block.lat_stride != block.n_lon_local;
}

/// Sets the weights of the rows of the grid, redistributed from the order of the grid to the
/// solver's.
void PointWeights::take_areas(surrogate_context* context, const surrogate_domain_info& grid) {
    const Ordering order(domain_, sizeof(double));
    std::vector<double> ordered;
    agreed(context, [&] {
        std::vector<double> rows(static_cast<size_t>(grid.n_lat));
        require_success(surrogate_sphere_nodes(grid.grid, grid.n_lat, grid.n_lon, nullptr, nullptr,
                                               rows.data()));
        const int64_t first = order.first(), end = first + order.n();
        for (int64_t i = first; i < end; ++i)
            ordered.push_back(rows[static_cast<size_t>(i / grid.n_lon)]);
        areas_.resize(static_cast<size_t>(n_point()));
        values_ = areas_.data();
    });
    order.to_local(sizeof(double), ordered.data(), areas_.data());
    area_ = sum_over_ranks(context, areas_.data(), n_point());
}

void PointWeights::refresh() {
    require_success(surrogate_domain_n_points(domain_.get(), &placement_.n_point, &n_global_));
    if (is_sphere_) return;
    surrogate_points points{};
    require_success(surrogate_domain_points(domain_.get(), &points));
    values_ = points.weight;
    clouds_ = points.cloud;
    require_success(surrogate_domain_n_clouds(domain_.get(), &n_cloud_));
}

void PointWeights::write_sums(double* sums) {
    if (!is_given_) return;
    sum_.clear();
    if (values_) sum_.add(values_, n_point());
    sum_.write(sums);
}

double PointWeights::total(const double* sums) const {
    if (is_given_) return ExactSum::value(sums);
    return is_sphere_ ? area_ : static_cast<double>(n_global_);
}

}  // namespace surrogate::timeloop
