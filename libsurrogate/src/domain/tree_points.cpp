// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/domain/tree_points.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "libsurrogate/src/core/text.hpp"
#include "libsurrogate/src/domain/canonical_order.hpp"

namespace surrogate::impl {

namespace {

void require_axes(int64_t n_axis, const TreeRules& rules) {
    if (n_axis >= rules.min_axis && n_axis <= rules.max_axis) return;
    const std::string first =
        rules.min_axis < rules.max_axis ? std::to_string(rules.min_axis) + " to " : "";
    throw Error(Status::shape, std::string(rules.asker) + " needs " + first +
                                   std::to_string(rules.max_axis) + " coordinates, found " +
                                   std::to_string(n_axis) +
                                   (n_axis == 0 ? "; give the domain coordinates" : ""));
}

kernels::Buffer<float> positions_of(const PointDomain& domain,
                                    std::span<const Column> coordinates) {
    const int64_t n = domain.n_local();
    kernels::Buffer<float> x(std::ssize(coordinates) * n);
    std::vector<Outside> outside(coordinates.size());  // counted elsewhere
    const BadValue bad = gather(coordinates, 0, n, x.data(), 1, n, outside.data());
    if (bad.column < 0) return x;
    throw Error(Status::not_finite,
                domain.point_text(bad.point) + ": coordinate " + std::to_string(bad.column) +
                    " is " + number_text(bad.value) +
                    ", which is not a finite single-precision number after normalization");
}

/// Numbers the points of a domain without ids.
std::vector<int64_t> made_ids(const PointDomain& domain, bool is_reproducible, bool keeps_clouds) {
    if (is_reproducible) return canonical_positions(domain, "reproducible mode", keeps_clouds);
    Communicator& comm = domain.context().comm();
    const int64_t first = comm.exclusive_sum(domain.n_local());
    std::vector<int64_t> ids;
    comm.agree([&] { ids.resize(static_cast<size_t>(domain.n_local())); });
    for (size_t i = 0; i < ids.size(); ++i) ids[i] = first + static_cast<int64_t>(i);
    return ids;
}

}  // namespace

TreePoints tree_points(const PointDomain& domain, std::span<const Column> coordinates,
                       bool is_reproducible, const TreeRules& rules) {
    TreePoints points;
    domain.context().comm().agree([&] {
        require_axes(std::ssize(coordinates), rules);
        points.x = positions_of(domain, coordinates);
        points.ids = kernels::Buffer<int64_t>(domain.n_local());
    });
    if (domain.has_ids()) {
        std::copy_n(domain.ids(), domain.n_local(), points.ids.data());
    } else {
        std::ranges::copy(made_ids(domain, is_reproducible, rules.keeps_clouds), points.ids.data());
    }
    return points;
}

}  // namespace surrogate::impl
