// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "benchmarks/device/platform.hpp"
#include "kernels/flare/flare_device.hpp"
#include "tests/kernels/flare/device_block.hpp"

namespace surrogate::benchmarks {

/// Memory of a device with the lifetime of this object.
class Arena {
public:
    explicit Arena(Platform& platform) : platform_(platform) {}
    ~Arena() {
        for (void* memory : owned_) platform_.device().release(memory);
    }
    Arena(const Arena&) = delete;
    Arena& operator=(const Arena&) = delete;

    template <class T>
    T* make(int64_t count) {
        owned_.push_back(platform_.device().allocate(count * static_cast<int64_t>(sizeof(T))));
        return static_cast<T*>(owned_.back());
    }
    template <class T>
    T* put(const std::vector<T>& values) {
        T* memory = make<T>(std::ssize(values));
        platform_.move(memory, values.data(), std::ssize(values) * int64_t{sizeof(T)});
        return memory;
    }

private:
    Platform& platform_;
    std::vector<void*> owned_;
};

/// FLARE's passes with their arguments, weights by formula: K, V and FFN of five layers, input of 3
/// columns and output of 1, all of width C. Each call enqueues one pass.
class Passes {
public:
    Passes(Platform& platform, const tests::BlockCase& c, kernels::Operand operand);

    void begin(kernels::Stream stream) const;
    void encode(kernels::Stream stream) const;
    void maxima(kernels::Stream stream) const;
    void sums(kernels::Stream stream) const;
    void latents(kernels::Stream stream) const;
    void decode(kernels::Stream stream) const;
    void end(kernels::Stream stream) const;
    /// Enqueues one block on one rank: encode to decode.
    void block(kernels::Stream stream) const;

    const kernels::flare::EncodeGeometry& geometry() const { return encode_.geometry; }
    int64_t n_partial() const { return latent_.n_partial; }
    /// Returns the bytes of memory that the passes allocate.
    int64_t n_byte() const { return n_byte_; }

private:
    struct Residuals {
        bool in, out;
    };
    kernels::DeviceMlp chain(const std::vector<tests::BlockWeights::Layer>& layers,
                             Residuals residuals, bool reads_port = false,
                             bool writes_port = false);
    kernels::DeviceNorm norm(const std::vector<float>& weight, const std::vector<float>& bias);
    const kernels::DeviceColumn* columns(const float* data, int64_t n_column);
    template <class T>
    T* make(int64_t count);

    const kernels::flare::DeviceKernels& kernels_;
    kernels::Device& device_;
    kernels::Operand operand_;
    kernels::flare::DeviceShape shape_;
    Arena arena_;
    int64_t n_byte_ = 0;
    kernels::flare::BeginArgs begin_;
    kernels::flare::EncodeArgs encode_;
    kernels::flare::LatentArgs latent_;
    kernels::flare::DecodeArgs decode_;
    kernels::flare::EndArgs end_;
};

}  // namespace surrogate::benchmarks
