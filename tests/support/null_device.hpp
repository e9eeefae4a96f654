// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>
#include <cstring>
#include <memory>

#include "kernels/flare/flare_device.hpp"
#include "kernels/sphere/sphere_device.hpp"
#include "libsurrogate/src/device/device_plugin.hpp"

namespace surrogate::test {

/// A device without streams, whose kernels do nothing and whose copies are done at once: what is
/// left is the library's own work. It takes no memory through operator new after it was made.
class NullDevice final : public kernels::Device {
public:
    const kernels::DeviceProperties& properties() const override { return properties_; }
    void* allocate(int64_t n_byte) override { return std::calloc(1, static_cast<size_t>(n_byte)); }
    void release(void* memory) noexcept override { std::free(memory); }
    void* allocate_pinned(int64_t n_byte) override { return allocate(n_byte); }
    void release_pinned(void* memory) noexcept override { std::free(memory); }
    void copy(void* to, const void* from, int64_t n_byte, kernels::Stream) override {
        std::memcpy(to, from, static_cast<size_t>(n_byte));
    }
    void write(void* to, const void* from, int64_t n_byte, kernels::Stream) override {
        std::memcpy(to, from, static_cast<size_t>(n_byte));
    }
    void clear(void* memory, int64_t n_byte, kernels::Stream) override {
        std::memset(memory, 0, static_cast<size_t>(n_byte));
    }
    kernels::Stream create_stream() override { return this; }
    void destroy_stream(kernels::Stream) noexcept override {}
    kernels::Event create_event() override { return this; }
    void destroy_event(kernels::Event) noexcept override {}
    void record(kernels::Event, kernels::Stream) override {}
    void wait(kernels::Stream, kernels::Event) override {}
    void synchronize(kernels::Stream) override {}
    bool is_done(kernels::Stream) override { return true; }
    void begin_capture(kernels::Stream) override {}
    kernels::Graph end_capture(kernels::Stream) override { return this; }
    void abandon_capture(kernels::Stream) noexcept override {}
    void launch(kernels::Graph, kernels::Stream) override {}
    void destroy_graph(kernels::Graph) noexcept override {}

    static kernels::DeviceProperties null_properties() {
        kernels::DeviceProperties properties;
        properties.name = "null device";
        properties.n_multiprocessor = 1;
        properties.shared_bytes = 227 * 1024;
        return properties;
    }

private:
    kernels::DeviceProperties properties_ = null_properties();
};

inline const kernels::sphere::DeviceKernels& null_sphere_kernels() {
    using kernels::DeviceProperties;
    using kernels::Stream;
    using namespace kernels::sphere;
    static const DeviceKernels nothing{
        [](const DeviceProperties&, const ReadArgs&, Stream) {},
        [](const DeviceProperties&, const GatherArgs&, Stream) {},
        [](const DeviceProperties&, const MixArgs&, Stream) {},
        [](const DeviceProperties&, const CopyArgs&, Stream) {},
        [](const DeviceProperties&, const kernels::LinearArgs&, Stream) {},
        [](const DeviceProperties&, const NormArgs&, Stream) {},
        [](const DeviceProperties&, const MomentsArgs&, Stream) {},
        [](const DeviceProperties&, const InstanceNormArgs&, Stream) {},
        [](const DeviceProperties&, const AttendArgs&, Stream) {},
        [](const DeviceProperties&, const PlanesArgs&, Stream) {},
        [](const DeviceProperties&, const WriteArgs&, Stream) {},
        [](const DeviceProperties&, kernels::Operand) {}};
    return nothing;
}

inline const impl::DevicePlugin& null_plugin() {
    using kernels::DeviceProperties;
    using kernels::Stream;
    using namespace kernels::flare;
    using kernels::Operand;
    static const DeviceKernels nothing{[](const DeviceProperties&, const BeginArgs&, Stream) {},
                                       [](const DeviceProperties&, const EncodeArgs&, Stream) {},
                                       [](const DeviceProperties&, const LatentArgs&, Stream) {},
                                       [](const DeviceProperties&, const LatentArgs&, Stream) {},
                                       [](const DeviceProperties&, const LatentArgs&, Stream) {},
                                       [](const DeviceProperties&, const LatentArgs&, Stream) {},
                                       [](const DeviceProperties&, const DecodeArgs&, Stream) {},
                                       [](const DeviceProperties&, const EndArgs&, Stream) {},
                                       [](const DeviceProperties&, Operand, int64_t) {}};
    static const impl::DevicePlugin plugin = [] {
        impl::DevicePlugin made;
        made.open = [](int) -> std::unique_ptr<kernels::Device> {
            return std::make_unique<NullDevice>();
        };
        made.n_device = [] { return 1; };
        static const kernels::DeviceTable tables[] = {
            {"flare", sizeof nothing, &nothing},
            {"sphere", sizeof null_sphere_kernels(), &null_sphere_kernels()}};
        made.tables = tables;
        return made;
    }();
    return plugin;
}

}  // namespace surrogate::test
