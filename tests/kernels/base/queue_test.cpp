// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <atomic>
#include <functional>

#include "kernels/activation/activation.hpp"
#include "kernels/base/error.hpp"
#include "tests/kernels/base/target.hpp"

namespace surrogate::kernels::test {
namespace {

Status refusal_of(const std::function<void()>& call) {
    try {
        call();
    } catch (const Error& error) {
        return error.status();
    }
    return Status::success;
}

TEST(Queue, GivesEveryItemOnceToAThreadOfItsOwnShare) {
    for (int n_thread : {1, 2, 3, 7}) {
        for (int64_t n_item : {0, 1, 2, 3, 100}) {
            std::vector<int> owner(static_cast<size_t>(n_item), -1);
            std::atomic<int64_t> calls = 0;
            Queue(Backend::ref, VectorLevel::scalar, n_thread)
                .parallel_for(n_item, [&](int64_t item, int thread) {
                    owner[static_cast<size_t>(item)] = thread;
                    ++calls;
                });
            EXPECT_EQ(calls, n_item);
            EXPECT_TRUE(std::is_sorted(owner.begin(), owner.end())) << "shares are contiguous";
            if (n_item == 0) continue;
            EXPECT_GE(owner.front(), 0);
            EXPECT_LT(owner.back(), n_thread);
        }
    }
}

TEST(Queue, RefusesWhatIsNotBuiltOrNotOffered) {
    EXPECT_EQ(refusal_of([] { Queue(Backend::cuda, VectorLevel::scalar, 1); }),
              Status::not_supported);
    EXPECT_EQ(refusal_of([] { Queue(Backend::ref, VectorLevel::scalar, 0); }),
              Status::invalid_argument);
    for (const VectorLevel level : {VectorLevel::neon, VectorLevel::avx2, VectorLevel::avx512}) {
        if (has_vector_level(level)) continue;
        EXPECT_EQ(refusal_of([&] { Queue(Backend::simd, level, 1); }), Status::not_supported);
    }
}

TEST(Queue, RefusesDoublePrecisionOnSimdInsteadOfFallingBack) {
    const Queue queue(Backend::simd, VectorLevel::scalar, 1);
    const auto call = [&] { activate<double>(queue, Activation::silu, {}, {}); };
    EXPECT_EQ(refusal_of(call), Status::not_supported);
}

}  // namespace
}  // namespace surrogate::kernels::test
