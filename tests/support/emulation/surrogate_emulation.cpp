// SPDX-License-Identifier: Apache-2.0
// Compiled without sanitizers always, see pool.cpp.
#include "surrogate_emulation.hpp"

#include <array>
#include <map>
#include <mutex>
#include <string>

#include "kernels/base/error.hpp"
#include "kernels/device/device_cuda.hpp"
#include "pool.hpp"

namespace surrogate::emulation {

std::atomic<Queue*> null_queue = nullptr;

namespace {

thread_local cudaError_t last_error = cudaSuccess;

void wait(const Collective& collective, uint32_t mask, void* operands, const Place& place) {
    self_lane().pool->wait(collective, mask, operands, place);
}

// ---- what warps do together --------------------------------------------------------------------

struct Shuffle {
    uint64_t bits;
    int source;
    uint64_t result = 0;
};
const Collective shuffles{
    "a shuffle", [](void* const* operands, uint32_t mask) {
        for (; mask != 0; mask &= mask - 1) {
            auto* to = static_cast<Shuffle*>(operands[std::countr_zero(mask)]);
            const void* from = operands[to->source];
            if (from == nullptr)
                emulation::fail("a shuffle from lane " + std::to_string(to->source) +
                                ", which takes no part");
            to->result = static_cast<const Shuffle*>(from)->bits;
        }
    }};

struct Vote {
    bool vote;
    uint32_t result = 0;
};
const Collective votes{"a vote", [](void* const* operands, uint32_t mask) {
                           uint32_t ballot = 0;
                           for (uint32_t l = 0; l < 32; ++l)
                               if (mask >> l & 1 && static_cast<Vote*>(operands[l])->vote)
                                   ballot |= 1U << l;
                           for (; mask != 0; mask &= mask - 1)
                               static_cast<Vote*>(operands[std::countr_zero(mask)])->result =
                                   ballot;
                       }};

struct Transpose {
    uint32_t rows, result = 0;
};
const Collective transposes{
    "transpose_8x8",
    [](void* const* operands, uint32_t) {
        const auto element = [&](int row, int column) {
            return static_cast<Transpose*>(operands[4 * row + column / 2])->rows >>
                       16 * (column % 2) &
                   0xffff;
        };
        for (int l = 0; l < 32; ++l)
            static_cast<Transpose*>(operands[l])->result =
                element(l % 4 * 2, l / 4) | element(l % 4 * 2 + 1, l / 4) << 16;
    },
    true};

struct ProductOperands {
    float* c;
    const uint32_t* a;
    const uint32_t* b;
};

struct F16 {
    static constexpr int per_register = 2;
    static float value(uint32_t bits, int which) {
        const uint32_t half = bits >> 16 * which & 0xffff;
        const float size = std::bit_cast<float>((half & 0x7fff) << 13) * 0x1p112F;
        uint32_t result = std::bit_cast<uint32_t>(size) | (half & 0x8000) << 16;
        if ((half & 0x7c00) == 0x7c00) result |= 0x7f800000;
        return std::bit_cast<float>(result);
    }
};
struct Bf16 {
    static constexpr int per_register = 2;
    static float value(uint32_t bits, int which) {
        return std::bit_cast<float>(which == 0 ? bits << 16 : bits & 0xffff0000);
    }
};
struct Tf32 {
    static constexpr int per_register = 1;
    static float value(uint32_t bits, int) { return std::bit_cast<float>(bits & 0xffffe000); }
};

/// Towards zero. NaN stays NaN: its first fraction bit is set.
float round_down(double sum) {
    return static_cast<float>(
        std::bit_cast<double>(std::bit_cast<uint64_t>(sum) & ~((uint64_t{1} << 29) - 1)));
}

using Row = double __attribute__((vector_size(64)));  // (8)

template <class Format, int n_k>
void multiply(void* const* operands, uint32_t) {
    constexpr int n_element = Format::per_register, n_register = n_k / (4 * n_element);
    double a[16][n_k];
    Row b[n_k], c[16];
    for (int l = 0; l < 32; ++l) {
        const auto* lane = static_cast<const ProductOperands*>(operands[l]);
        const int g = l / 4, t = l % 4;
        for (int r = 0; r < n_register; ++r)
            for (int e = 0; e < n_element; ++e) {
                const int k = n_element * (4 * r + t) + e;
                a[g][k] = Format::value(lane->a[2 * r], e);
                a[g + 8][k] = Format::value(lane->a[2 * r + 1], e);
                b[k][g] = Format::value(lane->b[r], e);
            }
        for (int i = 0; i < 4; ++i) c[g + i / 2 * 8][2 * t + i % 2] = lane->c[i];
    }
    for (int row = 0; row < 16; ++row) {
        Row sum = c[row];
        for (int k = 0; k < n_k; ++k) sum += a[row][k] * b[k];
        c[row] = sum;
    }
    for (int l = 0; l < 32; ++l)
        for (int i = 0; i < 4; ++i)
            static_cast<const ProductOperands*>(operands[l])->c[i] =
                round_down(c[l / 4 + i / 2 * 8][l % 4 * 2 + i % 2]);
}
const Collective products[] = {{"product_f16", multiply<F16, 8>, true},
                               {"product_f16", multiply<F16, 16>, true},
                               {"product_bf16", multiply<Bf16, 8>, true},
                               {"product_bf16", multiply<Bf16, 16>, true},
                               {"product_tf32", multiply<Tf32, 8>, true}};

// ---- what kernels may ask for

struct Allowed {
    std::mutex mutex;
    std::map<const void*, size_t> bytes;
};
Allowed& allowed() {
    static Allowed instance;
    return instance;
}

}  // namespace

void synchronize_block(Place place) {
    self_lane().pool->wait_block(place);
}
void synchronize_warp(uint32_t mask, Place place) {
    wait(warp_barrier, mask, nullptr, place);
}
uint64_t shuffle(uint32_t mask, uint64_t bits, int source, Place place) {
    Shuffle operands{bits, source};
    wait(shuffles, mask, &operands, place);
    return operands.result;
}
uint32_t ballot(uint32_t mask, bool vote, Place place) {
    Vote operands{vote};
    wait(votes, mask, &operands, place);
    return operands.result;
}
uint32_t transpose(uint32_t rows, Place place) {
    Transpose operands{rows};
    wait(transposes, ~0U, &operands, place);
    return operands.result;
}
void product(Product product, float* c, const uint32_t* a, const uint32_t* b, Place place) {
    ProductOperands operands{c, a, b};
    wait(products[static_cast<int>(product)], ~0U, &operands, place);
}

cudaError_t allow_shared(const void* kernel, int64_t n_byte) {
    if (n_byte < 0 || static_cast<size_t>(n_byte) > shared_bytes_most)
        return last_error = cudaErrorInvalidValue;
    const std::lock_guard lock(allowed().mutex);
    allowed().bytes[kernel] = static_cast<size_t>(n_byte);
    return cudaSuccess;
}

void start(const void* kernel, cudaStream_t stream, Launch launch) {
    size_t most = shared_bytes_unasked;
    {
        const std::lock_guard lock(allowed().mutex);
        if (const auto found = allowed().bytes.find(kernel); found != allowed().bytes.end())
            most = std::max(most, found->second);
    }
    last_error = cudaSuccess;
    if (launch.shared_bytes > most) {
        last_error = cudaErrorInvalidValue;
    } else if (launch.grid.count() == 0 || launch.block.count() == 0 ||
               launch.block.count() > 1024) {
        last_error = cudaErrorInvalidConfiguration;
    } else if (Queue* queue = stream != nullptr ? static_cast<Queue*>(stream) : null_queue.load()) {
        last_error = queue->launch([launch = std::move(launch)] { run(launch); });
    } else {
        run(launch);
    }
}

}  // namespace surrogate::emulation

void surrogate::kernels::cuda::check_launch(const char* kernel) {
    const cudaError_t error = cudaGetLastError();
    if (error != cudaSuccess)
        throw Error(Status::device,
                    std::string("launch of ") + kernel + ": " + cudaGetErrorString(error));
}

using surrogate::emulation::last_error;

cudaError_t cudaGetLastError() {
    return std::exchange(last_error, cudaSuccess);
}
cudaError_t cudaPeekAtLastError() {
    return last_error;
}
const char* cudaGetErrorString(cudaError_t error) {
    switch (error) {
        case cudaSuccess: return "no error";
        case cudaErrorInvalidValue: return "invalid argument";
        case cudaErrorMemoryAllocation: return "out of memory";
        case cudaErrorInvalidConfiguration: return "invalid configuration argument";
        case cudaErrorLaunchFailure: return "unspecified launch failure";
    }
    return "unknown error";
}
