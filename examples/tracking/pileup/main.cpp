// SPDX-License-Identifier: Apache-2.0
// Pile-up: a trained HEPT model tells which neutral particles of an event come from the primary
// collision, and which from the many other collisions at the same time.
//
// It is built with the example tracking.
//
// Sample runs:
//     mpirun -n 2 pileup -output out              10,000 particles; out/pileup.png
//     mpirun -n 2 pileup -events 20 -pileup 60    twenty events at once, fewer collisions
//     pileup -model ""                            without a surrogate, for comparison
//     pileup -samples pileup.h5 -seed 1000 -events 100
//                                                 data for training (tutorials/tracking.md)
//
// Prints average precisions of the model, of a sum over neighbors, and of a random order.
//
// The coupling is in classifier.cpp.
#include <cstdio>
#include <surrogate/surrogate.hpp>

#include "output.hpp"
#include "pileup/classifier.hpp"
#include "pileup/picture.hpp"
#include "pileup/samples.hpp"
#include "pileup/score.hpp"
#include "program.hpp"

namespace pileup {

namespace {

/// Evaluates the model if there is one; *problem has the reason if it is not available.
Prediction predict(MPI_Comm comm, const Settings& settings, const std::vector<Particle>& particles,
                   std::string* problem) {
    if (!settings.model.empty()) {
        try {
            return classify(comm, settings.model, settings.is_reproducible, particles);
        } catch (const surrogate::Error& error) {
            if (tracking::is_lost(error)) throw;
            *problem = error.what();
        }
    }
    Prediction none;
    none.probability.assign(particles.size(), 0);
    return none;
}

void print(const Settings& settings, int n_rank, const Prediction& prediction, const Score& score) {
    std::printf("Pile-up: %lld particles in %lld event%s of 1 + %lld collisions, %d rank%s\n",
                static_cast<long long>(settings.shape.n_particle * settings.n_event),
                static_cast<long long>(settings.n_event), settings.n_event == 1 ? "" : "s",
                static_cast<long long>(settings.shape.n_pileup), n_rank, n_rank == 1 ? "" : "s");
    if (!prediction.how.empty())
        std::printf("Surrogate: %s\n  %s\n", settings.model.c_str(), prediction.how.c_str());
    std::printf("\naverage precision, %lld neutral particles above %g GeV:\n",
                static_cast<long long>(score.n_scored), scored_pt);
    if (!prediction.how.empty()) std::printf("%28s %6.1f %%\n", "surrogate", 100 * score.model);
    std::printf("%28s %6.1f %%\n%28s %6.1f %%\n", "sum over charged neighbors",
                100 * score.neighbors, "random order", 100 * score.share);
    if (!prediction.how.empty())
        std::printf("\nseconds: plan %.3f, surrogate %.3f\n", prediction.seconds_plan,
                    prediction.seconds_run);
}

void run(MPI_Comm comm, const Settings& settings) {
    const std::vector<Particle> particles =
        read_events(comm, settings.seed, settings.n_event, settings.shape);
    std::string problem;
    const Prediction prediction = predict(comm, settings, particles, &problem);
    const Score score = score_of(comm, particles, prediction.probability);
    if (!settings.output.empty()) {
        tracking::make_directory(comm, settings.output);
        write_picture(comm, settings.output + "/pileup.png", particles, prediction.probability);
    }
    if (tracking::rank_of(comm) != 0) return;
    if (!problem.empty()) std::printf("surrogate not available: %s\n", problem.c_str());
    print(settings, tracking::size_of(comm), prediction, score);
}

}  // namespace

}  // namespace pileup

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    const MPI_Comm comm = MPI_COMM_WORLD;
    const int status = tracking::guarded(comm, "pileup", argc, argv, [&](const auto& arguments) {
        tracking::dispatch(comm, pileup::Settings::read(arguments), pileup::run,
                           pileup::write_samples);
    });
    MPI_Finalize();
    return status;
}
