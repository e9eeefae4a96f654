// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/hept/attention.hpp"

#include <algorithm>

namespace surrogate::impl::hept {

using kernels::Tiles;
using kernels::hept::Block;
using kernels::hept::Head;

template <class T>
Attention<T>::Attention(const Config& config, const kernels::Queue& queue)
    : config_(config),
      queue_(queue),
      shape_{config.h_dim, config.coords_dim},
      scratch_(static_cast<size_t>(queue.n_thread())) {}

template <class T>
void Attention<T>::resize(const TokenPlan& plan) {
    plan_ = &plan;
    rows_.resize(plan.n_token() * shape_.stride());
    sums_.resize(plan, config_.num_heads, config_.n_hashes, shape_.n_sum());
    hashes_.resize(2 * config_.n_hashes * plan.n_token());
    orders_.resize(2 * config_.n_hashes * plan.n_place());
    const Head<T> head{
        .shape = shape_, .qkv = {config_.h_dim, 3 * config_.h_dim}, .n_table = config_.n_hashes};
    for (Scratch& scratch : scratch_) {
        scratch.augment.resize(kernels::hept::augment_scratch(head));
        scratch.attend.resize(kernels::hept::attend_block_scratch(shape_));
        scratch.order.resize(2 * plan.largest_cell());
        scratch.sum_rows.resize(static_cast<size_t>(config_.block_size));
    }
}

template <class T>
bool Attention<T>::augment(const Head<T>& head, const Tiles<const T>& u, const Tiles<const T>& x) {
    for (Scratch& scratch : scratch_) scratch.is_finite = true;
    queue_.parallel_for(u.n_tile(), [&](int64_t tile, int thread) {
        Scratch& scratch = scratch_[static_cast<size_t>(thread)];
        const int64_t first = tile * u.n_column;
        const bool is_finite = kernels::hept::augment<T>(
            queue_, head, u.tile(tile), x.tile(tile), scratch.augment.data(),
            rows_.data() + first * shape_.stride(), {hashes_.data() + first, u.n_point});
        scratch.is_finite = scratch.is_finite && is_finite;
    });
    return std::ranges::all_of(scratch_, &Scratch::is_finite);
}

/// Returns the tokens in the sorted order of a table, (n_place).
template <class T>
std::span<int32_t> Attention<T>::places(int64_t table, bool is_key) {
    const int64_t n = plan_->n_place();
    const int64_t row = is_key ? config_.n_hashes + table : table;
    return {orders_.data() + row * n, static_cast<size_t>(n)};
}

/// Sorts the cells of a row whose members begin in this thread's range of the row's members.
template <class T>
void Attention<T>::order_share(int64_t row, bool is_key, int thread) {
    const int64_t table = row / config_.num_heads, n_thread = queue_.n_thread();
    const std::span<const TokenPlan::Cell> cells = plan_->cells(row);
    const std::span<const int32_t> members = plan_->members(row);
    const int64_t begin = std::ssize(members) * thread / n_thread;
    const int64_t end = std::ssize(members) * (thread + 1) / n_thread;
    const int64_t which = is_key ? config_.n_hashes + table : table;
    const uint32_t* const hash = hashes_.data() + which * plan_->n_token();
    int32_t* const to = places(table, is_key).data();
    kernels::Buffer<uint64_t>& buffer = scratch_[static_cast<size_t>(thread)].order;
    const std::span<uint64_t> scratch{buffer.begin(), buffer.end()};
    auto cell = std::ranges::lower_bound(cells, begin, {}, &TokenPlan::Cell::begin);
    for (; cell != cells.end() && cell->begin < end; ++cell) {
        const auto of_cell = members.subspan(static_cast<size_t>(cell->begin),
                                             static_cast<size_t>(cell->end - cell->begin));
        kernels::hept::order_cell(of_cell, hash, cell->first, cell->last, scratch, to + cell->to);
    }
}

template <class T>
void Attention<T>::order(int64_t l, int64_t h) {
    bool is_fixed = false;
    for (int64_t table = 0; table < config_.n_hashes; ++table)
        for (const bool is_key : {false, true})
            is_fixed =
                plan_->fixed_order(l, table * config_.num_heads + h, is_key, places(table, is_key));
    if (is_fixed) return;
    queue_.parallel_for(queue_.n_thread(), [&](int64_t, int thread) {
        for (int64_t table = 0; table < config_.n_hashes; ++table)
            for (const bool is_key : {false, true})
                order_share(table * config_.num_heads + h, is_key, thread);
    });
}

/// Returns the queries (or keys) of block i, where blocks are counted through all tables. Returns
/// an empty list after the last block.
template <class T>
std::span<const int32_t> Attention<T>::members(int64_t i, bool is_key) const {
    if (i >= config_.n_hashes * n_block()) return {};
    const TokenPlan::Block& block = plan_->blocks()[static_cast<size_t>(i % n_block())];
    const int64_t row = i / n_block() + (is_key ? config_.n_hashes : 0);
    return {orders_.data() + row * plan_->n_place() + block.first, static_cast<size_t>(block.n)};
}

template <class T>
Block<T> Attention<T>::block(int64_t table, int64_t i) const {
    const int64_t now = table * n_block() + i;
    return {.rows = rows_.data(),
            .queries = members(now, false),
            .keys = members(now, true),
            .n_zero_key = plan_->blocks()[static_cast<size_t>(i)].n_zero_key,
            .next_queries = members(now + 1, false),
            .next_keys = members(now + 1, true)};
}

template <class T>
void Attention<T>::attend() {
    for (int64_t table = 0; table < config_.n_hashes; ++table) {
        queue_.parallel_for(n_block(), [&](int64_t i, int thread) {
            Scratch& scratch = scratch_[static_cast<size_t>(thread)];
            const Block<T> now = block(table, i);
            kernels::hept::attend_block<T>(queue_, shape_, now, scratch.attend.data(), sums_.data(),
                                           sums_.rows(table, now.queries, scratch.sum_rows),
                                           table > 0);
        });
    }
}

template <class T>
int64_t Attention<T>::bytes() const {
    int64_t n_byte = rows_.bytes() + sums_.bytes() + hashes_.bytes() + orders_.bytes();
    for (const Scratch& s : scratch_)
        n_byte += s.augment.bytes() + s.attend.bytes() + s.order.bytes() +
                  static_cast<int64_t>(s.sum_rows.capacity() * sizeof(int32_t));
    return n_byte;
}

template class Attention<float>;
template class Attention<double>;

}  // namespace surrogate::impl::hept
