// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/domain/cloud_layout.hpp"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

#include "libsurrogate/src/domain/cloud_count.hpp"
#include "libsurrogate/src/ranks/parallel_sort.hpp"

namespace surrogate::impl {

namespace {

/// An owner that stands for all ranks.
constexpr int all_ranks = -1;

}  // namespace

/// Owners of all clouds; also lists the shared ones, and finds out whether points move.
std::vector<int> CloudLayout::owners(bool may_share) {
    Communicator& comm = domain_.context().comm();
    const std::vector<CloudCount> counts = count_clouds(domain_);
    const int64_t size = comm.size(), rank = comm.rank();
    std::vector<int64_t> most;
    std::vector<int> owners;
    comm.agree([&] {
        owners.resize(counts.size(), all_ranks);
        // The lowest rank of those with most points has the largest of these numbers.
        for (const CloudCount& count : counts)
            most.push_back(count.n_local * size + (size - 1 - rank));
    });
    comm.all_reduce_max(std::span(most));
    const int64_t share = std::max(shared_points, domain_.n_global() / size);
    comm.agree([&] {
        for (size_t c = 0; c < counts.size(); ++c) {
            const CloudCount& count = counts[c];
            const auto number = static_cast<int64_t>(c);
            if (count.n_global == 0) continue;
            if (count.spans_ranks() && may_share && count.n_global > share) {
                shared_.push_back({number, {0, count.n_local}, count.n_global});
                continue;
            }
            moves_ = moves_ || count.spans_ranks();
            owners[c] = static_cast<int>(size - 1 - most[c] % size);
            if (owners[c] == rank) own_.push_back({number, {0, count.n_global}, count.n_global});
        }
    });
    return owners;
}

CloudLayout::CloudLayout(const PointDomain& domain, bool may_share) : domain_(domain) {
    Communicator& comm = domain.context().comm();
    const std::vector<int> owner_of = owners(may_share);
    const int rank = comm.rank();
    SortKeys keys;
    std::vector<int64_t> begins;
    comm.agree([&] {
        keys = SortKeys(domain.n_local(), 2);
        begins.resize(static_cast<size_t>(comm.size()) + 1);
        for (int64_t i = 0; i < domain.n_local(); ++i) {
            const int64_t cloud = domain.clouds()[i];
            const int owner = owner_of[static_cast<size_t>(cloud)];
            const int target = owner == all_ranks ? rank : owner;
            keys[i][0] = static_cast<uint64_t>(target);
            // Shared clouds come first.
            keys[i][1] = static_cast<uint64_t>(
                owner == all_ranks ? cloud : cloud + static_cast<int64_t>(owner_of.size()));
            ++begins[static_cast<size_t>(target) + 1];
        }
    });
    comm.all_reduce_sum(std::span(begins));
    std::partial_sum(begins.begin(), begins.end(), begins.begin());
    const std::vector<int64_t> positions = stable_sorted_positions(comm, keys);
    route_.emplace(comm, positions, begins);
    set_clouds();
}

/// Rows of the clouds, whose numbers of rows are known.
void CloudLayout::set_clouds() {
    int64_t row = 0;
    for (std::vector<Cloud>* clouds : {&shared_, &own_}) {
        for (Cloud& cloud : *clouds) {
            cloud.rows = {row, row + cloud.rows.end};
            row = cloud.rows.end;
        }
    }
}

CloudLayout::Arrays CloudLayout::move_arrays() const {
    Communicator& comm = domain_.context().comm();
    Arrays arrays;
    std::vector<double> rows, scratch;
    const int64_t n_axis = domain_.n_axis(), n = n_row(), n_local = domain_.n_local();
    comm.agree([&] {
        arrays.n_axis = n_axis;
        arrays.x.resize(static_cast<size_t>(n * n_axis));
        if (domain_.has_weights()) arrays.weights.resize(static_cast<size_t>(n));
        if (domain_.has_ids()) arrays.ids.resize(static_cast<size_t>(n));
        rows.resize(static_cast<size_t>(n_local * n_axis));
        for (int64_t i = 0; i < n_local; ++i)
            for (int a = 0; a < n_axis; ++a)
                rows[static_cast<size_t>(i * n_axis + a)] = domain_.coordinate(a)[i];
        const int64_t widest = std::max<int64_t>(1, n_axis);
        scratch.resize(static_cast<size_t>(route_->scratch_rows() * widest));
        route_->reserve(comm, 8 * widest);
    });
    if (n_axis > 0)
        route_->to_target(comm, rows.data(), scratch.data(), arrays.x.data(), 8 * n_axis);
    if (domain_.has_weights())
        route_->to_target(comm, domain_.weights(), scratch.data(), arrays.weights.data(), 8);
    if (domain_.has_ids())
        route_->to_target(comm, domain_.ids(), scratch.data(), arrays.ids.data(), 8);
    return arrays;
}

/// Locates the edges again, among the rows of the layout. Collective.
void CloudLayout::move_edges(Arrays& arrays) const {
    Communicator& comm = domain_.context().comm();
    std::vector<int64_t> targets;
    std::vector<Range> rows;
    comm.agree([&] {
        const Edges& edges = *domain_.edges();
        targets.reserve(edges.source_id.size());
        for (size_t i = 0; i + 1 < edges.first.size(); ++i)
            targets.insert(targets.end(), static_cast<size_t>(edges.first[i + 1] - edges.first[i]),
                           domain_.ids()[i]);
        for (const Cloud& cloud : shared_) rows.push_back(cloud.rows);
        arrays.shared_rows.resize(rows.size() * static_cast<size_t>(comm.size()));
    });
    arrays.edges = locate_edges(comm, arrays.ids, {domain_.edges()->source_id, targets});
    comm.all_gather(rows.data(), arrays.shared_rows.data(),
                    std::ssize(rows) * static_cast<int64_t>(sizeof(Range)));
}

/// Gives `domain`, which has the points of cloud `index` of shared() and own(), its edges.
void CloudLayout::set_edges(const Arrays& arrays, size_t index, PointDomain& domain) const {
    const bool is_shared = index < shared_.size();
    const Cloud& cloud = is_shared ? shared_[index] : own_[index - shared_.size()];
    const int rank = domain_.context().comm().rank();
    const Edges& all = *arrays.edges;
    Edges edges;
    edges.first = {0};
    for (int64_t row = cloud.rows.begin; row < cloud.rows.end; ++row) {
        const auto begin = static_cast<size_t>(all.first[static_cast<size_t>(row)]);
        const auto end = static_cast<size_t>(all.first[static_cast<size_t>(row) + 1]);
        for (size_t e = begin; e < end; ++e) {
            const auto source_rank = static_cast<size_t>(all.source_rank[e]);
            const Range sources =
                is_shared ? arrays.shared_rows[source_rank * shared_.size() + index] : cloud.rows;
            const int64_t source = all.source_row[e];
            const bool is_here = is_shared || all.source_rank[e] == rank;
            if (!is_here || source < sources.begin || source >= sources.end) {
                throw Error(Status::invalid_argument,
                            "an edge joins the points with ids " +
                                std::to_string(all.source_id[e]) + " and " +
                                std::to_string(arrays.ids[static_cast<size_t>(row)]) +
                                " of different clouds, expected points of one cloud");
            }
            edges.source_rank.push_back(is_shared ? all.source_rank[e] : 0);
            edges.source_row.push_back(source - sources.begin);
            edges.source_id.push_back(all.source_id[e]);
        }
        edges.first.push_back(std::ssize(edges.source_row));
    }
    domain.set_edges(std::move(edges));
}

std::unique_ptr<PointDomain> CloudLayout::Arrays::domain(const std::shared_ptr<Context>& context,
                                                         Range rows) const {
    surrogate_points points{};
    points.x.data = const_cast<double*>(x.data() + rows.begin * n_axis);
    points.x.shape[0] = rows.size();
    points.x.shape[1] = n_axis;
    points.x.stride[0] = n_axis;
    points.x.stride[1] = 1;
    points.x.dtype = SURROGATE_FLOAT64;
    if (!ids.empty()) points.global_id = ids.data() + rows.begin;
    if (!weights.empty()) points.weight = weights.data() + rows.begin;
    return std::make_unique<PointDomain>(context, &points);
}

}  // namespace surrogate::impl
