// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <vector>

namespace surrogate::impl {

/// Returns the paths of a plug-in: beside this library, then the bare name, which the loader
/// searches.
std::vector<std::string> plugin_files(const char* file);

/// Returns the address of `symbol` in the first of these shared objects that can be opened and has
/// it, or null; the texts of the loader are appended to `problem`. A name with a slash is a path.
/// An object that was opened is never closed: the runtime inside keeps threads and handlers of the
/// process's exit, whose code must stay.
void* find_plugin_symbol(std::span<const std::string> files, const char* symbol,
                         std::string& problem);

}  // namespace surrogate::impl
