// SPDX-License-Identifier: Apache-2.0
#include "coupling/tool/evaluate.hpp"
#include "coupling/tool/train.hpp"
#include "coupling/training/dataset_trial.hpp"

namespace surrogate::tool {

namespace {

[[noreturn]] void refuse(const std::string& subcommand) {
    throw Failure(Exit::bad_usage,
                  "this build has no `" + subcommand +
                      "`: it needs HDF5, in which data sets are stored, and toml++ (Debian: "
                      "libhdf5-openmpi-dev libtomlplusplus-dev)");
}

}  // namespace

Exit train(Job& /*job*/, const TrainArguments& /*arguments*/) {
    refuse("train");
}

void evaluate(const Job& /*job*/, const EvaluateArguments& /*arguments*/) {
    refuse("evaluate");
}

bool is_dataset_trial(int, char**) {
    return false;
}

int run_dataset_trial(char**) {
    return static_cast<int>(Exit::bad_usage);
}

}  // namespace surrogate::tool
