// SPDX-License-Identifier: Apache-2.0
// Tracks of charged particles in a synthetic detector: a trained HEPT model maps hits to a space in
// which hits of a particle are close together, and neighbors in this space are joined.
//
// Build, with libsurrogate installed in PREFIX (or in its own build tree, where this program is
// build/bin/tracking):
//     cmake -S examples/tracking -B build-tracking -DCMAKE_PREFIX_PATH=PREFIX
//     cmake --build build-tracking
//
// Sample runs:
//     mpirun -n 2 tracking -output out                3000 hits; out/hits.pvd, out/tracks.pvd,
//                                                     out/tracks.png
//     mpirun -n 2 tracking -events 20                 twenty events at once
//     mpirun -n 2 tracking -pileup 20 -noise 0.1      collisions along the beam, more noise
//     mpirun -n 4 tracking -surrogate_reproducible    the same tracks on any number of ranks
//     tracking -model ""                              without a surrogate, for comparison
//     tracking -samples hits.h5 -hits 3000 -seed 1000 -events 300
//                                                     data for training (tutorials/tracking.md)
//
// Prints scores of the embedding, efficiency and fake rate against momentum, and the seconds of the
// surrogate and of joining.
//
// The coupling is in embedder.cpp (all calls of libsurrogate) and output.cpp (files).
#include <cstdio>

#include "embedder.hpp"
#include "embedding_score.hpp"
#include "exchange.hpp"
#include "join.hpp"
#include "output.hpp"
#include "picture.hpp"
#include "program.hpp"
#include "report.hpp"
#include "samples.hpp"
#include "stop.hpp"

namespace tracking {

namespace {

/// Computes the embedding by the surrogate, or by direction if there is none; *result has the
/// reason.
Embedding embed(MPI_Comm comm, const Settings& settings, const std::vector<Hit>& hits,
                Result* result) {
    if (settings.model.empty()) return embed_by_direction(hits);
    try {
        Embedder embedder(comm, settings.model, settings.is_reproducible);
        double begin = MPI_Wtime();
        embedder.plan(hits);
        result->seconds_plan = seconds_since(comm, begin);
        begin = MPI_Wtime();
        Embedding embedding = embedder.embed(hits);
        result->seconds_surrogate = seconds_since(comm, begin);
        result->fraction_outside = embedder.fraction_outside();
        result->how = embedder.how();
        result->has_surrogate = true;
        return embedding;
    } catch (const surrogate::Error& error) {
        if (is_lost(error)) throw;
        result->problem = error.what();
        return embed_by_direction(hits);
    }
}

void run(MPI_Comm comm, const Settings& settings) {
    const std::vector<Hit> hits =
        read_events(comm, settings.seed, settings.n_event, settings.shape);
    Result result;
    result.n_hit = int64_t(hits.size());
    MPI_Allreduce(MPI_IN_PLACE, &result.n_hit, 1, MPI_INT64_T, MPI_SUM, comm);
    const Embedding embedding = embed(comm, settings, hits, &result);
    result.radius = settings.radius > 0 ? settings.radius : embedding.radius;
    double begin = MPI_Wtime();
    result.embedding = embedding_score(comm, hits, embedding, scored_momentum);
    result.seconds_score = seconds_since(comm, begin);
    begin = MPI_Wtime();
    const std::vector<int64_t> labels = join(comm, hits, embedding, result.radius);
    const std::vector<Track> candidates = collect(comm, hits, labels);
    result.seconds_join = seconds_since(comm, begin);
    const std::vector<Track> particles = collect(comm, hits, true_labels(hits));
    result.score = score_of(comm, candidates, particles);
    result.fingerprint = fingerprint(comm, hits, labels);
    if (!settings.output.empty()) {
        make_directory(comm, settings.output);
        write_hits(comm, settings.output, hits, labels);
        write_tracks(comm, settings.output, candidates);
        write_picture(comm, settings.output + "/tracks.png", particles, candidates);
    }
    print_result(comm, settings, result);
}

}  // namespace

}  // namespace tracking

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    const MPI_Comm comm = MPI_COMM_WORLD;
    const int status = tracking::guarded(comm, "tracking", argc, argv, [&](const auto& arguments) {
        tracking::dispatch(comm, tracking::Settings::read(arguments), tracking::run,
                           tracking::write_samples);
    });
    MPI_Finalize();
    return status;
}
