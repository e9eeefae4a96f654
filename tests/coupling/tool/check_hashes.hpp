// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fstream>
#include <map>
#include <string>

namespace surrogate::tool {

/// Hashes of the launch on one rank, by "file backend", kept in a file of the build folder for the
/// launches on more.
class Hashes {
public:
    Hashes(std::string path, bool is_author) : path_(std::move(path)), is_author_(is_author) {
        std::ifstream file(path_);
        std::string name, backend, hash;
        while (!is_author && file >> name >> backend >> hash) known_[name + " " + backend] = hash;
    }
    ~Hashes() {
        if (!is_author_) return;
        std::ofstream file(path_);
        for (const auto& [key, hash] : known_) file << key << " " << hash << "\n";
    }
    /// The hash to be met; on one rank the first one that is seen.
    std::string expected(const std::string& key, const std::string& found) {
        if (is_author_) known_.try_emplace(key, found);
        return known_.count(key) ? known_[key]
                                 : "(no hash from one rank: run the test on one rank first)";
    }

private:
    std::string path_;
    bool is_author_;
    std::map<std::string, std::string> known_;
};

}  // namespace surrogate::tool
