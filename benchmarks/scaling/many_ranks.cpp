// SPDX-License-Identifier: Apache-2.0
// Every family on many ranks, more than there are cores:
//   mpirun --oversubscribe -n RANKS many_ranks [CASE or PARTITION ..]
// For each case, partition and mode: a plan, a run, its numbers beside one rank's, and what
// it has sent, counted twice: by the library and at the calls of MPI. Prints one line of JSON per
// plan, with the table of every rank, for many_ranks.py, which compares the tables with formulas.
// Exit status 1 if numbers or counts differ.
#include <mpi.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "benchmarks/scaling/cloud_case.hpp"
#include "benchmarks/scaling/flare_case.hpp"
#include "benchmarks/scaling/hept_case.hpp"
#include "benchmarks/scaling/sphere_case.hpp"
#include "coupling/tool/layer_costs.hpp"
#include "surrogate/surrogate_mpi.hpp"

namespace {

/// Payload that this rank has handed to MPI.
struct Sent {
    int64_t bytes = 0;
    int64_t messages = 0;  ///< of exchanges between neighbors, to other ranks
};
Sent sent;

int64_t bytes_of(int count, MPI_Datatype type) {
    int size = 0;
    MPI_Type_size(type, &size);
    return int64_t{count} * size;
}

}  // namespace

// Calls of the library in a run, counted before they are made.
extern "C" {

int MPI_Isend(const void* data, int n, MPI_Datatype type, int to, int tag, MPI_Comm comm,
              MPI_Request* request) {
    constexpr int exchange_tag = 2;
    int rank = 0;
    MPI_Comm_rank(comm, &rank);
    sent.bytes += bytes_of(n, type);
    sent.messages += tag == exchange_tag && to != rank;
    return PMPI_Isend(data, n, type, to, tag, comm, request);
}
int MPI_Allreduce(const void* from, void* to, int n, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
    sent.bytes += bytes_of(n, type);
    return PMPI_Allreduce(from, to, n, type, op, comm);
}
int MPI_Bcast(void* data, int n, MPI_Datatype type, int root, MPI_Comm comm) {
    int rank = 0;
    MPI_Comm_rank(comm, &rank);
    if (rank == root) sent.bytes += bytes_of(n, type);
    return PMPI_Bcast(data, n, type, root, comm);
}
int MPI_Allgather(const void* from, int n, MPI_Datatype type, void* to, int n_to,
                  MPI_Datatype type_to, MPI_Comm comm) {
    sent.bytes += bytes_of(n, type);
    return PMPI_Allgather(from, n, type, to, n_to, type_to, comm);
}
int MPI_Allgatherv(const void* from, int n, MPI_Datatype type, void* to, const int* counts,
                   const int* offsets, MPI_Datatype type_to, MPI_Comm comm) {
    sent.bytes += bytes_of(n, type);
    return PMPI_Allgatherv(from, n, type, to, counts, offsets, type_to, comm);
}
int MPI_Alltoall(const void* from, int n, MPI_Datatype type, void* to, int n_to,
                 MPI_Datatype type_to, MPI_Comm comm) {
    int size = 0;
    MPI_Comm_size(comm, &size);
    sent.bytes += size * bytes_of(n, type);
    return PMPI_Alltoall(from, n, type, to, n_to, type_to, comm);
}

}  // extern "C"

namespace {

using namespace surrogate;
using nlohmann::json;

/// A small problem. Inputs and positions are a function of the number of the point.
struct Problem {
    std::string name;
    std::string model = {};
    int64_t n = 0, n_axis = 0, n_in = 0, n_out = 1;
    std::vector<double> x = {};    ///< (n, n_axis): positions, on all ranks
    std::vector<float> in = {};    ///< (n, n_in)
    int64_t n_lat = 0, n_lon = 0;  ///< of a grid on the sphere
    json facts = {};               ///< for the formulas

    bool is_sphere() const { return n_lat > 0; }
};

/// This rank's points of a problem, and what is needed to run on them.
class Part {
public:
    Part(const Context& context, const Problem& problem, const char* partition,
         const Options& options)
        : problem_(problem),
          model_(context, problem.model),
          domain_(make_domain(context, partition)),
          in_(pick(problem.in, problem.n_in)),
          out_(rows_.size() * static_cast<size_t>(problem.n_out)),
          plan_(model_, domain_, options) {}

