// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace surrogate::kernels {

enum class Backend { ref, simd, cuda };

/// Instruction sets of the simd backend. `scalar` is the same code with one lane and std::fma:
/// slow, with bitwise identical results.
enum class VectorLevel { scalar, neon, avx2, avx512 };

const char* name(Backend backend);
const char* name(VectorLevel level);

/// Returns the widest instruction set that both this processor and this build support.
VectorLevel best_vector_level();

/// Returns true if this processor and this build support the instruction set.
bool has_vector_level(VectorLevel level);

/// Returns the number of threads that OpenMP would give to the caller now: OMP_NUM_THREADS (the
/// first entry of a list) and OMP_THREAD_LIMIT as the runtime read them, or the number that the
/// host has set since (omp_set_num_threads). Without either it is the number of cores.
int openmp_threads();

/// Executor of kernels: backend, instruction set and number of threads. It is the first argument of
/// every function that computes. A queue is a value that owns nothing; two queues may be used at
/// once.
class Queue {
public:
    Queue() = default;
    /// Throws not_supported if the backend is not built or the machine does not support the
    /// instruction set.
    Queue(Backend backend, VectorLevel level, int n_thread);

    Backend backend() const { return backend_; }
    VectorLevel level() const { return level_; }
    int n_thread() const { return n_thread_; }

    /// Calls body(item, thread) for item in [0, n_item), thread in [0, n_thread()). Items are
    /// distributed in contiguous ranges of equal size, so that the same queue always gives an item
    /// to the same thread. `body` must not throw.
    template <class Body>
    void parallel_for(int64_t n_item, const Body& body) const {
        run(n_item, &body, [](const void* context, int64_t item, int thread) {
            (*static_cast<const Body*>(context))(item, thread);
        });
    }

private:
    void run(int64_t n_item, const void* context, void (*call)(const void*, int64_t, int)) const;

    Backend backend_ = Backend::ref;
    VectorLevel level_ = VectorLevel::scalar;
    int n_thread_ = 1;
};

}  // namespace surrogate::kernels
