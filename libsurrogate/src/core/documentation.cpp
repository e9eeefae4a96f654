// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/core/documentation.hpp"

namespace surrogate::impl {

// SURROGATE_DOCDIR: CMAKE_INSTALL_DOCDIR, below the prefix unless it is absolute.
std::string documentation(std::string_view page) {
    const std::string name(page);
    return SURROGATE_DOCDIR "/" + name + " (in the sources share/doc/" + name + ")";
}

}  // namespace surrogate::impl
