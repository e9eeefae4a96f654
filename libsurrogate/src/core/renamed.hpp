// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <functional>
#include <span>
#include <string>
#include <string_view>

namespace surrogate::impl {

/// A name of version 0.1, which version 0.2 still accepts, and its present name.
struct RenamedName {
    std::string_view old_name, name;
};

/// Returns the present name of what may be an old one.
inline std::string_view present_name(std::span<const RenamedName> list, std::string_view name) {
    const auto found = std::ranges::find(list, name, &RenamedName::old_name);
    return found == list.end() ? name : found->name;
}

/// Returns the name of version 0.1, under which files keep it.
inline std::string_view stored_name(std::span<const RenamedName> list, std::string_view name) {
    const auto found = std::ranges::find(list, name, &RenamedName::name);
    return found == list.end() ? name : found->old_name;
}

/// Returns the line for the log: "option 'x' is now called 'y'; the old name ends with version
/// 0.3".
inline std::string renamed_text(std::string_view kind, std::string_view old_name,
                                std::string_view name) {
    std::string text(kind);
    text.append(" '").append(old_name).append("' is now called '").append(name);
    return text.append("'; the old name ends with version 0.3");
}

}  // namespace surrogate::impl