    void run() {
        const auto n = std::ssize(rows_);
        std::vector<surrogate_named_array> in, out;
        if (problem_.n_in > 0) in.push_back({"x", matrix(in_.data(), n, problem_.n_in)});
        out.push_back({"y", matrix(out_.data(), n, problem_.n_out)});
        check(surrogate_plan_run_network(plan_.get(), static_cast<int32_t>(in.size()), in.data(),
                                         static_cast<int32_t>(out.size()), out.data()));
    }
    const Plan& plan() const { return plan_; }
    const std::vector<int64_t>& rows() const { return rows_; }
    const std::vector<float>& out() const { return out_; }

private:
    Domain make_domain(const Context& context, const char* partition) {
        const int32_t rank = context.rank(), size = context.size();
        if (problem_.is_sphere()) return make_grid(context, partition, rank, size);
        int64_t n = 0;
        check(surrogate_partition(partition, problem_.n, rank, size, nullptr, &n));
        rows_.resize(static_cast<size_t>(n));
        check(surrogate_partition(partition, problem_.n, rank, size, rows_.data(), &n));
        x_ = pick(problem_.x, problem_.n_axis);
        return Domain(context, matrix(x_.data(), n, problem_.n_axis), rows_.data());
    }
    Domain make_grid(const Context& context, const char* partition, int32_t rank, int32_t size) {
        int64_t block[4];
        check(surrogate_partition_sphere(partition, problem_.n_lat, problem_.n_lon, rank, size,
                                         block));
        for (int64_t i = block[0]; i < block[0] + block[1]; ++i)
            for (int64_t j = block[2]; j < block[2] + block[3]; ++j)
                rows_.push_back(i * problem_.n_lon + j);
        surrogate_sphere sphere{};
        sphere.grid = "equiangular";
        sphere.n_lat = problem_.n_lat;
        sphere.n_lon = problem_.n_lon;
        sphere.first_lat = block[0];
        sphere.n_lat_local = block[1];
        sphere.first_lon = block[2];
        sphere.n_lon_local = block[3];
        return Domain(context, sphere);
    }
    template <class T>
    std::vector<T> pick(const std::vector<T>& all, int64_t width) const {
        std::vector<T> own;
        for (const int64_t row : rows_)
            own.insert(own.end(), all.begin() + row * width, all.begin() + (row + 1) * width);
        return own;
    }

