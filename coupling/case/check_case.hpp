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

/// Options of a check case, with values as in surrogate_options_set. With empty texts the plan
/// chooses.
struct CheckSettings {
    std::string partition = "contiguous";  ///< of surrogate_partition(_sphere)
    bool is_reproducible = false;
    std::string backend, precision, threads, vector;
    bool allows_code = false;
};

/// Strides of a tensor, in elements: sample, point, channel. Points of a grid on the sphere are
/// numbered row by row from the north, longitude fastest.
struct TensorLayout {
    int64_t sample = 0, point = 0, channel = 0;
};

/// A tensor of the case that is an input of a port of the network, or the reference of an output.
template <class T>
struct CaseTensor {
    std::string name;  ///< of the port
    int64_t n_channel = 0;
    int32_t place = SURROGATE_ON_INPUT;  ///< of surrogate_port_info: location of its rows
    int64_t n_row = 0;                   ///< of a sample
    TensorLayout layout = {};
    const T* data = nullptr;  ///< whole, on all ranks
};

/// The tensors of a check case that belong to the network of its file. Pointers belong to the
/// CheckCase in which they were found, or to `converted`.
///   points  (n_sample, n_point, n_channel), or for all samples alike (n_point, n_channel);
///           integers of one channel have no axis of channels
///   sphere  (n_sample, n_channel, n_lat, n_lon)
///   clouds  (n_sample, n_channel); each sample is one cloud
///   nodes   (n_sample, n_node, n_channel), or (n_node, n_channel)
/// In addition to tensors of ports, check/input/gid (n_point) has the points' global ids,
/// check/input/batch (n_point) their clouds, which must not decrease from row to row,
/// check/input/weight (n_point) their weights in double, and check/input/edges (2, n_edge) rows of
/// the case, sources and targets.
struct CaseTensors {
    int64_t n_sample = 0;
    int64_t n_point[2] = {0, 0};       ///< of the input and the output domain
    CaseTensor<float> positions = {};  ///< of the domain; data null: points have none
    const int64_t* ids = nullptr;      ///< null: points are identified by their row
    const int64_t* clouds = nullptr;   ///< null: all points belong to one
    const double* weights = nullptr;   ///< null: the points have none
    bool has_edges = false;
    std::vector<int64_t> sources = {}, targets = {};  ///< global ids of the edges' ends
    std::vector<CaseTensor<float>> inputs = {};
    std::vector<CaseTensor<int64_t>> integers = {};
    std::vector<std::unique_ptr<int64_t[]>> converted = {};
    CaseTensor<float> y = {};  ///< the official run in single precision; data null without it
    CaseTensor<double> y64 =
        {};  ///< the official run in double precision; data null without it; at most one is
    std::vector<int64_t> y_shape = {};
    int64_t n_y() const { return n_sample * y.n_row * y.n_channel; }
    Evidence evidence() const { return {y.data, y64.data, static_cast<size_t>(n_y())}; }
    std::vector<std::string> input_names() const;
};

/// Maximum number of samples. More samples are rejected, because each costs at least a run, even in
/// a small file.
constexpr int64_t max_samples = 10000;

/// Finds and checks the tensors. Local; the result is the same on all ranks. `file` is the name in
/// errors. Throws Failure no_case (a tensor is missing; no sample, no point; several outputs) or
/// bad_usage (wrong type or shape, too many samples).
CaseTensors find_tensors(const Model& model, const CheckCase& check_case, const std::string& file);

/// A model and its check case. Every rank has them whole.
struct LoadedCase {
    Model model;
    CheckCase check_case;
    CaseTensors tensors;
};

/// Reads model and check case. Collective. Throws Failure no_case (no check case, family not built)
/// or bad_usage (file).
LoadedCase load_case(const Job& job, const Context& context, const std::string& file);

/// Result of one run of a check case. Texts are the choices in effect on rank 0, numbers are over
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

/// Distributes the points of the case over the ranks, runs all samples on one plan, and compares
/// the results. Collective. Scattered points are distributed by their row. Their ids are their rows
/// or the case's gid, and they have coordinates, in the form of the port, only if the network has a
/// port of positions. A grid is cut by surrogate_partition_sphere; two grids are cut independently.
/// Ranks may own no point. If every rank has all rows, the rows of rank 0 are compared. Throws
/// Failure (a run that failed, on any rank) or surrogate::Error (options, partition, plan).
CheckResult run_check(const Job& job, const Context& context, const LoadedCase& loaded,
                      const CheckSettings& settings);

}  // namespace surrogate::tool
