// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/train/sample_gather.hpp"

#include <algorithm>

namespace surrogate::impl {

SampleGather::SampleGather(Communicator& data_parallel, const std::shared_ptr<Context>& shared,
                           const Group& group, const Domain& domain, int64_t n_column)
    : data_parallel_(data_parallel),
      group_(group),
      n_local_(domain.n_local()),
      n_global_(domain.n_global()),
      n_column_(n_column),
      own_member_{group.index, shared->comm().rank(), shared->comm().size()},
      order_(shared, &domain, std::max<int64_t>(1, 8 * n_column)) {}

void SampleGather::connect() {
    data_parallel_.agree([&] {
        members_.resize(static_cast<size_t>(data_parallel_.size()));
        rows_ = kernels::Buffer<double>(n_local_ * n_column_);
        ordered_ = kernels::Buffer<double>(order_.rows().size() * n_column_);
        if (data_parallel_.rank() == 0) whole_ = kernels::Buffer<double>(n_number());
        own_.reserve(1);
        messages_.reserve(members_.size());
    });
    const Member own = own_member_;
    data_parallel_.all_gather(&own, members_.data(), sizeof own);
    data_parallel_.agree([&] {
        for (int64_t index = 0; index < group_.n; ++index) {
            set_messages(index);
            data_parallel_.reserve_messages(own_, messages_);
            data_parallel_.reserve_messages(messages_, own_);
        }
    });
}

/// Sets the blocks of the canonical ordering that are exchanged between the members of a group and
/// the first rank. own_ is the block of a member; messages_ are the blocks that the first rank
/// exchanges with the other members.
void SampleGather::set_messages(int64_t index) {
    own_.clear();
    messages_.clear();
    const bool is_first = data_parallel_.rank() == 0;
    if (group_.index == index && !is_first && ordered_.size() > 0)
        own_.push_back({0, ordered_.data(), ordered_.bytes()});
    for (int rank = 1; is_first && rank < data_parallel_.size(); ++rank) {
        const Member& member = members_[static_cast<size_t>(rank)];
        if (member.group != index) continue;
        const Range rows =
            balanced_range(n_global_, static_cast<int>(member.rank), static_cast<int>(member.size));
        if (rows.size() == 0) continue;
        messages_.push_back(
            {rank, whole_.data() + rows.begin * n_column_, rows.size() * n_column_ * 8});
    }
}

void SampleGather::exchange(int64_t index, bool to_first) {
    set_messages(index);
    if (data_parallel_.rank() == 0 && group_.index == index) {
        double* const own_block = whole_.data() + order_.rows().begin * n_column_;
        if (to_first) std::ranges::copy(ordered_, own_block);
        if (!to_first) std::copy_n(own_block, ordered_.size(), ordered_.data());
    }
    if (to_first) {
        data_parallel_.begin_exchange(own_, messages_);
    } else {
        data_parallel_.begin_exchange(messages_, own_);
    }
    data_parallel_.finish_exchange();
}

std::span<double> SampleGather::gather(int64_t index, const double* columns) {
    if (group_.index == index) {
        for (int64_t i = 0; i < n_local_; ++i) {
            for (int64_t c = 0; c < n_column_; ++c)
                rows_[i * n_column_ + c] = columns[c * n_local_ + i];
        }
        order_.forward(8 * n_column_, rows_.data(), ordered_.data());
    }
    exchange(index, true);
    return whole();
}

void SampleGather::scatter(int64_t index, double* columns) {
    exchange(index, false);
    if (group_.index != index) return;
    order_.backward(8 * n_column_, ordered_.data(), rows_.data());
    for (int64_t i = 0; i < n_local_; ++i) {
        for (int64_t c = 0; c < n_column_; ++c)
            columns[c * n_local_ + i] = rows_[i * n_column_ + c];
    }
}

}  // namespace surrogate::impl
