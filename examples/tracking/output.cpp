// SPDX-License-Identifier: Apache-2.0
#include "output.hpp"

#include <cmath>
#include <filesystem>
#include <surrogate/surrogate_vtk.hpp>

#include "exchange.hpp"
#include "stop.hpp"

namespace tracking {

namespace {

void add_place(const Hit& hit, std::vector<double>* places) {
    places->push_back(hit.radius * std::cos(hit.azimuth));
    places->push_back(hit.radius * std::sin(hit.azimuth));
    places->push_back(hit.z);
}

/// Writes a series of one step. Errors of any rank are thrown on all ranks.
void write_series(MPI_Comm comm, const std::string& path, const surrogate_mesh& mesh,
                  const std::vector<surrogate_series_field>& fields) {
    const int rank = rank_of(comm), size = size_of(comm);
    surrogate::Series series(path, rank, size);
    const surrogate_piece mine = series.write(0, mesh, fields);
    std::vector<surrogate_piece> all(static_cast<std::size_t>(size));
    MPI_Allgather(&mine, sizeof mine, MPI_BYTE, all.data(), sizeof mine, MPI_BYTE, comm);
    int is_published = 1;
    std::string text;
    try {
        if (rank == 0) series.publish(all);
    } catch (const surrogate::Error& error) {
        is_published = 0;
        text = error.what();
    }
    MPI_Bcast(&is_published, 1, MPI_INT, 0, comm);
    if (!is_published) throw Stop(path + " cannot be written" + (text.empty() ? "" : ": " + text));
}

}  // namespace

void make_directory(MPI_Comm comm, const std::string& directory) {
    std::error_code error;
    if (rank_of(comm) == 0) std::filesystem::create_directories(directory, error);
    int failed = error ? 1 : 0;
    MPI_Bcast(&failed, 1, MPI_INT, 0, comm);
    if (failed) throw Stop("-output " + directory + ": cannot create the directory");
}

void write_on_root(MPI_Comm comm, const std::string& path, const std::function<void()>& write) {
    int is_written = 1;
    std::string text;
    try {
        if (rank_of(comm) == 0) write();
    } catch (const surrogate::Error& error) {
        is_written = 0;
        text = error.what();
    }
    MPI_Bcast(&is_written, 1, MPI_INT, 0, comm);
    if (!is_written) throw Stop(path + " cannot be written" + (text.empty() ? "" : ": " + text));
}

void write_hits(MPI_Comm comm, const std::string& directory, const std::vector<Hit>& hits,
                const std::vector<int64_t>& labels) {
    const auto n = static_cast<int64_t>(hits.size());
    std::vector<double> places, momentum;
    std::vector<int64_t> event, particle;
    std::vector<int32_t> layer;
    for (const Hit& hit : hits) {
        add_place(hit, &places);
        momentum.push_back(hit.momentum);
        event.push_back(hit.event);
        particle.push_back(hit.particle);
        layer.push_back(hit.layer);
    }
    write_series(
        comm, directory + "/hits.pvd", surrogate::cloud(surrogate::matrix(places.data(), n, 3)),
        {surrogate::point_field("event", surrogate::column(event.data(), n), "1"),
         surrogate::point_field("particle", surrogate::column(particle.data(), n), "1"),
         surrogate::point_field("track", surrogate::column(labels.data(), n), "1"),
         surrogate::point_field("layer", surrogate::column(layer.data(), n), "1"),
         surrogate::point_field("momentum", surrogate::column(momentum.data(), n), "GeV")});
}

void write_tracks(MPI_Comm comm, const std::string& directory, const std::vector<Track>& tracks) {
    constexpr uint8_t poly_line = 4;  // VTK's number
    const auto n = static_cast<int64_t>(tracks.size());
    std::vector<double> places, momentum;
    std::vector<int64_t> event, n_hit, offsets{0}, points;
    std::vector<int32_t> is_matched;
    for (const Track& track : tracks) {
        for (const Hit& hit : track.hits) {
            add_place(hit, &places);
            points.push_back(int64_t(points.size()));
        }
        offsets.push_back(int64_t(points.size()));
        momentum.push_back(track.momentum);
        event.push_back(track.hits[0].event);
        n_hit.push_back(int64_t(track.hits.size()));
        is_matched.push_back(track.particle >= 0);
    }
    const std::vector<uint8_t> types(tracks.size(), poly_line);
    const auto place = surrogate::matrix(places.data(), int64_t(points.size()), 3);
    write_series(
        comm, directory + "/tracks.pvd", surrogate::cells(place, offsets, points, types),
        {surrogate::cell_field("momentum", surrogate::column(momentum.data(), n), "GeV"),
         surrogate::cell_field("event", surrogate::column(event.data(), n), "1"),
         surrogate::cell_field("n_hits", surrogate::column(n_hit.data(), n), "1"),
         surrogate::cell_field("is_matched", surrogate::column(is_matched.data(), n), "1")});
}

}  // namespace tracking
