// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>
#include <vector>

#include "exchange.hpp"
#include "stop.hpp"

namespace tracking {

/// Runs a program with its arguments; returns its exit status. Errors of all ranks are printed
/// once, others end all ranks. Collective.
template <class Run>
int guarded(MPI_Comm comm, const char* name, int argc, char** argv, const Run& run) {
    const int rank = rank_of(comm);
    const auto tell = [&](const std::exception& error) {
        if (rank == 0) std::fprintf(stderr, "%s: %s\n", name, error.what());
    };
    try {
        run(std::vector<std::string>(argv + 1, argv + argc));
        return 0;
    } catch (const std::invalid_argument& error) {  // invalid arguments are the same on every rank
        tell(error);
        return 2;
    } catch (const Stop& error) {
        tell(error);
        return 1;
    } catch (const std::exception& error) {  // of this rank only: others may wait for it
        std::fprintf(stderr, "%s, rank %d: %s\n", name, rank, error.what());
        MPI_Abort(comm, 1);
    }
    return 1;
}

/// Does what the options ask for: prints the help, writes samples, or runs. Collective.
template <class Settings, class Run, class Write>
void dispatch(MPI_Comm comm, const Settings& settings, const Run& run, const Write& write_samples) {
    if (settings.asks_for_help) {
        if (rank_of(comm) == 0) std::fputs(Settings::help().c_str(), stdout);
    } else if (!settings.samples.empty()) {
        write_samples(comm, settings);
    } else {
        run(comm, settings);
    }
}

/// Returns the seconds since `begin` on the slowest rank. Collective.
inline double seconds_since(MPI_Comm comm, double begin) {
    double seconds = MPI_Wtime() - begin;
    MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, comm);
    return seconds;
}

}  // namespace tracking
