// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <cstring>
#include <emulated_device.hpp>

#include "benchmarks/device/platform.hpp"

namespace surrogate::benchmarks {
namespace {

class EmulatedPlatform final : public Platform {
public:
    kernels::Device& device() override { return device_; }
    /// Copies by memcpy, because the device's memory is the host's.
    void move(void* to, const void* from, int64_t n_byte) override {
        device_.synchronize(nullptr);
        std::memcpy(to, from, static_cast<size_t>(n_byte));
    }
    void start(kernels::Stream stream) override {
        device_.synchronize(stream);
        start_ = std::chrono::steady_clock::now();
    }
    double stop_ms(kernels::Stream stream) override {
        device_.synchronize(stream);
        const std::chrono::duration<double, std::milli> time =
            std::chrono::steady_clock::now() - start_;
        return time.count();
    }
    const char* name() const override { return "emulated"; }

private:
    test::EmulatedDevice device_;
    std::chrono::steady_clock::time_point start_;
};

}  // namespace

std::unique_ptr<Platform> open_platform(int) {
    return std::make_unique<EmulatedPlatform>();
}

bool is_device_absent() {
    return false;
}

}  // namespace surrogate::benchmarks
