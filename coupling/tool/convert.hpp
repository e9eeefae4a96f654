// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "coupling/job/job.hpp"

namespace surrogate::tool {

/// Arguments of `surrogate convert FILE OUT`.
struct ConvertArguments {
    std::string file;                  ///< safetensors, with or without a card
    std::string out;                   ///< "": no output, only with dry_run
    std::string card;                  ///< --card: JSON that replaces the file's card
    std::vector<std::string> sets;     ///< --set KEY=VALUE, in this order
    std::vector<std::string> removes;  ///< --remove KEY, before the sets
    bool no_checksums = false;         ///< --no-checksums: the new file has none
    bool overwrite = false;            ///< --overwrite: `out` may exist, and may be `file`
    bool dry_run = false;              ///< --dry-run: everything except writing
};

/// Adds a card to a safetensors file, or replaces or edits the card. Weights, check case and its
/// note stay unchanged byte for byte; checksums are computed for the new file. The card must match
/// the tensors, otherwise nothing is written: the library loads the new file first. Prints the
/// changes on rank 0. Rank 0 needs about three times the size of the file in memory. Collective;
/// errors are Failure or Error, on all ranks with the same text.
void convert(const Job& job, const ConvertArguments& arguments);

}  // namespace surrogate::tool
