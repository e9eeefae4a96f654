// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "libsurrogate/src/file/safetensors.hpp"
#include "libsurrogate/src/model/family/network.hpp"

namespace surrogate::impl {

/// Reference of a file's check case: its check/output64, the official run in
/// double precision; or its check/output alone, the run in single precision; or nothing, because
/// the file has no check case.
enum class CheckTruth { none, single_precision, double_precision };

/// Returns true for a tensor of a check case: check/input/.., check/output/.., check/output64/..;
/// everything else under check/ is for tests.
bool is_check_tensor(std::string_view name);

/// Finds the kind of a check case by names alone: it has a tensor for every input of the network
/// and one for its output, none of them empty; a network of several outputs has none.
CheckTruth check_truth(std::span<const TensorEntry> entries, std::span<const Port> inputs,
                       std::span<const Port> outputs);

/// Returns "none", "single", "double".
const char* name(CheckTruth truth);

/// Returns the allowed |y - truth| / |truth| of a prediction y of a check case.
///   official  the same distance between the official runs in single and double precision; NaN
///             where there are not both
///   accuracy  of the official run in double precision (Network::truth_accuracy)
double check_bound(std::string_view precision, CheckTruth truth, double official, double accuracy);

/// Returns a note for the log about a file that is not fully checked; "" for double precision.
std::string check_note(CheckTruth truth);

}  // namespace surrogate::impl
