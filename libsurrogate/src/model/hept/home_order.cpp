// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/hept/home_order.hpp"

#include <algorithm>
#include <numeric>
#include <optional>
#include <string>

#include "kernels/hept/hept.hpp"
#include "libsurrogate/src/domain/tree_points.hpp"
#include "libsurrogate/src/model/hept/block_cuts.hpp"
#include "libsurrogate/src/ranks/id_order.hpp"
#include "libsurrogate/src/ranks/parallel_sort.hpp"

namespace surrogate::impl::hept {

namespace {

int64_t cloud_of(const PointDomain& domain, int64_t point) {
    return domain.has_clouds() ? domain.clouds()[point] : 0;
}

/// Returns the number of points of each cloud over all ranks. Collective.
std::vector<int64_t> cloud_sizes_of(const PointDomain& domain) {
    Communicator& comm = domain.context().comm();
    std::vector<int64_t> sizes;
    comm.agree([&] {
        constexpr int64_t limit = int64_t{1} << 32;  // limit of positions_along()
        if (domain.n_cloud() > limit) {
            throw Error(Status::shape, std::to_string(domain.n_cloud()) +
                                           " clouds exceed the limit of a plan (2^32)");
        }
        sizes.resize(static_cast<size_t>(domain.n_cloud()));
        for (int64_t i = 0; i < domain.n_local(); ++i)
            ++sizes[static_cast<size_t>(cloud_of(domain, i))];
    });
    comm.all_reduce_sum(sizes);
    return sizes;
}

/// Throws invalid_argument, on all ranks, if two points have the same id. Collective.
void require_distinct_ids(Communicator& comm, std::span<const int64_t> ids) {
    std::optional<IdOrder> order;
    comm.agree([&] { order.emplace(ids); });
    require_distinct(comm, *order);
}

/// Returns the positions of the local points in the global order by (cloud, coordinate, id). Cloud
/// and coordinate share a word, because the sort compares first words without reading the keys.
/// Collective.
std::vector<int64_t> positions_along(const PointDomain& domain, const TreePoints& points,
                                     int64_t axis) {
    constexpr uint64_t sign = uint64_t{1} << 63;
    Communicator& comm = domain.context().comm();
    const int64_t n = domain.n_local();
    SortKeys keys;
    comm.agree([&] {
        keys = SortKeys(n, 2);
        for (int64_t i = 0; i < n; ++i) {
            keys[i][0] = static_cast<uint64_t>(cloud_of(domain, i)) << 32 |
                         kernels::hept::ordered_bits(points.x[axis * n + i]);
            keys[i][1] = static_cast<uint64_t>(points.ids[i]) ^ sign;
        }
    });
    return sorted_positions(comm, std::move(keys), [](std::span<const uint64_t> key) {
        throw Error(Status::internal, "owner order: two points have the id " +
                                          std::to_string(static_cast<int64_t>(key[1] ^ sign)));
    });
}

}  // namespace

HomeOrder home_order(const Config& config, const PointDomain& domain, const PlanRequest& request) {
    Communicator& comm = domain.context().comm();
    const TreePoints points =
        tree_points(domain, request.coordinates, request.reproducible,
                    {"the model", config.coords_dim, config.coords_dim, true});
    if (domain.has_ids()) {
        require_distinct_ids(comm, {points.ids.data(), static_cast<size_t>(points.ids.size())});
    }
    HomeOrder home;
    home.cloud_sizes = cloud_sizes_of(domain);
    const std::vector<int64_t> along_0 = positions_along(domain, points, 0);
    home.positions = positions_along(domain, points, 1);

    kernels::Buffer<Place> places, scratch;
    comm.agree([&] {
        home.begins = block_cuts(config, home.cloud_sizes, comm.size()).points;
        std::vector<int64_t> cloud_begins(home.cloud_sizes.size());
        std::exclusive_scan(home.cloud_sizes.begin(), home.cloud_sizes.end(), cloud_begins.begin(),
                            int64_t{0});
        places = kernels::Buffer<Place>(domain.n_local());
        for (int64_t i = 0; i < places.size(); ++i) {
            const int64_t cloud = cloud_of(domain, i);
            const int64_t begin = cloud_begins[static_cast<size_t>(cloud)];
            const auto point = static_cast<size_t>(i);
            places[i] = {
                points.ids[i], cloud, {along_0[point] - begin, home.positions[point] - begin}};
        }
    });
    const RowRoute route(comm, home.positions, home.begins);
    comm.agree([&] {
        scratch = kernels::Buffer<Place>(route.scratch_rows());
        home.places = kernels::Buffer<Place>(route.target_rows().size());
        route.reserve(comm, sizeof(Place));
    });
    route.to_target(comm, places.data(), scratch.data(), home.places.data(), sizeof(Place));
    return home;
}

}  // namespace surrogate::impl::hept
