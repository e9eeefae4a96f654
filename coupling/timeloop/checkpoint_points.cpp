// SPDX-License-Identifier: Apache-2.0
#include "coupling/timeloop/checkpoint_points.hpp"

#include "coupling/timeloop/plan_parts.hpp"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace surrogate::timeloop {

PlanPoints::PlanPoints(const surrogate_plan* plan, bool is_output)
    : model(model_of(plan)), domain(domain_of(plan, is_output)) {
    check(surrogate_model_domain(model.get(), is_output, &kind));
    if (kind.kind == SURROGATE_POINTS) points = domain.points();
    n_local = domain.n_local();
    n_global = domain.n_global();
}

std::vector<double> PlanPoints::x() const {
    const surrogate_array& x = points.x;
    const auto* values = static_cast<const double*>(x.data);
    std::vector<double> rows(static_cast<size_t>(x.shape[0] * x.shape[1]));
    size_t at = 0;
    for (int64_t i = 0; i < x.shape[0]; ++i)
        for (int64_t axis = 0; axis < x.shape[1]; ++axis)
            rows[at++] = values[i * x.stride[0] + axis * x.stride[1]];
    return rows;
}

bool PlanPoints::is(const PlanPoints& other) const {
    return kind.kind == SURROGATE_POINTS && other.kind.kind == SURROGATE_POINTS &&
           n_local == other.n_local && points.x.data == other.points.x.data &&
           points.global_id == other.points.global_id;
}

PointsContent PlanPoints::content(const std::string& group, int64_t n_axis, bool has_id) const {
    PointsContent content;
    content.group = group;
    content.n_global = n_global;
    content.is_sphere = kind.kind == SURROGATE_SPHERE;
    if (content.is_sphere) {
        content.grid = kind.grid;
        content.n_lat = kind.n_lat;
        content.n_lon = kind.n_lon;
    }
    content.x = {n_global, n_axis, SURROGATE_FLOAT64, 0};
    content.id = {n_global, has_id ? 1 : 0, SURROGATE_INT64, 0};
    return content;
}

uint64_t PlanPoints::fingerprint() const {
    const auto bytes = [](int64_t n) { return static_cast<size_t>(8 * n); };
    const uint64_t seed = static_cast<uint64_t>(n_local) + 1;  // nonzero also for zero points
    const uint64_t of_x =
        XXH3_64bits_withSeed(points.x.data, bytes(points.x.shape[0] * points.x.shape[1]), seed);
    if (points.global_id == nullptr) return of_x;
    return XXH3_64bits_withSeed(points.global_id, bytes(n_local), of_x);
}

}  // namespace surrogate::timeloop
