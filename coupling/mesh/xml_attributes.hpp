// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstring>
#include <string>

#include "coupling/mesh/read_errors.hpp"

namespace surrogate::vtk {

/// Attributes of an element, as the XML library returns them: pairs of name and value, ended by a
/// null pointer.
struct XmlAttributes {
    const char** pairs;

    int64_t size() const {
        int64_t n = 0;
        while (pairs[2 * n] != nullptr) ++n;
        return n;
    }
    /// Returns null if the attribute is missing.
    const char* find(const char* name) const {
        for (const char** pair = pairs; *pair != nullptr; pair += 2)
            if (std::strcmp(pair[0], name) == 0) return pair[1];
        return nullptr;
    }
    std::string text(const char* name) const {
        const char* found = find(name);
        return found == nullptr ? "" : found;
    }
};

/// Returns name="text".
inline std::string quoted(const char* name, const char* text) {
    return std::string(name) + "=\"" + printable(text) + "\"";
}

}  // namespace surrogate::vtk
