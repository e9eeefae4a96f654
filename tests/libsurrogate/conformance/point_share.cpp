// SPDX-License-Identifier: Apache-2.0
#include "tests/libsurrogate/conformance/point_share.hpp"

#include "tests/support/darcy_case.hpp"

namespace surrogate::test {

namespace {

std::vector<int64_t> rows_of(const std::string& partition, int64_t n, int rank, int size) {
    if (partition == "first") return first_rows(rank == 0 ? n : 0);
    if (partition == "middle") return first_rows(rank == size / 2 ? n : 0);
    if (partition == "last") return first_rows(rank == size - 1 ? n : 0);
    int64_t n_own = 0;
    check(surrogate_partition(partition.c_str(), n, rank, size, nullptr, &n_own));
    std::vector<int64_t> rows(static_cast<size_t>(n_own));
    check(surrogate_partition(partition.c_str(), n, rank, size, rows.data(), &n_own));
    return rows;
}

}  // namespace

Share share_of_points(const surrogate_domain_info&, int64_t n_point, const std::string& partition,
                      int rank, int size) {
    const auto points = std::make_shared<DarcyCase>(rows_of(partition, n_point, rank, size));
    Share share{.points = points->ids, .places = first_rows(points->n()), .n_place = points->n()};
    share.create = [points](surrogate_context* context, surrogate_domain** domain) {
        const surrogate_points given = points->points();
        return surrogate_domain_create_points(context, &given, domain);
    };
    share.name_of = [points](size_t i) { return "id " + std::to_string(points->ids[i]); };
    return share;
}

MakeDomains some_points(int64_t n, int64_t n_axis, const std::vector<int64_t>& ids) {
    return [=](surrogate_context* context, surrogate_domain** input, surrogate_domain**) {
        const DarcyCase points(first_rows(n));
        const surrogate_points given{matrix(points.x.data(), n, n_axis),
                                     ids.empty() ? nullptr : ids.data(), nullptr, nullptr};
        return surrogate_domain_create_points(context, &given, input);
    };
}

surrogate_status two_sets(surrogate_context* context, surrogate_domain** input,
                          surrogate_domain** output) {
    check(some_points(5, 2, {})(context, input, output));
    return some_points(5, 2, {})(context, output, nullptr);
}

surrogate_status a_sphere(surrogate_context* context, surrogate_domain** input,
                          surrogate_domain**) {
    surrogate_sphere sphere{};
    sphere.grid = "equiangular";
    sphere.n_lat = 8;
    sphere.n_lon = sphere.n_lon_local = 16;
    int32_t rank = 0, size = 0;
    check(surrogate_context_rank(context, &rank, &size));
    sphere.n_lat_local = rank == 0 ? 8 : 0;
    return surrogate_domain_create_sphere(context, &sphere, input);
}

}  // namespace surrogate::test
