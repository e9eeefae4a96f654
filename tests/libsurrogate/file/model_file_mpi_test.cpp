// SPDX-License-Identifier: Apache-2.0
// One rank reads, all get the same tensors or the same error (rows R1 and C1 of the reliability
// goals, for loading).
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "libsurrogate/src/file/model_file.hpp"
#include "libsurrogate/src/transport/mpi_communicator.hpp"
#include "tests/support/memory_files.hpp"
#include "tests/support/model_writer.hpp"
#include "tests/support/refusal.hpp"

namespace surrogate::impl {
namespace {

using test::MemoryFiles;
using test::Refusal;
using test::refusal;

bool all(std::string_view) {
    return true;
}
void any(const Card&, std::span<const TensorEntry>) {}

/// Fails the test of any rank that touches a file.
class NoFiles final : public FileLayer {
public:
    std::unique_ptr<File> open(const std::string&) const override {
        ADD_FAILURE() << "only rank 0 reads";
        throw Error(Status::io, "only rank 0 reads");
    }
    std::unique_ptr<NewFile> create(const std::string&) const override {
        ADD_FAILURE() << "no rank writes";
        throw Error(Status::io, "no rank writes");
    }
};

class ModelFileOnRanks : public ::testing::Test {
protected:
    ModelFile load(const std::string& bytes,
                   const std::function<bool(std::string_view)>& select = all) {
        const MemoryFiles files(bytes);
        const NoFiles none;
        const FileLayer& layer = comm_->rank() == 0 ? static_cast<const FileLayer&>(files) : none;
        return load_model_file(*comm_, layer, "model", select, any);
    }

    /// The error of every rank, in the words of rank 0's own check.
    void expect_same_refusal(const Refusal& found, Status status, const std::string& part) {
        EXPECT_EQ(found.status, status) << found.text;
        EXPECT_TRUE(found.says(part)) << found.text;
        char first[512] = "";
        found.text.copy(first, sizeof first - 1);
        comm_->broadcast(first, sizeof first, 0);
        EXPECT_EQ(found.text, first);
        int64_t one = 1;
        comm_->all_reduce_sum(std::span(&one, 1));
        EXPECT_EQ(one, comm_->size());  // the communicator still works
    }

    std::unique_ptr<Communicator> comm_ = mpi_communicator(MPI_COMM_WORLD);
};

TEST_F(ModelFileOnRanks, EveryRankGetsWhatWasWritten) {
    const test::ModelWriter written = test::small_model();
    const ModelFile model = load(written.bytes());
    EXPECT_EQ(model.card_text, written.card_text());
    EXPECT_EQ(model.card.outputs.size(), 1u);
    EXPECT_EQ(model.entries.size(), written.tensors.size());
    EXPECT_EQ(model.tensors.size(), written.tensors.size());
    for (size_t i = 0; i < model.tensors.size(); ++i) {
        const Tensor& tensor = model.tensors[i];
        EXPECT_EQ(tensor.entry.name, written.tensors[i].name);
        EXPECT_EQ(tensor.entry.shape, written.tensors[i].shape);
        if (tensor.entry.dtype != model.entries[i].dtype) continue;  // the next test
        EXPECT_EQ(std::string(reinterpret_cast<const char*>(tensor.data.data()),
                              static_cast<size_t>(tensor.data.size())),
                  written.tensors[i].bytes);
    }
}

TEST_F(ModelFileOnRanks, WeightsOfOtherFloatTypesTravelAsFloat) {
    const ModelFile model = load(test::small_model().bytes());
    const std::map<std::string, std::vector<float>> expected{{"decoder.scale", {1, 2, 3, 0.5f}},
                                                             {"head.half", {1, 0x1p-24f, -4}},
                                                             {"head.double", {0.1f, 1.5f}}};
    int n_found = 0;
    for (const Tensor& tensor : model.tensors) {
        const auto values = expected.find(tensor.entry.name);
        if (values == expected.end()) continue;
        ++n_found;
        const auto floats = tensor.floats();
        EXPECT_EQ(std::vector<float>(floats.begin(), floats.end()), values->second);
    }
    EXPECT_EQ(n_found, 3);
}

TEST_F(ModelFileOnRanks, OnlySelectedTensorsTravel) {
    const std::string bytes = test::small_model().bytes();
    comm_->reset_counters();
    const ModelFile model = load(bytes, [](auto name) { return name == "encoder.weight"; });
    EXPECT_EQ(model.tensors.size(), 1u);
    EXPECT_EQ(comm_->n_collective(), 3);  // sizes, header, one tensor
}

TEST_F(ModelFileOnRanks, RefusalOfTheReaderIsThatOfAllRanks) {
    std::string bytes = test::small_model().bytes();
    bytes.back() ^= 1;
    expect_same_refusal(refusal([&] { load(bytes); }), Status::bad_file,
                        "tensor 'head.double' at offset");
    expect_same_refusal(refusal([&] { load("not a model"); }), Status::bad_file,
                        "header length at offset 0");
    const std::string missing = "/nowhere/model.safetensors";
    expect_same_refusal(refusal([&] { load_model_file(*comm_, posix_files(), missing, all, any); }),
                        Status::io, missing);
}

TEST_F(ModelFileOnRanks, FailureOnAnyRankIsThatOfAllRanks) {
    // `select` is called where other ranks take their memory: a stand-in for a rank that has none.
    const std::string bytes = test::small_model().bytes();
    for (int culprit = 0; culprit < comm_->size(); ++culprit) {
        const Refusal found = refusal([&] {
            load(bytes, [&](auto name) -> bool {
                if (comm_->rank() == culprit && name == "steps") throw std::bad_alloc();
                return true;
            });
        });
        const std::string named = comm_->size() > 1 ? "rank " + std::to_string(culprit) : "memory";
        expect_same_refusal(found, Status::no_memory, named);
    }
}

}  // namespace
}  // namespace surrogate::impl
