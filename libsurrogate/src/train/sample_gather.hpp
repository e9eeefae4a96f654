// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "kernels/base/buffer.hpp"
#include "libsurrogate/src/domain/point_order.hpp"

namespace surrogate::impl {

/// The ranks that share one sample, among all that train.
struct Group {
    int64_t n = 1;         ///< groups
    int64_t index = 0;     ///< of this rank's, in the order of their first ranks
    bool is_first = true;  ///< this rank is the first of its group
};

/// Columns of a sample on their way between the ranks of a group and the first of all ranks, where
/// points stand in their canonical order: the same for any number of ranks and any partition.
class SampleGather {
public:
    /// Plans the gather of a group, which agrees on errors. shared: the group's context; domain: of
    /// a plan of theirs. Collective over the group.
    SampleGather(Communicator& data_parallel, const std::shared_ptr<Context>& shared,
                 const Group& group, const Domain& domain, int64_t n_column);

    /// Takes all memory. Called before all others. Collective over data_parallel, with agreement.
    void connect();

    /// Returns the numbers of a whole sample.
    int64_t n_number() const { return n_global_ * n_column_; }

    /// Gathers columns (n_column, n_local) of the ranks of group `index`; columns of other ranks
    /// are not read. Returns (n_global, n_column) on the first rank, in memory of this object.
    /// Collective over data_parallel.
    std::span<double> gather(int64_t index, const double* columns);

    /// Scatters `whole()`, filled on the first rank, to columns of the ranks of the group.
    /// Collective over data_parallel.
    void scatter(int64_t index, double* columns);
    std::span<double> whole() { return {whole_.begin(), whole_.end()}; }

private:
    struct Member {
        int64_t group = 0, rank = 0, size = 0;  ///< of the group
    };
    void set_messages(int64_t index);
    void exchange(int64_t index, bool to_first);

    Communicator& data_parallel_;
    Group group_;
    int64_t n_local_, n_global_, n_column_;
    Member own_member_;
    PointOrder order_;
    std::vector<Member> members_;                        // (ranks of data_parallel)
    kernels::Buffer<double> rows_, ordered_, whole_;     // whole_: on the first rank
    std::vector<Communicator::Message> own_, messages_;  // with memory for all
};

}  // namespace surrogate::impl
