// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/domain/cloud_count.hpp"

#include <span>

namespace surrogate::impl {

std::vector<CloudCount> count_clouds(const PointDomain& domain) {
    Communicator& comm = domain.context().comm();
    const auto n_cloud = static_cast<size_t>(domain.n_cloud());
    std::vector<CloudCount> counts;
    std::vector<int64_t> sums;  // (n_cloud, 2) points, ranks
    comm.agree([&] {
        counts.resize(n_cloud);
        sums.resize(2 * n_cloud);
    });
    for (int64_t i = 0; i < domain.n_local(); ++i)
        ++counts[static_cast<size_t>(domain.clouds()[i])].n_local;
    for (size_t c = 0; c < n_cloud; ++c) {
        sums[2 * c] = counts[c].n_local;
        sums[2 * c + 1] = counts[c].n_local > 0 ? 1 : 0;
    }
    comm.all_reduce_sum(std::span(sums));
    for (size_t c = 0; c < n_cloud; ++c) {
        counts[c].n_global = sums[2 * c];
        counts[c].n_rank = sums[2 * c + 1];
    }
    return counts;
}

}  // namespace surrogate::impl
