// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/base/queue.hpp"
#include "libsurrogate/src/ranks/partition.hpp"

namespace surrogate::impl {

/// Calls body(range, share) for the part of each thread of the queue in n items; shares are 0 ..
/// n_thread - 1. `body` must not throw.
template <class Body>
void for_thread_shares(const kernels::Queue& queue, int64_t n, const Body& body) {
    queue.parallel_for(queue.n_thread(), [&](int64_t share, int) {
        body(balanced_range(n, static_cast<int>(share), queue.n_thread()),
             static_cast<size_t>(share));
    });
}

}  // namespace surrogate::impl
