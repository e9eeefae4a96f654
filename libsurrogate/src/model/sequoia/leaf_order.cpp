// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/sequoia/leaf_order.hpp"

#include "libsurrogate/src/domain/canonical_order.hpp"
#include "libsurrogate/src/domain/tree_points.hpp"
#include "libsurrogate/src/ranks/split_rules.hpp"

namespace surrogate::impl::sequoia {

namespace {

std::vector<int64_t> in_sequence(const PointDomain& domain) {
    if (!domain.has_ids() && domain.n_global() > 0) {
        throw Error(
            Status::invalid_argument,
            "the model works on a sequence, but the domain has no global ids; set global ids, "
            "ascending along the sequence");
    }
    return canonical_positions(domain, "a model of sequences");
}

}  // namespace

std::vector<int64_t> leaf_positions(const Config& config, const PointDomain& domain,
                                    const PlanRequest& request, std::span<const int64_t> begins) {
    Communicator& comm = domain.context().comm();
    if (config.is_sequence) return in_sequence(domain);
    const TreePoints points = tree_points(domain, request.coordinates, request.reproducible);
    std::vector<double> x;
    comm.agree([&] { x.assign(points.x.begin(), points.x.end()); });
    const SplitPoints split{
        static_cast<int>(request.coordinates.size()), x, {points.ids.begin(), points.ids.end()}};
    return split_positions(comm, request.queue, split, BranchRule(config.k), begins);
}

}  // namespace surrogate::impl::sequoia
