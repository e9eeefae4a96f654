// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace surrogate::impl {

/// Returns the path of a page for messages: "share/doc/surrogate/how-to/use-gpus.md (in the sources
/// share/doc/how-to/use-gpus.md)", the first below the prefix of the installation. A test checks
/// that every page named exists there.
std::string documentation(std::string_view page);

}  // namespace surrogate::impl
