// SPDX-License-Identifier: Apache-2.0
#include "coupling/case/grid_domain.hpp"

namespace surrogate::tool {

GridBlock grid_block(const Job& job, const std::string& partition,
                     const surrogate_domain_info& grid) {
    int64_t block[4];
    surrogate::check(surrogate_partition_sphere(partition.c_str(), grid.n_lat, grid.n_lon,
                                                job.rank(), job.size(), block));
    return {block[0], block[1], block[2], block[3]};
}

Domain grid_domain(const Job& job, const Context& context, const std::string& partition,
                   const surrogate_domain_info& grid) {
    const GridBlock block = grid_block(job, partition, grid);
    surrogate_sphere sphere{};
    sphere.grid = grid.grid;
    sphere.n_lat = grid.n_lat;
    sphere.n_lon = grid.n_lon;
    sphere.first_lat = block.first_lat;
    sphere.n_lat_local = block.n_lat;
    sphere.first_lon = block.first_lon;
    sphere.n_lon_local = block.n_lon;
    return Domain(context, sphere);
}

bool is_same_grid(const surrogate_domain_info& a, const surrogate_domain_info& b) {
    return std::string(a.grid) == b.grid && a.n_lat == b.n_lat && a.n_lon == b.n_lon;
}

}  // namespace surrogate::tool
