// SPDX-License-Identifier: Apache-2.0
#include "pileup/samples.hpp"

#include <surrogate/surrogate_train.h>

#include <array>
#include <cstdio>
#include <surrogate/surrogate_dataset.hpp>
#include <surrogate/surrogate_mpi.hpp>

#include "exchange.hpp"
#include "pileup/inputs.hpp"
#include "put_rows.hpp"
#include "stop.hpp"

namespace pileup {

namespace {

/// Returns the command that writes the file again.
std::string command_of(const Settings& s) {
    std::array<char, 256> text{};
    std::snprintf(text.data(), text.size(),
                  "pileup -samples -seed %llu -events %lld -particles %lld -pileup %lld",
                  static_cast<unsigned long long>(s.seed), static_cast<long long>(s.n_event),
                  static_cast<long long>(s.shape.n_particle),
                  static_cast<long long>(s.shape.n_pileup));
    return text.data();
}

void describe(const Settings& settings, surrogate::NewDataset* set) {
    set->set("title", "Particles of a primary collision and of pile-up");
    set->set("source", command_of(settings));
    set->add_axis("sample", settings.n_event);
    set->add_axis("point", settings.shape.n_particle);
    for (std::size_t c = 0; c < n_coordinate; ++c)
        set->add(coordinates[c].name, {"sample", "point"}, coordinates[c].unit, nullptr,
                 SURROGATE_FLOAT32, axes[c]);
    for (const Input& feature : features)
        set->add(feature.name, {"sample", "point"}, feature.unit, nullptr, SURROGATE_FLOAT32);
    set->add("label", {"sample", "point"}, nullptr, "1: primary, 0: pile-up, -100: not scored",
             SURROGATE_INT64);
}

void write_file(MPI_Comm comm, const Settings& settings) {
    const surrogate::Context context = surrogate::mpi_context(comm);
    surrogate::NewDataset set(context, settings.samples);
    describe(settings, &set);
    set.begin();
    const std::vector<Particle> mine =
        read_events(comm, settings.seed, settings.n_event, settings.shape);
    const int64_t first = mine.empty() ? 0 : mine[0].id;
    for (std::size_t c = 0; c < n_coordinate; ++c)
        tracking::put_rows<double>(&set, coordinates[c].name, first, mine,
                                   [&](const Particle& p) { return coordinates_of(p)[c]; });
    for (std::size_t f = 0; f < n_feature; ++f)
        tracking::put_rows<double>(&set, features[f].name, first, mine,
                                   [&](const Particle& p) { return features_of(p)[f]; });
    tracking::put_rows<int64_t>(&set, "label", first, mine, [](const Particle& p) {
        return is_scored(p) ? int64_t{p.is_primary} : int64_t{SURROGATE_IGNORED_LABEL};
    });
    set.finish();
    if (tracking::rank_of(comm) == 0)
        std::printf("%s: %lld events of %lld particles\n", settings.samples.c_str(),
                    static_cast<long long>(settings.n_event),
                    static_cast<long long>(settings.shape.n_particle));
}

}  // namespace

void write_samples(MPI_Comm comm, const Settings& settings) {
    tracking::stop_on_error([&] { write_file(comm, settings); });
}

}  // namespace pileup
