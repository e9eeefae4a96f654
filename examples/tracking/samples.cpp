// SPDX-License-Identifier: Apache-2.0
#include "samples.hpp"

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "exchange.hpp"
#include "stop.hpp"

namespace tracking {

namespace {

constexpr std::size_t n_column = 14;

/// Returns the header of a .npy file of version 1.0, a multiple of 64 bytes.
std::string npy_head(std::size_t n_row) {
    std::string text = "{'descr': '<f8', 'fortran_order': False, 'shape': (" +
                       std::to_string(n_row) + ", " + std::to_string(n_column) + "), }";
    constexpr std::size_t before = 10;  // magic, version, length of the text
    text.append(63 - (before + text.size()) % 64, ' ');
    text += '\n';
    const auto n = static_cast<unsigned>(text.size());
    return std::string("\x93NUMPY\x01\x00", 8) + char(n & 255) + char(n >> 8) + text;
}

bool write_file(const std::string& path, const std::vector<Hit>& hits) {
    std::FILE* file = std::fopen(path.c_str(), "wb");
    if (!file) return false;
    const std::string head = npy_head(hits.size());
    bool is_written = std::fwrite(head.data(), 1, head.size(), file) == head.size();
    for (const Hit& h : hits) {
        const std::array<double, n_column> row = {
            double(h.layer), h.radius,     h.azimuth,          h.z,           h.charge,
            h.local_eta,     h.local_phi,  h.size_along,       h.size_across, h.size_depth,
            h.global_eta,    h.global_phi, double(h.particle), h.momentum};
        is_written &= std::fwrite(row.data(), sizeof row, 1, file) == 1;
    }
    return std::fclose(file) == 0 && is_written;
}

}  // namespace

void write_samples(MPI_Comm comm, const Settings& settings) {
    const int rank = rank_of(comm);
    std::error_code ignored;  // the error is reported for the file that cannot be written then
    if (rank == 0) std::filesystem::create_directories(settings.samples, ignored);
    for (int64_t event = 0; event < settings.n_event; ++event) {
        const uint64_t seed = settings.seed + uint64_t(event);
        std::vector<std::vector<Hit>> to(std::size_t(size_of(comm)));
        to[0] = read_events(comm, seed, 1, settings.shape);
        std::vector<Hit> all = exchange_rows(comm, to);
        std::sort(all.begin(), all.end(), [](const Hit& a, const Hit& b) { return a.id < b.id; });
        char name[64];
        std::snprintf(name, sizeof name, "/event_%06llu_%07lld.npy",
                      static_cast<unsigned long long>(seed),
                      static_cast<long long>(settings.shape.n_hit));
        int is_written = rank != 0 || write_file(settings.samples + name, all);
        MPI_Bcast(&is_written, 1, MPI_INT, 0, comm);
        if (!is_written) throw Stop(settings.samples + name + " cannot be written");
    }
}

}  // namespace tracking
