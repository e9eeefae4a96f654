// SPDX-License-Identifier: Apache-2.0
// write_models DIRECTORY: the model files with which PETSc's tutorials are started.
#include <cstdio>

#include "tests/coupling/petsc_plugin/flare_files.hpp"

int main(int argc, char** argv) {
    using namespace surrogate::test;
    if (argc != 2) {
        std::fprintf(stderr, "usage: write_models DIRECTORY\n");
        return 2;
    }
    const std::string folder = std::string(argv[1]) + "/";
    const std::vector<CardInput> cube = {{"x", 0}, {"y", 1}, {"z", 2}, {"rhs"}, {"diagonal"}};
    const std::vector<CardInput> square = {{"x", 0}, {"y", 1}, {"rhs"}};
    const std::vector<CardInput> cavity = {{"x", 0},       {"y", 1},  {"x_velocity"},
                                           {"y_velocity"}, {"Omega"}, {"temperature"}};
    const std::vector<CardOutput> state = {
        {"x_velocity"}, {"y_velocity"}, {"Omega"}, {"temperature"}};
    // ex45: u is 1 on the boundary and at most 1.06 inside.
    write_file(folder + "ex45_good.safetensors", small_flare(cube, {{"u", 1.03}}, true));
    write_file(folder + "ex45_bad.safetensors", small_flare(cube, {{"u", 1}}, false));
    write_file(folder + "ex29_bad.safetensors", small_flare(square, {{"pressure", 1}}, false));
    write_file(folder + "ex19_bad.safetensors", small_flare(cavity, state, false));
    return 0;
}
