// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/hept/head_sums.hpp"

#include <algorithm>

#include "libsurrogate/src/ranks/thread_shares.hpp"

namespace surrogate::impl::hept {

/// Allocates rows (token), followed by separate rows (shared token, table).
template <class T>
void HeadSums<T>::resize(const TokenPlan& plan, int64_t n_head, int64_t n_table, int64_t n_sum) {
    plan_ = &plan;
    n_table_ = n_table;
    n_sum_ = n_sum;
    shared_.clear();
    number_.assign(plan.neighbors().empty() ? 0 : static_cast<size_t>(plan.n_token()), -1);
    int64_t n_shared = 0;
    for (int64_t head = 0; head < n_head; ++head) {
        find_shared(head);
        n_shared = std::max<int64_t>(n_shared, std::ssize(shared_));
    }
    data_.resize((plan.n_token() + n_shared * n_table) * n_sum);
}

template <class T>
void HeadSums<T>::find_shared(int64_t head) {
    for (const int32_t token : shared_) number_[static_cast<size_t>(token)] = -1;
    shared_.clear();
    for (const TokenPlan::Neighbor& neighbor : plan_->neighbors()) {
        for (const auto* parts : {&neighbor.from_it, &neighbor.to_it}) {
            for (const auto& part : (*parts)[static_cast<size_t>(head)]) {
                int32_t& number = number_[static_cast<size_t>(part.token)];
                if (number >= 0) continue;
                number = static_cast<int32_t>(shared_.size());
                shared_.push_back(part.token);
            }
        }
    }
}

template <class T>
void HeadSums<T>::begin(int64_t head) {
    find_shared(head);
    std::fill_n(data_.data() + plan_->n_token() * n_sum_, std::ssize(shared_) * n_table_ * n_sum_,
                T(0));
}

template <class T>
void HeadSums<T>::fill(T value, const kernels::Queue& queue) {
    for_thread_shares(queue, data_.size(), [&](Range of, size_t) {
        std::fill(data_.data() + of.begin, data_.data() + of.end, value);
    });
}

template <class T>
int64_t HeadSums<T>::row(int64_t table, int32_t token) const {
    const int32_t number = number_.empty() ? -1 : number_[static_cast<size_t>(token)];
    return number < 0 ? token : plan_->n_token() + number * n_table_ + table;
}

template <class T>
std::span<const int32_t> HeadSums<T>::rows(int64_t table, std::span<const int32_t> tokens,
                                           std::span<int32_t> rows) const {
    if (shared_.empty()) return tokens;
    for (size_t i = 0; i < tokens.size(); ++i)
        rows[i] = static_cast<int32_t>(row(table, tokens[i]));
    return rows.first(tokens.size());
}

template <class T>
void HeadSums<T>::join() {
    for (const int32_t token : shared_) {
        if (token >= plan_->n_own()) continue;
        T* const to = data_.data() + token * n_sum_;
        std::copy_n(part({token, 0}), n_sum_, to);
        for (int32_t table = 1; table < n_table_; ++table)
            for (int64_t k = 0; k < n_sum_; ++k) to[k] += part({token, table})[k];
    }
}

template <class T>
int64_t HeadSums<T>::bytes() const {
    const size_t n = number_.capacity() + shared_.capacity();
    return data_.bytes() + static_cast<int64_t>(n * sizeof(int32_t));
}

template class HeadSums<float>;
template class HeadSums<double>;

}  // namespace surrogate::impl::hept
