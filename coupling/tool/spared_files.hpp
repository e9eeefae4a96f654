// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace surrogate::tool {

/// Refuses an output (`target`, given to `option`) that would replace one of the files that `words`
/// name: by itself or by the temporary it is written to, whatever the spelling, also by links; files
/// that do not exist yet count by their full names, devices never. Local. Throws Failure bad_usage.
void spare_files(const std::string& option, const std::string& target,
                 const std::vector<std::string>& words);

}  // namespace surrogate::tool
