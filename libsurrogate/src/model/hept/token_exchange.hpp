// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/base/buffer.hpp"
#include "kernels/base/queue.hpp"
#include "kernels/base/tiles.hpp"
#include "libsurrogate/src/core/communicator.hpp"
#include "libsurrogate/src/model/hept/head_sums.hpp"
#include "libsurrogate/src/model/hept/token_plan.hpp"

namespace surrogate::impl::hept {

/// Exchanges tokens between ranks in a layer, with one packed message per neighbor and step: ghost
/// tokens before attention, and partial sums of their attention back to the owner ranks.
///
///   visit()         (tokens sent) n_channel numbers
///   return_sums()   (parts computed for others) d + 1 numbers, once for each head
///
/// HeadSums::begin() sets a part that another rank may compute to zero, and return_sums() adds the
/// received values. Exactly one of the candidate ranks computes the part, the others return zeros.
/// The result therefore does not depend on the order of arrival.
template <class T>
class TokenExchange {
public:
    /// Sets the tokens of `plan`, which must outlive this object, and allocates buffers for up to
    /// n_channel numbers per token and for sums of n_sum numbers. Local. Allocates only if the
    /// sizes exceed all earlier ones.
    void resize(Communicator& comm, const TokenPlan& plan, int64_t n_channel, int64_t n_sum);

    /// Sends the own tokens in x (n_channel, n_token) to the ranks that need them, and receives the
    /// ghost tokens in x. Collective. Does not allocate.
    void visit(Communicator& comm, const kernels::Queue& queue, const kernels::Tiles<T>& x);

    /// Adds the parts that other ranks computed to the parts of own tokens, then joins them.
    /// Collective. Does not allocate.
    void return_sums(Communicator& comm, const kernels::Queue& queue, int64_t head,
                     HeadSums<T>& sums);

    /// Returns the bytes that this rank sends in a layer, all heads together, and the number of
    /// messages. n_channel: of all visits together; returns_sums: return_sums() follows.
    int64_t bytes_of_layer(int64_t n_channel, bool returns_sums = true) const;
    int64_t messages_of_layer(int64_t n_visit = 1, bool returns_sums = true) const;
    int64_t bytes() const;

private:
    /// Messages of one direction, stored one after the other in a buffer.
    struct Side {
        kernels::Buffer<T> buffer;
        std::vector<Communicator::Message> messages;
        int64_t n_number = 0;

        void reserve(int64_t n, size_t n_message) {
            buffer.resize(n);
            messages.reserve(n_message);
            clear();
        }
        void clear() {
            messages.clear();
            n_number = 0;
        }
        T* end() { return buffer.data() + n_number; }
        void add(int rank, int64_t n);
    };

    const TokenPlan* plan_ = nullptr;
    int64_t n_sum_ = 0;
    Side send_, receive_;
};

}  // namespace surrogate::impl::hept
