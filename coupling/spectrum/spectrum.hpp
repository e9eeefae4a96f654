// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "coupling/job/job.hpp"

namespace surrogate::tool {

/// Arguments of `surrogate spectrum MODEL`.
struct SpectrumArguments {
    std::string model;
    std::string mesh;               ///< --mesh: points and fields; "": the file's check case
    std::vector<std::string> maps;  ///< --map, --set, --at, --ignore-units: as for predict
    std::vector<std::string> numbers;
    std::string at;
    bool ignore_units = false;
    std::optional<int64_t> block;    ///< --block: this block only; default: all
    std::string csv, plot;           ///< --csv, --plot; "": none
    std::string precision = "fp64";  ///< --precision: of the network; the spectrum itself is double
    std::string threads;
    bool overwrite = false;
};

/// Computes the eigenvalues of FLARE's mixing matrices (mixing_spectrum.hpp), per sample, block and
/// head, on points that are distributed over the ranks: a table on rank 0's stdout, all numbers in
/// --csv, curves in --plot. The model is evaluated once for each block, up to that block.
/// Collective; errors are Failure, on all ranks: bad_usage (another family, options, files),
/// no_case (no check case and no --mesh), not_passed (numbers that are not finite). A build without
/// Eigen throws Failure.
void spectrum(const Job& job, const SpectrumArguments& arguments);

}  // namespace surrogate::tool
