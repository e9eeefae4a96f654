// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/hept/token_exchange.hpp"

#include <algorithm>

namespace surrogate::impl::hept {

using kernels::Queue;
using kernels::Tiles;

namespace {

using Neighbor = TokenPlan::Neighbor;

int64_t n_visitor(const Neighbor& neighbor) {
    return neighbor.visitor_end - neighbor.visitor_begin;
}
int64_t size_of_head(const std::vector<std::vector<Neighbor::Part>>& parts, int64_t head) {
    return std::ssize(parts[static_cast<size_t>(head)]);
}
int64_t largest_head(const std::vector<std::vector<Neighbor::Part>>& parts) {
    int64_t n = 0;
    for (const auto& of_head : parts) n = std::max<int64_t>(n, std::ssize(of_head));
    return n;
}

}  // namespace

/// Appends space for n numbers to or from a neighbor. Empty messages are omitted.
template <class T>
void TokenExchange<T>::Side::add(int rank, int64_t n) {
    if (n == 0) return;
    messages.push_back({rank, buffer.data() + n_number, n * static_cast<int64_t>(sizeof(T))});
    n_number += n;
}

template <class T>
void TokenExchange<T>::resize(Communicator& comm, const TokenPlan& plan, int64_t n_channel,
                              int64_t n_sum) {
    plan_ = &plan;
    n_sum_ = n_sum;
    int64_t n_send = 0, n_receive = 0;
    for (const Neighbor& neighbor : plan.neighbors()) {
        n_send +=
            std::max(std::ssize(neighbor.sent) * n_channel, largest_head(neighbor.to_it) * n_sum);
        n_receive +=
            std::max(n_visitor(neighbor) * n_channel, largest_head(neighbor.from_it) * n_sum);
    }
    send_.reserve(n_send, plan.neighbors().size());
    receive_.reserve(n_receive, plan.neighbors().size());
    for (const Neighbor& neighbor : plan.neighbors()) {
        send_.add(neighbor.rank, std::max(std::ssize(neighbor.sent) * n_channel,
                                          largest_head(neighbor.to_it) * n_sum));
        receive_.add(neighbor.rank, std::max(n_visitor(neighbor) * n_channel,
                                             largest_head(neighbor.from_it) * n_sum));
    }
    comm.reserve_messages(send_.messages, receive_.messages);
}

template <class T>
void TokenExchange<T>::visit(Communicator& comm, const Queue& queue, const Tiles<T>& x) {
    if (plan_->n_visit() == 0) return;
    const int64_t n_channel = x.n_channel;
    send_.clear();
    receive_.clear();
    for (const Neighbor& neighbor : plan_->neighbors()) {
        T* const to = send_.end();
        queue.parallel_for(std::ssize(neighbor.sent), [&](int64_t i, int) {
            const T* const from = x.column(neighbor.sent[static_cast<size_t>(i)]);
            for (int64_t c = 0; c < n_channel; ++c) to[i * n_channel + c] = from[c * x.row];
        });
        send_.add(neighbor.rank, std::ssize(neighbor.sent) * n_channel);
        receive_.add(neighbor.rank, n_visitor(neighbor) * n_channel);
    }
    comm.begin_exchange(send_.messages, receive_.messages);
    comm.finish_exchange();
    const T* from = receive_.buffer.data();
    for (const Neighbor& neighbor : plan_->neighbors()) {
        queue.parallel_for(n_visitor(neighbor), [&](int64_t i, int) {
            T* const to = x.column(neighbor.visitor_begin + i);
            for (int64_t c = 0; c < n_channel; ++c) to[c * x.row] = from[i * n_channel + c];
        });
        from += n_visitor(neighbor) * n_channel;
    }
}

template <class T>
void TokenExchange<T>::return_sums(Communicator& comm, const Queue& queue, int64_t head,
                                   HeadSums<T>& sums) {
    if (plan_->n_visit() == 0) return;
    send_.clear();
    receive_.clear();
    for (const Neighbor& neighbor : plan_->neighbors()) {
        const auto& parts = neighbor.to_it[static_cast<size_t>(head)];
        T* const to = send_.end();
        queue.parallel_for(std::ssize(parts), [&](int64_t i, int) {
            std::copy_n(sums.part(parts[static_cast<size_t>(i)]), n_sum_, to + i * n_sum_);
        });
        send_.add(neighbor.rank, std::ssize(parts) * n_sum_);
        receive_.add(neighbor.rank, size_of_head(neighbor.from_it, head) * n_sum_);
    }
    comm.begin_exchange(send_.messages, receive_.messages);
    comm.finish_exchange();
    const T* from = receive_.buffer.data();
    for (const Neighbor& neighbor : plan_->neighbors()) {
        const auto& parts = neighbor.from_it[static_cast<size_t>(head)];
        queue.parallel_for(std::ssize(parts), [&](int64_t i, int) {
            T* const to = sums.part(parts[static_cast<size_t>(i)]);
            for (int64_t k = 0; k < n_sum_; ++k) to[k] += from[i * n_sum_ + k];
        });
        from += std::ssize(parts) * n_sum_;
    }
    sums.join();
}

template <class T>
int64_t TokenExchange<T>::bytes_of_layer(int64_t n_channel, bool returns_sums) const {
    int64_t n = 0;
    for (const Neighbor& neighbor : plan_->neighbors()) {
        n += std::ssize(neighbor.sent) * n_channel;
        if (!returns_sums) continue;
        for (const auto& of_head : neighbor.to_it) n += std::ssize(of_head) * n_sum_;
    }
    return n * static_cast<int64_t>(sizeof(T));
}

template <class T>
int64_t TokenExchange<T>::messages_of_layer(int64_t n_visit, bool returns_sums) const {
    int64_t n = 0;
    for (const Neighbor& neighbor : plan_->neighbors()) {
        n += neighbor.sent.empty() ? 0 : n_visit;
        if (!returns_sums) continue;
        for (const auto& of_head : neighbor.to_it) n += of_head.empty() ? 0 : 1;
    }
    return n;
}

template <class T>
int64_t TokenExchange<T>::bytes() const {
    int64_t n = 0;
    for (const Side* side : {&send_, &receive_}) {
        n += side->buffer.bytes() +
             static_cast<int64_t>(side->messages.capacity() * sizeof(Communicator::Message));
    }
    return n;
}

template class TokenExchange<float>;
template class TokenExchange<double>;

}  // namespace surrogate::impl::hept
