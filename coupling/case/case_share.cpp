// SPDX-License-Identifier: Apache-2.0
#include "coupling/case/case_share.hpp"

#include <utility>

#include "coupling/case/grid_domain.hpp"

namespace surrogate::tool {

namespace {

Share share_of_points(const Job& job, const Context& context, const std::string& partition,
                      const CaseTensors& tensors) {
    const int64_t n_point = tensors.n_point[0];
    int64_t n = 0;
    surrogate::check(
        surrogate_partition(partition.c_str(), n_point, job.rank(), job.size(), nullptr, &n));
    std::vector<int64_t> rows(static_cast<size_t>(n));
    surrogate::check(
        surrogate_partition(partition.c_str(), n_point, job.rank(), job.size(), rows.data(), &n));
    const int64_t n_axis = tensors.positions.n_channel;
    std::vector<double> x, weights;
    std::vector<int64_t> ids, clouds;
    for (const int64_t row : rows) {
        ids.push_back(tensors.ids ? tensors.ids[row] : row);
        if (tensors.clouds) clouds.push_back(tensors.clouds[row]);
        if (tensors.weights) weights.push_back(tensors.weights[row]);
        for (int64_t axis = 0; axis < n_axis; ++axis)
            x.push_back(static_cast<double>(tensors.positions.data[row * n_axis + axis]));
    }
    x.reserve(1);  // so that a rank without points also reports coordinates
    ids.reserve(1);
    if (tensors.clouds) clouds.reserve(1);
    if (tensors.weights) weights.reserve(1);
    surrogate_points points{};
    points.x = matrix(x.data(), n, n_axis);
    points.global_id = ids.data();
    points.cloud = clouds.data();
    points.weight = weights.data();
    Domain domain(context, points);
    if (tensors.has_edges && job.is_root()) domain.set_edges(tensors.sources, tensors.targets);
    if (tensors.has_edges && !job.is_root()) domain.set_edges({}, {});
    return {std::move(domain), std::move(rows)};
}

Share share_of_grid(const Job& job, const Context& context, const std::string& partition,
                    const surrogate_domain_info& grid) {
    const GridBlock block = grid_block(job, partition, grid);
    std::vector<int64_t> points;
    for (int64_t i = block.first_lat; i < block.first_lat + block.n_lat; ++i)
        for (int64_t j = block.first_lon; j < block.first_lon + block.n_lon; ++j)
            points.push_back(i * grid.n_lon + j);
    return {grid_domain(job, context, partition, grid), std::move(points), true};
}

}  // namespace

std::vector<Share> make_shares(const Job& job, const Context& context, const LoadedCase& loaded,
                               const std::string& partition) {
    const surrogate_domain_info grids[] = {loaded.model.input_domain(),
                                           loaded.model.output_domain()};
    std::vector<Share> shares;
    for (int side = 0; side < 2; ++side) {
        if (side == 1 && is_same_grid(grids[0], grids[1])) break;
        shares.push_back(grids[side].kind == SURROGATE_SPHERE
                             ? share_of_grid(job, context, partition, grids[side])
                             : share_of_points(job, context, partition, loaded.tensors));
    }
    return shares;
}

}  // namespace surrogate::tool