    const Problem& problem_;
    Model model_;
    std::vector<int64_t> rows_;
    std::vector<double> x_;
    Domain domain_;
    std::vector<float> in_, out_;
    Plan plan_;
};

/// Returns the sum over ranks of a hash of each point's number and values: the same for any
/// partition.
uint64_t hash_of(const Part& part, int64_t n_out) {
    uint64_t sum = 0;
    for (size_t i = 0; i < part.rows().size(); ++i) {
        uint64_t hash = static_cast<uint64_t>(part.rows()[i]) + 0xcbf29ce484222325u;
        for (int64_t c = 0; c < n_out; ++c) {
            hash ^= std::bit_cast<uint32_t>(
                part.out()[i * static_cast<size_t>(n_out) + static_cast<size_t>(c)]);
            hash = (hash ^ hash >> 31) * 0x9e3779b97f4a7c15u;
        }
        sum += hash ^ hash >> 29;
    }
    return sum;
}

/// Returns what rank 0 computes alone, in reproducible mode, on all ranks.
std::vector<float> computed_alone(const Problem& problem, uint64_t& hash) {
    std::vector<float> all(static_cast<size_t>(problem.n * problem.n_out));
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) {
        const Context self({{"threads", "1"}});
        Part whole(self, problem, "contiguous", {{"reproducible", "true"}});
        whole.run();
        all = whole.out();
        hash = hash_of(whole, problem.n_out);
    }
    MPI_Bcast(all.data(), static_cast<int>(all.size()), MPI_FLOAT, 0, MPI_COMM_WORLD);
    MPI_Bcast(&hash, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
    return all;
}

double largest_difference(const Part& part, const std::vector<float>& all, int64_t n_out) {
    double scale = 0, largest = 0;
    for (const float value : all) scale = std::max(scale, std::abs(double{value}));
    for (size_t i = 0; i < part.rows().size(); ++i) {
        for (int64_t c = 0; c < n_out; ++c) {
            const auto width = static_cast<size_t>(n_out), column = static_cast<size_t>(c);
            const double found = double{part.out()[i * width + column]};
            const double expected =
                double{all[static_cast<size_t>(part.rows()[i]) * width + column]};
            const double difference = std::abs(found - expected) / scale;
            largest = difference <= largest ? largest : difference;  // NaN stays
        }
    }
    return largest;
}

/// Returns the texts of all ranks on rank 0.
std::vector<std::string> gathered(const std::string& own) {
    int rank = 0, size = 1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int n = static_cast<int>(own.size()), total = 0;
    std::vector<int> counts(static_cast<size_t>(size)), offsets;
    MPI_Gather(&n, 1, MPI_INT, counts.data(), 1, MPI_INT, 0, MPI_COMM_WORLD);
    for (const int count : counts) {
        offsets.push_back(total);
        total += count;
    }
    std::string all(static_cast<size_t>(total), ' ');
    MPI_Gatherv(own.data(), n, MPI_CHAR, all.data(), counts.data(), offsets.data(), MPI_CHAR, 0,
                MPI_COMM_WORLD);
    std::vector<std::string> texts;
    for (size_t r = 0; rank == 0 && r < counts.size(); ++r)
        texts.push_back(
            all.substr(static_cast<size_t>(offsets[r]), static_cast<size_t>(counts[r])));
    return texts;
}

/// The table of this rank, and what its run has sent.
json rank_line(const Part& part, const Sent& by_mpi) {
    json line;
    for (const tool::LayerWork& layer : tool::parse_layers(part.plan().describe())) {
        line["layers"].push_back({layer.name, layer.flops, layer.exponentials, layer.bytes,
                                  layer.collectives, layer.messages});
    }
    line["points"] = part.plan().counter("points_local");
    line["given"] = std::ssize(part.rows());
    line["bytes"] = part.plan().counter("bytes_sent");
    line["collectives"] = part.plan().counter("collectives");
    line["mpi_bytes"] = by_mpi.bytes;
    line["mpi_messages"] = by_mpi.messages;
    return line;
}

/// Returns whether numbers and counts are as they must be. Prints the line. Collective.
bool run_part(const Context& context, const Problem& problem, const char* partition,
              bool is_reproducible, const std::vector<float>& alone, uint64_t hash) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    Part part(context, problem, partition, {{"reproducible", is_reproducible ? "true" : "false"}});
    const double planned = MPI_Wtime();
    sent = {};
    part.run();
    const Sent by_mpi = sent;
    const double ran = MPI_Wtime();
    uint64_t own_hash = hash_of(part, problem.n_out), found_hash = 0;
    MPI_Allreduce(&own_hash, &found_hash, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    double difference = largest_difference(part, alone, problem.n_out);
    if (!(difference <= 1)) difference = 1;
    MPI_Allreduce(MPI_IN_PLACE, &difference, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);

    const json own = rank_line(part, by_mpi);
    double table_bytes = 0, table_collectives = 0;
    for (const json& layer : own["layers"]) {
        table_bytes += layer[3].get<double>();
        table_collectives += layer[4].get<double>();
    }
    int is_right = own["bytes"] == table_bytes && own["collectives"] == table_collectives &&
                   own["bytes"] == own["mpi_bytes"] &&
                   (is_reproducible ? found_hash == hash : difference < 3e-5);
    MPI_Allreduce(MPI_IN_PLACE, &is_right, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    const std::vector<std::string> ranks = gathered(own.dump());
    if (context.rank() != 0) return is_right != 0;
    char hash_text[17], alone_text[17];
    std::snprintf(hash_text, sizeof hash_text, "%016llx",
                  static_cast<unsigned long long>(found_hash));
    std::snprintf(alone_text, sizeof alone_text, "%016llx", static_cast<unsigned long long>(hash));
    json line = {{"case", problem.name},
                 {"partition", partition},
                 {"ranks", context.size()},
                 {"reproducible", is_reproducible},
                 {"n", problem.n},
                 {"facts", problem.facts},
                 {"hash", hash_text},
                 {"hash_of_one_rank", alone_text},
                 {"difference", difference},
                 {"right", is_right != 0},
                 {"planning_s", planned - begin},
                 {"run_s", ran - planned}};
    for (const std::string& text : ranks) line["tables"].push_back(json::parse(text));
    std::printf("%s\n", line.dump().c_str());
    std::fflush(stdout);
    return is_right != 0;
}

json changed(json network, const json& changes) {
    network.update(changes);
    return network;
}

/// Calls use(problem) with a case. The model file exists meanwhile.
bool with_problem(const std::string& name, const std::function<bool(const Problem&)>& use) {
    const Context self;
    constexpr int64_t n = 4096;
    Problem p{.name = name, .n = n};
    if (name == "flare") {
        const bench::FlareCase flare(2, 32);
        p.model = flare.path();
        p.n_in = p.n_axis = 3;
        p.in = bench::make_inputs(n);
        p.x.assign(p.in.begin(), p.in.end());
        p.facts = {{"blocks", 2}, {"latents", 32}, {"channels", 64}, {"heads", 8}};
        return use(p);
    }
    if (name == "hept") {
        const json network =
            changed(bench::hept_network(2), {{"block_size", 32}, {"num_heads", 2}});
        const bench::ModelCase hits("hept", network);
        p.model = hits.path();
        p.n_axis = bench::n_hit_coordinate;
        p.n_in = bench::n_hit_feature;
        p.n_out = bench::n_hit_output;
        p.x = bench::hit_coordinates(self, n);
        for (int64_t i = 0; i < n; ++i) {
            const std::vector<float> row = bench::hit_features({i});
            p.in.insert(p.in.end(), row.begin(), row.end());
        }
        p.facts = {{"network", network}, {"x", p.x}};
        return use(p);
    }
    if (name == "neighborhood" || name == "global") {
        p.n_lat = name == "global" ? 32 : 64;
        p.n_lon = 2 * p.n_lat;
        p.n = p.n_lat * p.n_lon;
        p.n_in = p.n_out = 128;
        for (int64_t i = 0; i < p.n * p.n_in; ++i)
            p.in.push_back(static_cast<float>(std::sin(0.37 * static_cast<double>(i))));
        const bench::ModelCase layer("sphere", bench::attention_layer(name, p.n_lat, p.n_lon));
        p.model = layer.path();
        p.facts = {{"n_lat", p.n_lat}, {"n_lon", p.n_lon}, {"channels", 128}};
        return use(p);
    }
    p.n_axis = 3;
    p.x = bench::cloud_positions(self, n);
    json network;
    const json small = {{"c_in", 32}, {"c_hidden", 32}, {"num_heads", 4}, {"ball_size", 32}};
    if (name == "erwin") network = changed(bench::erwin_network(4), {{"ball_sizes", {32, 32}}});
    if (name == "sequoia") network = bench::sequoia_network(2);
    const bool is_bsa = network.is_null();
    if (is_bsa) network = changed(bench::bsa_network(name, 2), small);
    const bench::ModelCase cloud(is_bsa ? "bsa" : name, network);
    p.model = cloud.path();
    p.facts = {{"network", network}};
    if (name == "erwin") p.facts["x"] = p.x;
    return use(p);
}

const std::vector<std::string> all_cases = {"flare",        "bsa",   "group_compression", "ball",
                                            "full",         "erwin", "sequoia",           "hept",
                                            "neighborhood", "global"};
const std::vector<std::string> all_partitions = {"contiguous", "scattered", "uneven"};

/// Returns the words that are wanted, or all of them. Erases them from `wanted`.
std::vector<std::string> chosen(std::vector<std::string>& wanted,
                                const std::vector<std::string>& all) {
    std::vector<std::string> list;
    for (const std::string& word : all)
        if (std::erase(wanted, word) > 0) list.push_back(word);
    return list.empty() ? all : list;
}

}  // namespace

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    std::vector<std::string> wanted(argv + 1, argv + argc);
    const std::vector<std::string> cases = chosen(wanted, all_cases);
    const std::vector<std::string> partitions = chosen(wanted, all_partitions);
    if (!wanted.empty()) {
        std::fprintf(stderr, "many_ranks: no case or partition is '%s'\n", wanted.front().c_str());
        MPI_Finalize();
        return 2;
    }
    bool are_right = true;
    for (const std::string& name : cases) {
        are_right &= with_problem(name, [&](const Problem& problem) {
            uint64_t hash = 0;
            const std::vector<float> alone = computed_alone(problem, hash);
            const Context context = mpi_context(MPI_COMM_WORLD, {{"threads", "1"}});
            bool is_right = true;
            for (const std::string& partition : partitions) {
                for (const bool is_reproducible : {true, false})
                    is_right &=
                        run_part(context, problem, partition.c_str(), is_reproducible, alone, hash);
            }
            return is_right;
        });
    }
    MPI_Finalize();
    return are_right ? 0 : 1;
}
