// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/device/device_plugin.hpp"

#include <dlfcn.h>

#include <vector>

#include "kernels/base/error.hpp"

namespace surrogate::impl {
namespace {

/// Returns the loader's text about its last failure.
std::string loader_words() {
    const char* words = dlerror();
    return words ? words : "the loader gave no reason";
}

/// Null and a reason if `file` is no plug-in. What was opened is never closed: the runtime inside
/// keeps threads and handlers of the process's exit, whose code must stay.
const DevicePlugin* open_plugin(const std::string& file, std::string& reason) {
    void* library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        reason = loader_words();
        return nullptr;
    }
    using Entry = const DevicePlugin* (*)();
    const auto entry = reinterpret_cast<Entry>(dlsym(library, device_plugin_symbol));
    if (!entry) {
        reason = loader_words();
        return nullptr;
    }
    return entry();
}

/// Returns the folder of this code, with the slash at the end; empty if the loader knows only a
/// bare name, as of a program found by PATH.
std::string own_folder() {
    Dl_info info{};
    if (!dladdr(reinterpret_cast<const void*>(&own_folder), &info) || !info.dli_fname) return "";
    const std::string file = info.dli_fname;
    return file.substr(0, file.rfind('/') + 1);
}

struct Loaded {
    const DevicePlugin* plugin = nullptr;
    std::string problem;
};

Loaded try_to_load() {
    std::vector<std::string> files;
    if (const std::string folder = own_folder(); !folder.empty())
        files.push_back(folder + device_plugin_file);
    files.emplace_back(device_plugin_file);
    try {
        return {&load_device_plugin_from(files), ""};
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
                                     std::to_string(table.n_byte) + " bytes, the library expects " +
                                     std::to_string(n_byte) +
                                     "; library and plug-in must come from one build");
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
    for (const std::string& file : files) {
        std::string reason;
        if (const DevicePlugin* plugin = open_plugin(file, reason)) return *plugin;
        problem += (problem.empty() ? "" : "; ") + reason;
    }
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
