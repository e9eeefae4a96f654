// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "coupling/job/job.hpp"

namespace surrogate::tool {

/// The command line of `surrogate convert FILE OUT`.
struct ConvertArguments {
    std::string file;                  ///< safetensors, with a card or without one
    std::string out;                   ///< "": nothing is written, only with dry_run
    std::string card;                  ///< --card: JSON that takes the place of the file's card
    std::vector<std::string> sets;     ///< --set KEY=VALUE, in this order
    std::vector<std::string> removes;  ///< --remove KEY, before the sets
    bool no_checksums = false;         ///< --no-checksums: the new file has none
    bool overwrite = false;            ///< --overwrite: `out` may exist, and may be `file`
    bool dry_run = false;              ///< --dry-run: everything but writing
};

/// Gives a safetensors file a card, or another one: weights, check case and its note stay byte for
/// byte, checksums are those of the new file. What the card says must fit the tensors, or nothing
/// is written: the library itself loads the new file first. Prints what has changed on rank 0.
/// Holds the file about three times in memory on rank 0. Collective; errors are Failure or Error,
/// on every rank with the same text.
void convert(const Job& job, const ConvertArguments& arguments);

}  // namespace surrogate::tool
