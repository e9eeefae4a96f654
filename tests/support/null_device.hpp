// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>
#include <cstring>
#include <memory>
#include <utility>

#include "kernels/bsa/bsa_device.hpp"
#include "kernels/flare/flare_gradient_device.hpp"
#include "kernels/hept/hept_device.hpp"
#include "kernels/sequoia/sequoia_device.hpp"
#include "kernels/sphere/sphere_device.hpp"
#include "libsurrogate/src/device/device_plugin.hpp"

namespace surrogate::test {

/// A device without streams, whose kernels do nothing and whose copies are done at once: what is
/// left is the library's own work. It takes no memory through operator new after it was made.
class NullDevice : public kernels::Device {
public:
    const kernels::DeviceProperties& properties() const override { return properties_; }
    void* allocate(int64_t n_byte) override { return std::calloc(1, static_cast<size_t>(n_byte)); }
    void release(void* memory) noexcept override { std::free(memory); }
    void* allocate_pinned(int64_t n_byte) override { return allocate(n_byte); }
    void release_pinned(void* memory) noexcept override { std::free(memory); }
    kernels::MemoryPlace where_is(const void*) override {
        return {kernels::MemoryPlace::Kind::managed};
    }
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
    bool is_captured(kernels::Stream) override { return false; }
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

/// Number of passes in a table of kernels, which has nothing else.
template <class Kernels>
constexpr int n_pass = sizeof(Kernels) / sizeof(void (*)());
/// The last entry is the table of gradients.
template <>
inline constexpr int n_pass<kernels::flare::DeviceKernels> = sizeof(kernels::flare::DeviceKernels) /
                                                                 sizeof(void (*)()) -
                                                             1;

/// Makes a table of the passes Pass<first>{}, Pass<first + 1>{}, .. , which convert to the type of
/// any entry.
template <class Kernels, template <int> class Pass, int first = 0>
Kernels table_of_passes() {
    return []<int... i>(std::integer_sequence<int, i...>) {
        return Kernels{Pass<first + i>{}...};
    }
    (std::make_integer_sequence<int, n_pass<Kernels>>());
}

/// A plug-in for one device, with the passes of all families.
template <class OneDevice, template <int> class Pass>
const impl::DevicePlugin& plugin_of_passes() {
    static const auto flare_gradients =
        table_of_passes<kernels::flare::GradientKernels, Pass, 100>();
    static const kernels::flare::DeviceKernels flare = [] {
        auto table = table_of_passes<kernels::flare::DeviceKernels, Pass>();
        table.gradients = &flare_gradients;
        return table;
    }();
    static const auto sequoia = table_of_passes<kernels::sequoia::DeviceKernels, Pass>();
    static const auto bsa = table_of_passes<kernels::bsa::DeviceKernels, Pass>();
    static const auto hept = table_of_passes<kernels::hept::DeviceKernels, Pass>();
    static const auto sphere = table_of_passes<kernels::sphere::DeviceKernels, Pass>();
    static const kernels::DeviceTable tables[] = {{"flare", sizeof flare, &flare},
                                                  {"sequoia", sizeof sequoia, &sequoia},
                                                  {"bsa", sizeof bsa, &bsa},
                                                  {"hept", sizeof hept, &hept},
                                                  {"sphere", sizeof sphere, &sphere}};
    static const impl::DevicePlugin plugin = [] {
        impl::DevicePlugin made;
        made.open = [](int) -> std::unique_ptr<kernels::Device> {
            return std::make_unique<OneDevice>();
        };
        made.n_device = [] { return 1; };
        made.tables = tables;
        return made;
    }();
    return plugin;
}

/// A pass that does nothing.
template <int>
struct NullPass {
    template <class... Args>
    using Pass = void (*)(const kernels::DeviceProperties&, Args...);
    template <class... Args>
    operator Pass<Args...>() const {  // NOLINT: implicit
        return [](const kernels::DeviceProperties&, Args...) {};
    }
};

inline const impl::DevicePlugin& null_plugin() {
    return plugin_of_passes<NullDevice, NullPass>();
}

}  // namespace surrogate::test
