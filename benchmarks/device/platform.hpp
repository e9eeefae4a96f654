// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include "kernels/device/device.hpp"

namespace surrogate::benchmarks {

/// The device on which the program runs: a real one, or the emulated one of the tests.
class Platform {
public:
    virtual ~Platform() = default;
    virtual kernels::Device& device() = 0;

    /// Copies between memory of the device and any memory of the host, in either direction. Waits
    /// for all earlier work on the device.
    virtual void move(void* to, const void* from, int64_t n_byte) = 0;

    /// Measures the milliseconds of the stream between the two calls, by the device's clock. stop()
    /// waits.
    virtual void start(kernels::Stream stream) = 0;
    virtual double stop_ms(kernels::Stream stream) = 0;

    /// Returns "cuda", or "emulated", whose times have no meaning.
    virtual const char* name() const = 0;
};

/// Opens device `index`, -1: the current one. Throws not_supported if there is no usable device.
std::unique_ptr<Platform> open_platform(int index);

/// Returns true if this machine shows no device; false if it has one, usable or not.
bool is_device_absent();

}  // namespace surrogate::benchmarks
