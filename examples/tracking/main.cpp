// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <exception>
#include <stdexcept>

#include "exchange.hpp"
#include "samples.hpp"
#include "stop.hpp"

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    const auto settings = tracking::Settings::read({argv + 1, argv + argc});
    if (settings.samples.empty()) throw std::invalid_argument("-samples DIR is needed");
    tracking::write_samples(MPI_COMM_WORLD, settings);
    MPI_Finalize();
}
