// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <surrogate/surrogate.hpp>
#include <vector>

#include "coupling/case/check_outcome.hpp"
#include "coupling/job/job.hpp"

namespace surrogate::tool {

/// Options of a check case. Empty texts leave the choice to the plan; values are those of
/// surrogate_options_set.
struct CheckSettings {
    std::string partition = "contiguous";  ///< of surrogate_partition(_sphere)
    bool is_reproducible = false;
    std::string backend, precision, threads, vector;
};

/// Strides of a tensor, in elements: sample, point, channel. Points of a grid
/// on the sphere are numbered row by row from the north, longitude fastest.
struct TensorLayout {
    int64_t sample = 0, point = 0, channel = 0;
};

/// A tensor of the case, and the port of the network that it feeds or judges.
template <class T>
struct CaseTensor {
    std::string name;  ///< of the port
    int64_t n_channel = 0;
    int32_t place = SURROGATE_ON_INPUT;  ///< of surrogate_port_info: what its rows are
    int64_t n_row = 0;                   ///< of a sample
    TensorLayout layout = {};
    const T* data = nullptr;  ///< whole, on every rank
};

/// The tensors of a check case that belong to the network of its file. Pointers belong to the
/// CheckCase they were found in, or to `converted`.
///   points  (n_sample, n_point, n_channel), or for all samples alike (n_point, n_channel);
///           integers of one channel have no axis of channels
///   sphere  (n_sample, n_channel, n_lat, n_lon)
///   clouds  (n_sample, n_channel); each sample is one cloud
///   nodes   (n_sample, n_node, n_channel), or (n_node, n_channel)
/// Besides those of ports, check/input/gid (n_point) are the points' global ids, check/input/batch
/// (n_point) their clouds, which do not go down from row to row, and check/input/edges (2, n_edge)
/// rows of the case, sources and targets.
struct CaseTensors {
    int64_t n_sample = 0;
    int64_t n_point[2] = {0, 0};       ///< of the input and the output domain
    CaseTensor<float> positions = {};  ///< of the domain; data null: points have none
    const int64_t* ids = nullptr;      ///< null: points are known by their row
    const int64_t* clouds = nullptr;   ///< null: all points belong to one
    bool has_edges = false;
    std::vector<int64_t> sources = {}, targets = {};  ///< global ids of the edges' ends
    std::vector<CaseTensor<float>> inputs = {};
    std::vector<CaseTensor<int64_t>> integers = {};
    std::vector<std::unique_ptr<int64_t[]>> converted = {};
    CaseTensor<float> y = {};     ///< the official single precision run; data null if there is none
    CaseTensor<double> y64 = {};  ///< the same in double; data null if there is none, not both are
    std::vector<int64_t> y_shape = {};
    int64_t n_y() const { return n_sample * y.n_row * y.n_channel; }
    Evidence evidence() const { return {y.data, y64.data, static_cast<size_t>(n_y())}; }
    std::vector<std::string> input_names() const;
};

/// More samples than this are refused: each costs at least a run, however small the file.
constexpr int64_t max_samples = 10000;

/// Finds and checks them. Local, and the same on every rank. `file` names it in errors.
/// Errors: Failure no_case (a tensor is missing; no sample, no point; several outputs), bad_usage
/// (type or shape that does not fit, too many samples).
CaseTensors find_tensors(const Model& model, const CheckCase& check_case, const std::string& file);

/// A model and its check case. Every rank holds them whole.
struct LoadedCase {
    Model model;
    CheckCase check_case;
    CaseTensors tensors;
};

/// Reads model and check case. Collective.
/// Errors: Failure no_case (no check case, family not built), bad_usage (file).
LoadedCase load_case(const Job& job, const Context& context, const std::string& file);

/// Result of one run of a check case. Texts are the choices in force on rank 0, numbers are over
/// all ranks.
struct CheckResult {
    std::string family, backend, precision, vector;
    int threads = 0;
    bool is_truth_double = false;  ///< the case has check/output64
    CheckOutcome outcome;
    std::string hash;  ///< rank 0: XXH3-64 of y as little-endian float, 16 digits
    int64_t bytes_sent_per_rank = 0, collectives = 0;  ///< of one sample, the largest over ranks
    double seconds_plan = 0, seconds_run = 0;          ///< largest over ranks; second of two runs
    std::vector<double> y;  ///< rank 0: in the memory order of check/output/y
};

/// Spreads the points of the case over the ranks, runs sample after sample on one plan, and
/// compares. Collective. Scattered points are spread by their row. They are known by it, or by the
/// case's gid, and have coordinates only if the network has a port of positions, as it takes them;
/// a grid is cut by surrogate_partition_sphere, each of two grids by itself. Ranks may own no
/// point. Of rows that every rank has those of rank 0 are judged.
/// Errors: Failure (a run that failed, on any rank), surrogate::Error (options, partition, plan).
CheckResult run_check(const Job& job, const Context& context, const LoadedCase& loaded,
                      const CheckSettings& settings);

}  // namespace surrogate::tool
