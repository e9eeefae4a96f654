// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/core/plugin_file.hpp"

#include <dlfcn.h>

namespace surrogate::impl {
namespace {

/// Returns the folder of this code, with the slash at the end; empty if the loader knows only a
/// bare name, as of a program found by PATH.
std::string own_folder() {
    Dl_info info{};
    if (!dladdr(reinterpret_cast<const void*>(&own_folder), &info) || !info.dli_fname) return "";
    const std::string file = info.dli_fname;
    return file.substr(0, file.rfind('/') + 1);
}

}  // namespace

std::vector<std::string> plugin_files(const char* file) {
    std::vector<std::string> files;
    if (const std::string folder = own_folder(); !folder.empty()) files.push_back(folder + file);
    files.emplace_back(file);
    return files;
}

void* find_plugin_symbol(std::span<const std::string> files, const char* symbol,
                         std::string& problem) {
    for (const std::string& file : files) {
        void* const library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
        if (void* const found = library ? dlsym(library, symbol) : nullptr) return found;
        const char* const words = dlerror();
        problem += (problem.empty() ? "" : "; ") +
                   std::string(words ? words : "the loader gave no reason");
    }
    return nullptr;
}

}  // namespace surrogate::impl
