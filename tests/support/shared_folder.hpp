// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>
#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "tests/support/ranks.hpp"

namespace surrogate::test {

inline std::string bytes_of(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

inline void write_bytes(const std::string& path, const std::string& bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
}

/// A folder of its own for a test, the same on all ranks; empty again at the end.
class SharedFolder {
public:
    explicit SharedFolder(MPI_Comm comm) : comm_(comm) {
        int pid = ::getpid();
        MPI_Bcast(&pid, 1, MPI_INT, 0, comm);
        path_ = testing::TempDir() + "shared_" + std::to_string(pid);
        std::filesystem::create_directories(path_);
        MPI_Barrier(comm);
    }
    ~SharedFolder() {
        MPI_Barrier(comm_);
        std::error_code ignored;
        if (rank_of(comm_) == 0) std::filesystem::remove_all(path_, ignored);
        MPI_Barrier(comm_);
    }
    std::string operator/(const std::string& name) const { return path_ + "/" + name; }
    std::vector<std::string> names() const {
        std::vector<std::string> names;
        for (const auto& entry : std::filesystem::directory_iterator(path_))
            names.push_back(entry.path().filename().string());
        std::sort(names.begin(), names.end());
        return names;
    }

private:
    MPI_Comm comm_;
    std::string path_;
};

}  // namespace surrogate::test
