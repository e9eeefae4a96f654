// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace surrogate::tool {

/// Writes a whole file or leaves what was there: into a temporary file of the same directory, to
/// the disk, then under its name. A link is followed; an existing file keeps its permissions.
/// Devices and pipes (/dev/stdout) have nothing to replace and are written as they are. Local.
/// Throws Failure bad_usage with the path and the reason of the system.
void write_atomically(const std::string& path, std::string_view bytes);

/// The same file on the disk, whatever the two names are: device and inode, so that "./a", links
/// and hard links are seen. Files that do not exist (yet) are compared by their full names; devices
/// and pipes hold nothing that could be overwritten and are never the same.
bool is_same_file(const std::string& a, const std::string& b);

}  // namespace surrogate::tool
