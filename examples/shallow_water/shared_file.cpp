// SPDX-License-Identifier: Apache-2.0
#include "shared_file.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>

#include "stop.hpp"

namespace shallow_water {

namespace {

struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, Close>;

int rank_of(MPI_Comm comm) {
    int rank = 0;
    MPI_Comm_rank(comm, &rank);
    return rank;
}

/// Throws the problem of rank 0 on all ranks, if there is one.
void agree(MPI_Comm comm, std::string problem) {
    int size = static_cast<int>(problem.size());
    MPI_Bcast(&size, 1, MPI_INT, 0, comm);
    problem.resize(static_cast<std::size_t>(size));
    MPI_Bcast(problem.data(), size, MPI_CHAR, 0, comm);
    if (size > 0) throw Stop(problem);
}

/// Returns the bytes, or none and a problem.
std::vector<char> read_file(const std::string& path, std::string* problem) {
    const File file(std::fopen(path.c_str(), "rb"));
    if (!file) {
        *problem = path + " cannot be opened: " + std::strerror(errno);
        return {};
    }
    std::vector<char> bytes;
    char chunk[1 << 16];
    while (const std::size_t n = std::fread(chunk, 1, sizeof chunk, file.get()))
        bytes.insert(bytes.end(), chunk, chunk + n);
    if (std::ferror(file.get()) || bytes.size() > 0x7fffffff) *problem = path + " cannot be read";
    return bytes;
}

std::string write_file(const std::string& path, const std::vector<char>& bytes) {
    const std::string temporary = path + ".part";
    File file(std::fopen(temporary.c_str(), "wb"));
    if (!file) return path + " cannot be written: " + std::strerror(errno);
    const bool is_written = std::fwrite(bytes.data(), 1, bytes.size(), file.get()) == bytes.size();
    const bool is_closed = std::fclose(file.release()) == 0;
    std::error_code error;
    if (is_written && is_closed) std::filesystem::rename(temporary, path, error);
    if (is_written && is_closed && !error) return "";
    std::filesystem::remove(temporary, error);
    return path + " cannot be written: " + std::strerror(errno);
}

}  // namespace

std::vector<char> read_shared(MPI_Comm comm, const std::string& path) {
    std::string problem;
    std::vector<char> bytes;
    if (rank_of(comm) == 0) bytes = read_file(path, &problem);
    agree(comm, problem);
    int size = static_cast<int>(bytes.size());
    MPI_Bcast(&size, 1, MPI_INT, 0, comm);
    bytes.resize(static_cast<std::size_t>(size));
    MPI_Bcast(bytes.data(), size, MPI_CHAR, 0, comm);
    return bytes;
}

void write_shared(MPI_Comm comm, const std::string& path, const std::vector<char>& bytes) {
    agree(comm, rank_of(comm) == 0 ? write_file(path, bytes) : "");
}

}  // namespace shallow_water
