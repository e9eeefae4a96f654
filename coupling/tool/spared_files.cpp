// SPDX-License-Identifier: Apache-2.0
#include "coupling/tool/spared_files.hpp"

#include <filesystem>

#include "coupling/file/new_file.hpp"
#include "coupling/tool/job.hpp"

namespace surrogate::tool {

namespace {

namespace fs = std::filesystem;

bool is_one_file(const std::string& a, const std::string& b) {
    std::error_code none;
    const file::Identity of_a = file::identity_of(a), of_b = file::identity_of(b);
    if (of_a.exists != of_b.exists) return false;
    if (of_a.exists) return of_a == of_b && fs::is_regular_file(a, none);
    return fs::weakly_canonical(a, none) == fs::weakly_canonical(b, none);
}

}  // namespace

void spare_files(const std::string& option, const std::string& target,
                 const std::vector<std::string>& words) {
    if (target.empty()) return;
    const bool is_device = fs::exists(target) && !fs::is_regular_file(target);
    const std::string temporary = is_device ? target : file::temporary_of(target);
    for (const std::string& word : words)
        for (const std::string& replaced : {target, temporary})
            if (is_one_file(replaced, word))
                throw Failure(Exit::bad_usage, option + " " + target + " would replace " + word +
                                                   ": it is not overwritten, choose another name");
}

}  // namespace surrogate::tool
