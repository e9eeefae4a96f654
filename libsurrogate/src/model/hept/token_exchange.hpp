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

/// Data that ranks exchange in a layer, packed, one message to each neighbor and step: tokens to
/// the ranks that they visit, and sums of their attention back home.
///
///   visit()         (tokens sent) n_channel numbers
///   return_sums()   (parts computed for others) d + 1 numbers, once for each head
///
/// A part whose place is on another rank is zero here, by HeadSums::begin(), and
/// added when it comes home: of the ranks that might compute it exactly one does, the others return
/// zeros, so nothing depends on the order of arrival.
template <class T>
class TokenExchange {
public:
    /// `plan` must outlive it. Local: room for up to n_channel numbers a token, and for sums of
    /// n_sum. Takes memory for more than ever before.
    void resize(Communicator& comm, const TokenPlan& plan, int64_t n_channel, int64_t n_sum);

    /// Collective: x (n_channel, n_token), of which the own tokens are given, and the visitors are
    /// filled in. Takes no memory.
    void visit(Communicator& comm, const kernels::Queue& queue, const kernels::Tiles<T>& x);

    /// Collective: what other ranks computed is added to the parts of own tokens, which are then
    /// joined. Takes no memory.
    void return_sums(Communicator& comm, const kernels::Queue& queue, int64_t head,
                     HeadSums<T>& sums);

    /// Bytes that this rank sends in a layer of all heads, and messages.
    int64_t bytes_of_layer(int64_t n_channel) const;
    int64_t messages_of_layer() const;
    int64_t bytes() const;

private:
    /// Messages of one direction, one after the other in a buffer.
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
