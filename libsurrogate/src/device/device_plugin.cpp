// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/device/device_plugin.hpp"

#include "kernels/base/error.hpp"
#include "libsurrogate/src/core/plugin_file.hpp"

namespace surrogate::impl {
namespace {

struct Loaded {
    const DevicePlugin* plugin = nullptr;
    std::string problem;
};

Loaded try_to_load() {
    try {
        return {&load_device_plugin_from(plugin_files(device_plugin_file)), ""};
    } catch (const kernels::Error& error) {
        return {nullptr, error.what()};
    }
}

}  // namespace

const void* find_kernels(const DevicePlugin& plugin, const std::string& family, int64_t n_byte) {
    std::string others;
    for (const kernels::DeviceTable& table : plugin.tables) {
        if (table.family == family && table.n_byte == n_byte) return table.kernels;
        if (table.family == family) {
            throw kernels::Error(kernels::Status::not_supported,
                                 "the plug-in's kernels of family '" + family + "' fill " +
                                     std::to_string(table.n_byte) + " bytes, expected " +
                                     std::to_string(n_byte) +
                                     "; take library and plug-in from one build");
        }
        others += (others.empty() ? "" : ", ") + std::string(table.family);
    }
    throw kernels::Error(kernels::Status::not_supported, "the plug-in has no kernels of family '" +
                                                             family + "' (it has those of " +
                                                             (others.empty() ? "none" : others) +
                                                             "); backend 'simd' runs every family");
}

const DevicePlugin& load_device_plugin_from(std::span<const std::string> files) {
    std::string problem;
    using Entry = const DevicePlugin* (*)();
    if (const auto entry =
            reinterpret_cast<Entry>(find_plugin_symbol(files, device_plugin_symbol, problem)))
        return *entry();
    throw kernels::Error(kernels::Status::not_supported,
                         "no device can be used, its plug-in (built with SURROGATE_CUDA=ON) cannot "
                         "be loaded: " +
                             problem);
}

const DevicePlugin& load_device_plugin() {
    static const Loaded loaded = try_to_load();
    if (!loaded.plugin) throw kernels::Error(kernels::Status::not_supported, loaded.problem);
    return *loaded.plugin;
}

}  // namespace surrogate::impl
