// SPDX-License-Identifier: Apache-2.0
#include "report.hpp"

#include <cstdio>
#include <numeric>

#include "exchange.hpp"

namespace tracking {

namespace {

void print_head(MPI_Comm comm, const Settings& settings, const Result& r) {
    const int n_rank = size_of(comm);
    std::printf("Tracks: %lld hits in %lld event%s of %lld collision%s, %d rank%s\n",
                static_cast<long long>(r.n_hit), static_cast<long long>(settings.n_event),
                settings.n_event == 1 ? "" : "s",
                static_cast<long long>(settings.shape.n_collision),
                settings.shape.n_collision == 1 ? "" : "s", n_rank, n_rank == 1 ? "" : "s");
    if (r.has_surrogate)
        std::printf("Surrogate: %s\n  %s\n", settings.model.c_str(), r.how.c_str());
    if (!r.problem.empty()) std::printf("surrogate not available: %s\n", r.problem.c_str());
    if (!r.has_surrogate) std::printf("Hits are joined by their direction from the vertex.\n");
    if (r.fraction_outside > 0.01)
        std::printf("%.0f %% of the hits are outside the training data\n",
                    100 * r.fraction_outside);
}

void print_row(const char* range, int64_t n_particle, int64_t n_found, int64_t n_candidate,
               int64_t n_fake) {
    const auto share = [](int64_t part, int64_t whole) {
        return whole > 0 ? 100 * double(part) / double(whole) : 0;
    };
    std::printf("%12s %10lld %10lld %10.1f %% %11lld %8lld %8.1f %%\n", range,
                static_cast<long long>(n_particle), static_cast<long long>(n_found),
                share(n_found, n_particle), static_cast<long long>(n_candidate),
                static_cast<long long>(n_fake), share(n_fake, n_candidate));
}

void print_table(const Score& s) {
    std::printf("\n%12s %10s %10s %12s %11s %8s %10s\n", "pT [GeV]", "particles", "found",
                "efficiency", "candidates", "fakes", "fake rate");
    for (std::size_t b = 0; b < momentum_bins.size(); ++b) {
        char range[32];
        if (b + 1 < momentum_bins.size())
            std::snprintf(range, sizeof range, "%.1f .. %.1f", momentum_bins[b],
                          momentum_bins[b + 1]);
        else
            std::snprintf(range, sizeof range, "%.1f ..", momentum_bins[b]);
        print_row(range, s.n_particle[b], s.n_found[b], s.n_candidate[b], s.n_fake[b]);
    }
    const auto sum = [](const Score::Counts& c) {
        return std::accumulate(c.begin(), c.end(), int64_t{0});
    };
    print_row("all", sum(s.n_particle), sum(s.n_found), sum(s.n_candidate), sum(s.n_fake));
}

}  // namespace

void print_result(MPI_Comm comm, const Settings& settings, const Result& r) {
    if (rank_of(comm) != 0) return;
    print_head(comm, settings, r);
    std::printf(
        "embedding, %lld hits above %g GeV: accuracy@k %.1f %%, average precision %.1f %%\n",
        static_cast<long long>(r.embedding.n_hit), scored_momentum, 100 * r.embedding.accuracy,
        100 * r.embedding.average_precision);
    print_table(r.score);
    std::printf("\ntracks %016llx: hash of the groups of joined hits, at radius %g\n",
                static_cast<unsigned long long>(r.fingerprint), r.radius);
    if (r.has_surrogate)
        std::printf("seconds: plan %.3f, surrogate %.3f, scores %.3f, joining %.3f\n",
                    r.seconds_plan, r.seconds_surrogate, r.seconds_score, r.seconds_join);
    else
        std::printf("seconds: joining %.3f\n", r.seconds_join);
    std::printf(
        "\nParticles and candidates of %d hits or more. A candidate has found a particle if more "
        "than half of its\nhits are the particle's and more than half of the particle's hits are "
        "in it (double majority); otherwise\nit is a fake. Particles by their momentum across the "
        "beam, candidates by that of a circle through their\nhits.\n",
        int(min_hits));
    if (!settings.output.empty())
        std::printf("%s/hits.pvd, tracks.pvd: for ParaView; tracks.png: particles, candidates\n",
                    settings.output.c_str());
}

}  // namespace tracking
