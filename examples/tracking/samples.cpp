// SPDX-License-Identifier: Apache-2.0
#include "samples.hpp"

#include <surrogate/surrogate_train.h>

#include <array>
#include <cstdio>
#include <numeric>
#include <surrogate/surrogate_dataset.hpp>
#include <surrogate/surrogate_mpi.hpp>

#include "exchange.hpp"
#include "features.hpp"
#include "put_rows.hpp"
#include "stop.hpp"
#include "tracks.hpp"

namespace tracking {

namespace {

/// Returns the command that writes the file again.
std::string command_of(const Settings& s) {
    std::array<char, 256> text{};
    std::snprintf(text.data(), text.size(),
                  "tracking -samples -seed %llu -events %lld -hits %lld -pileup %lld -noise %.9g "
                  "-efficiency %.9g",
                  static_cast<unsigned long long>(s.seed), static_cast<long long>(s.n_event),
                  static_cast<long long>(s.shape.n_hit),
                  static_cast<long long>(s.shape.n_collision - 1), s.shape.noise,
                  s.shape.efficiency);
    return text.data();
}

void describe(const Settings& settings, int64_t n_row, surrogate::NewDataset* set) {
    set->set("title", "Hits of charged particles in a synthetic detector");
    set->set("source", command_of(settings));
    set->add_axis("sample", settings.n_event);
    set->add_axis("row", n_row);
    set->add_axis("row_start", settings.n_event + 1);
    set->add("offset", {"row_start"}, nullptr, "first row of each sample", SURROGATE_INT64);
    for (std::size_t c = 0; c < n_coordinate; ++c)
        set->add(coordinate_names[c].name, {"row"}, coordinate_names[c].unit, nullptr,
                 SURROGATE_FLOAT32, axis_names[c]);
    for (const Feature& feature : feature_names)
        set->add(feature.name, {"row"}, feature.unit, nullptr, SURROGATE_FLOAT32);
    set->add("particle", {"row"}, nullptr, "particle of the hit, -100: noise", SURROGATE_INT64);
    set->add("pt", {"row"}, "GeV", "momentum of the particle across the beam", SURROGATE_FLOAT32);
    set->add("weight", {"row"}, "1", "1: hit of a particle that counts", SURROGATE_FLOAT32);
}

void put_event(surrogate::NewDataset* set, int64_t first, const std::vector<Hit>& hits) {
    for (std::size_t c = 0; c < n_coordinate; ++c)
        put_rows<double>(set, coordinate_names[c].name, first, hits,
                         [&](const Hit& hit) { return coordinates_of(hit)[c]; });
    for (std::size_t f = 0; f < n_feature; ++f)
        put_rows<double>(set, feature_names[f].name, first, hits,
                         [&](const Hit& hit) { return features_of(hit)[f]; });
    put_rows<int64_t>(set, "particle", first, hits, [](const Hit& hit) {
        return hit.particle < 0 ? int64_t{SURROGATE_IGNORED_LABEL} : hit.particle;
    });
    put_rows<double>(set, "pt", first, hits, [](const Hit& hit) { return hit.momentum; });
    put_rows<double>(set, "weight", first, hits, [](const Hit& hit) {
        return hit.particle >= 0 && hit.n_of_particle >= int32_t{min_hits} ? 1.0 : 0.0;
    });
}

void write_file(MPI_Comm comm, const Settings& settings) {
    const LocalRange mine(comm, settings.n_event);
    const auto event_of = [&](int64_t event) {
        return read_events(MPI_COMM_SELF, settings.seed + uint64_t(event), 1, settings.shape);
    };
    std::vector<int64_t> offset(std::size_t(settings.n_event + 1), 0);
    for (int64_t event = mine.first; event < mine.last; ++event)
        offset[std::size_t(event + 1)] = int64_t(event_of(event).size());
    MPI_Allreduce(MPI_IN_PLACE, offset.data(), int(offset.size()), MPI_INT64_T, MPI_SUM, comm);
    std::partial_sum(offset.begin(), offset.end(), offset.begin());

    const surrogate::Context context = surrogate::mpi_context(comm);
    surrogate::NewDataset set(context, settings.samples);
    describe(settings, offset.back(), &set);
    set.begin();
    if (rank_of(comm) == 0)
        set.put("offset", 0, surrogate::column(offset.data(), int64_t(offset.size())));
    for (int64_t event = mine.first; event < mine.last; ++event)
        put_event(&set, offset[std::size_t(event)], event_of(event));
    set.finish();
    if (rank_of(comm) == 0)
        std::printf("%s: %lld hits in %lld events\n", settings.samples.c_str(),
                    static_cast<long long>(offset.back()),
                    static_cast<long long>(settings.n_event));
}

}  // namespace

void write_samples(MPI_Comm comm, const Settings& settings) {
    stop_on_error([&] { write_file(comm, settings); });
}

}  // namespace tracking
