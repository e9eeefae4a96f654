// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <source_location>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

/// Launches, and what threads of a block do together: under the words of surrogate_emulation.hpp.

struct uint3 {
    unsigned x = 0, y = 0, z = 0;
};
struct dim3 {
    unsigned x = 1, y = 1, z = 1;
    dim3(unsigned n_x = 1, unsigned n_y = 1, unsigned n_z = 1) : x(n_x), y(n_y), z(n_z) {}
    uint64_t count() const { return uint64_t{x} * y * z; }
};

using cudaStream_t = void*;
enum cudaError_t {
    cudaSuccess = 0,
    cudaErrorInvalidValue = 1,
    cudaErrorMemoryAllocation = 2,
    cudaErrorInvalidConfiguration = 9,
    cudaErrorLaunchFailure = 719,
};
cudaError_t cudaGetLastError();
cudaError_t cudaPeekAtLastError();
const char* cudaGetErrorString(cudaError_t error);

namespace surrogate::emulation {

using Place = std::source_location;

/// Dynamic shared memory that any kernel gets, and that allow_shared() can ask for.
constexpr size_t shared_bytes_unasked = 48 * 1024, shared_bytes_most = 227 * 1024;

struct PendingCopy {
    void* to;
    const void* from;
};

/// State of a thread.
struct Thread {
    uint3 thread_index, block_index;
    dim3 block_size, grid_size;
    int lane = 0;
    unsigned char* shared = nullptr;
    size_t shared_bytes = 0;
    std::vector<PendingCopy> copies;
};
extern constinit thread_local Thread* current;  ///< null outside of kernels

/// Ends the launch with this text.
[[noreturn]] void fail(const std::string& text);

/// Target of a stream pointer other than null.
class Queue {
public:
    virtual ~Queue() = default;
    virtual cudaError_t launch(std::function<void()> work) = 0;
    /// Any other work, done when its turn comes; counted nowhere.
    virtual void enqueue(std::function<void()> work) = 0;
    /// Returns true if work is recorded into a graph instead.
    virtual bool is_recording() const { return false; }
};
/// Takes launches on the null stream; null: they run at once.
extern std::atomic<Queue*> null_queue;

struct Launch {
    dim3 grid, block;
    size_t shared_bytes = 0;
    std::function<void()> thread;  ///< what one thread does
};
void run(const Launch& launch);

cudaError_t allow_shared(const void* kernel, int64_t n_byte);
/// Checks the sizes, then runs or enqueues. Errors are left for cudaGetLastError().
void start(const void* kernel, cudaStream_t stream, Launch launch);

template <class... Parameters, class... Args>
void launch(void (*kernel)(Parameters...), dim3 grid, dim3 block, size_t shared_bytes,
            cudaStream_t stream, Args&&... args) {
    std::tuple<Parameters...> values(std::forward<Args>(args)...);
    start(reinterpret_cast<const void*>(kernel), stream,
          {grid, block, shared_bytes, [kernel, values] { std::apply(kernel, values); }});
}

// Operation that the lanes of a warp, or all threads of a block, do together.
void synchronize_block(Place place);
void synchronize_warp(uint32_t mask, Place place);
/// `bits` of lane `source`.
uint64_t shuffle(uint32_t mask, uint64_t bits, int source, Place place);
/// Bit l: what lane l of the mask said.
uint32_t ballot(uint32_t mask, bool vote, Place place);
uint32_t transpose(uint32_t rows, Place place);
enum class Product { f16_k8, f16_k16, bf16_k8, bf16_k16, tf32_k8 };
void product(Product product, float* c, const uint32_t* a, const uint32_t* b, Place place);

template <class Value>
Value shuffle_value(uint32_t mask, Value value, int source, Place place) {
    static_assert(sizeof(Value) <= 8 && std::is_arithmetic_v<Value>);
    uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof value);
    bits = shuffle(mask, bits, source, place);
    std::memcpy(&value, &bits, sizeof value);
    return value;
}
/// The lane itself if `source` lies outside of its group of `width` lanes.
inline int source_in_group(int source, int width) {
    const int first = current->lane / width * width;
    return source >= first && source < first + width ? source : current->lane;
}

template <class T, class... Types>
concept OneOf = (std::same_as<T, Types> || ...);
template <class T>
concept Integer = OneOf<T, int, unsigned, unsigned long long>;
template <class T, class Update>
T update(T* address, Update next) {
    std::atomic_ref<T> shared(*address);
    T old = shared.load(std::memory_order_relaxed);
    while (!shared.compare_exchange_weak(old, next(old), std::memory_order_acq_rel)) {
    }
    return old;
}

}  // namespace surrogate::emulation
