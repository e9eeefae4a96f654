// SPDX-License-Identifier: Apache-2.0
// One MPI call fails on one rank while the other ranks wait in it. The rank's call of the library
// returns MPI or BROKEN and communicates no more, and the MPI_Abort of the host ends the job. The
// program `surrogate` is such a host. A job that does not end is stopped after 30 s.
#include "tests/coupling/training/train_program.hpp"

namespace surrogate::test {
namespace {

const std::string layer = "LD_PRELOAD=" SURROGATE_FAILING_MPI " ";

std::string on_ranks(int n_rank, const std::string& environment, const std::string& command) {
    return "timeout -k 5 30 " + mpirun + " " + std::to_string(n_rank) + " env " + layer +
           environment + " " + command;
}

size_t n_times(const std::string& text, const std::string& part) {
    size_t n = 0;
    for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
    return n;
}

/// A command on ranks, and how it ends when MPI fails: rank R prints "<says>R<reason>" and the job
/// ends with this status.
struct Command {
    int n_rank;
    std::string words, says, reason;
    int status;
};

class MpiFailures : public TrainProgram {
protected:
    static void fail(const Command& command, int rank, int64_t n) {
        const std::string r = std::to_string(rank), place = r + ":" + std::to_string(n);
        const Outcome outcome =
            shell(on_ranks(command.n_rank, "SURROGATE_FAIL_MPI=" + place, command.words));
        SCOPED_TRACE(place + " of " + command.words + "\n" + outcome.text);
        EXPECT_EQ(outcome.status, command.status);
        EXPECT_EQ(n_times(outcome.text, "failing_mpi: rank " + r + ", call "), 1u);
        EXPECT_EQ(n_times(outcome.text, "after the failure"), 0u);
        EXPECT_EQ(n_times(outcome.text, command.says), 1u);
        EXPECT_EQ(n_times(outcome.text, command.says + r + command.reason), 1u);
    }

    /// Lets n_place calls of a command fail in turn, on one rank after the other: the first, the
    /// last and some in between. n_call: the calls of each rank in a good run.
    static void fail_some(const Command& command, const std::vector<int64_t>& n_call, int n_place) {
        for (int i = 0; i < n_place; ++i) {
            const int rank = (n_place - i) % command.n_rank;
            const int64_t last = n_call.at(static_cast<size_t>(rank));
            ASSERT_GE(last, n_place) << command.words;
            fail(command, rank, 1 + (last - 1) * i / (n_place - 1));
        }
    }

    void fail_program(int n_rank, const std::string& arguments, int n_place) const {
        const Command command{n_rank, SURROGATE_PROGRAM " " + arguments, "surrogate: rank ", ": ",
                              2};
        const std::string counts = file("counts");
        const Outcome good =
            shell(on_ranks(n_rank, "SURROGATE_COUNT_MPI=" + counts, command.words));
        ASSERT_EQ(good.status, 0) << good.text;
        std::vector<int64_t> n_call(static_cast<size_t>(n_rank));
        std::istringstream text(read(counts));
        for (int64_t rank = 0, n = 0; text >> rank >> n;) n_call.at(static_cast<size_t>(rank)) = n;
        fail_some(command, n_call, n_place);
    }
};

TEST_F(MpiFailures, InTheLibraryEndTheCallAtOnce) {
    const std::vector<std::string> phases = {"context",  "plan",          "run",
                                             "training", "exchange_plan", "exchange_run",
                                             "loop",     "checkpoint",    "series"};
    const std::string host = SURROGATE_FAILING_HOST " " + folder_;
    std::string all;
    for (const std::string& phase : phases) all += " " + phase;
    const Outcome good = shell(on_ranks(2, "", host + all));
    ASSERT_EQ(good.status, 0) << good.text;
    for (const std::string& phase : phases) {
        std::vector<int64_t> n_call;
        for (int rank = 0; rank < 2; ++rank) {
            const std::string key = phase + ": calls of rank " + std::to_string(rank) + ": ";
            const size_t at = good.text.find(key);
            ASSERT_NE(at, std::string::npos) << key << "\n" << good.text;
            n_call.push_back(std::stoll(good.text.substr(at + key.size())));
        }
        fail_some({2, host + " " + phase, "failing_host: rank ", ", lost: ", 7}, n_call, 3);
    }
}

TEST_F(MpiFailures, InCheckEndTheJob) {
    fail_program(2, "check " + tiny + " --save " + file("y.safetensors"), 5);
}

TEST_F(MpiFailures, InCheckOfANetworkThatExchangesMessagesEndTheJob) {
    fail_program(3, "check " + sphere + "transformer_neighborhood_24x48.safetensors", 4);
}

TEST_F(MpiFailures, InInfoEndTheJob) {
    fail_program(2, "info " + tiny, 3);
}

TEST_F(MpiFailures, InTrainEndTheJob) {
    Recipe recipe;
    recipe.training = "epochs = 2\nbatch = 2\nlearning_rate = 3e-3\nseed = 1\n";
    fail_program(2, "train " + config(recipe) + " --overwrite --quiet", 5);
}

#ifdef SURROGATE_HAS_VTK
/// A series of two steps of 3 x 3 points.
TEST_F(MpiFailures, InPredictionsOfASeriesEndTheJob) {
    write(file("step.vti"),
          "<VTKFile type='ImageData' version='1.0' byte_order='LittleEndian' header_type='UInt64'>"
          "<ImageData WholeExtent='0 2 0 2 0 0' Origin='0 0 0' Spacing='0.5 0.5 1'>"
          "<Piece Extent='0 2 0 2 0 0'><PointData>"
          "<DataArray type='Float64' Name='mobility' format='ascii'>4 5 6 7 8 9 10 11 11"
          "</DataArray></PointData></Piece></ImageData></VTKFile>");
    std::filesystem::copy(file("step.vti"), file("next.vti"));
    write(file("in.pvd"),
          "<VTKFile type='Collection'><Collection><DataSet timestep='0' file='step.vti'/>"
          "<DataSet timestep='1' file='next.vti'/></Collection></VTKFile>");
    fail_program(2,
                 "predict " SURROGATE_SHARE "/models/darcy_flow.safetensors --mesh " +
                     file("in.pvd") + " --out " + file("out.pvd") + " --overwrite --quiet",
                 5);
}
#endif

}  // namespace
}  // namespace surrogate::test
