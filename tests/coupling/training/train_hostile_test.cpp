// SPDX-License-Identifier: Apache-2.0
// `surrogate train` and files of strangers: damaged data sets, forged notes, pipes and devices, and
// configurations that exhaust their reader.
#include <sys/stat.h>

#include <functional>

#include "tests/coupling/training/odd_dataset.hpp"
#include "tests/coupling/training/train_program.hpp"
#include "tests/support/model_writer.hpp"

namespace surrogate::test {

namespace {

/// A data set in whose global heap, which holds the references to axes, the size of the first
/// object is replaced: HDF5 reads beyond its memory, or goes round for ever.
std::string with_heap_object_size(const std::string& bytes, uint64_t size) {
    // Signature, version, 3 bytes, size of the collection; index, count, 4 bytes, size of the
    // object.
    const size_t heap = bytes.find("GCOL");
    EXPECT_NE(heap, std::string::npos);
    std::string damaged = bytes;
    std::memcpy(damaged.data() + heap + 16 + 8, &size, sizeof size);
    return damaged;
}

class TrainHostile : public TrainProgram {
protected:
    /// Replaces the note of a checkpoint, with a right checksum.
    void forge(const std::function<void(json&)>& change) const {
        const std::string path = file("out/checkpoint.safetensors");
        const TensorFile checkpoint(path);
        json header = checkpoint.header;
        json& metadata = header.at("__metadata__");
        json about = json::parse(metadata.at("surrogate.training").get<std::string>());
        json note = json::parse(about.at("note").get<std::string>());
        change(note);
        about["note"] = note.dump();
        metadata["surrogate.training"] = about.dump();
        metadata["surrogate.training_checksum"] = checksum_text(about.dump());
        write(path, safetensors_bytes(header.dump(), checkpoint.bytes.substr(checkpoint.data)));
    }
};

TEST_F(TrainHostile, DamagedMetadataIsOneErrorAndEndsNoRank) {
    const std::string whole = read(file("train.h5"));
    Recipe recipe;
    // The limit of processor time protects the test; the program has its own limit of 10 s.
    for (const uint64_t size : {~uint64_t{0} - 15, ~uint64_t{0} / 2, uint64_t{1} << 31}) {
        write(file("train.h5"), with_heap_object_size(whole, size));
        const Outcome outcome = train(2, recipe, "--quiet", "ulimit -t 3;");
        expect_told(outcome, "data set '" + file("train.h5") + "'");
    }
#ifdef SURROGATE_MPIRUN
    const Outcome outcome = train(2, recipe, "--quiet", mpirun + " 2");
    expect_told(outcome, "data set '" + file("train.h5") + "'");
#endif
    EXPECT_FALSE(std::filesystem::exists(file("out")));
}

TEST_F(TrainHostile, NumbersOfAnotherFileDoNotReachAModel) {
    write(file("secret"), std::string(6000, 'S'));
    OddDataset set = {{{"sample", {6}, {"sample"}},
                       {"x", {8}, {"x"}, "X"},
                       {"pressure", {6, 8}, {"sample", "x"}},
                       {"mobility", {6, 8}, {"sample", "x"}}},
                      ""};
    set["mobility"].how = [&](hid_t how) {
        H5Pset_external(how, file("secret").c_str(), 0, H5F_UNLIMITED);
    };
    set["mobility"].is_written = false;
    set.write(file("train.h5"));
    expect_told(train(2, Recipe()), "'mobility': the numbers are in another file, '" +
                                        file("secret") + "' (external storage)");
}

TEST_F(TrainHostile, NumbersAndUnitsThatNoCardHoldsAreNamed) {
    OddDataset set = {{{"sample", {6}, {"sample"}},
                       {"x", {8}, {"x"}, "X"},
                       {"pressure", {6, 8}, {"sample", "x"}},
                       {"mobility", {6, 8}, {"sample", "x"}}},
                      ""};
    Recipe recipe;
    recipe.data = "";
    recipe.model =
        "family = 'flare'\ninputs = ['x', 'mobility']\noutputs = ['pressure']\n"
        "network = { in_dim = 2, out_dim = 1, channel_dim = 8, num_blocks = 1, num_heads = 2, "
        "num_latents = 4 }\n";
    set["mobility"].step = 1e300;
    set.write(file("train.h5"));
    const Outcome outcome = train(2, recipe);
    expect_told(outcome, "data set '" + file("train.h5") + "': 'mobility' of sample 0");
    expect_told(outcome, "expected magnitudes up to 1e+140");
    set["mobility"].step = 1;
    set["mobility"].unit =
        "\xb0"
        "C";
    set.write(file("train.h5"));
    expect_told(train(2, recipe), "the unit of 'mobility' is '\\xb0C', expected UTF-8");
}

TEST_F(TrainHostile, ForgedNotesAreRefusedWithTheirKey) {
    const Recipe recipe;
    train(0, recipe);
    const std::string good = read(file("out/checkpoint.safetensors"));
    const std::vector<std::pair<std::string, std::function<void(json&)>>> forgeries = {
        {"'batch' is -1", [](json& note) { note["batch"] = -1; }},
        {"'batch' is 1000", [](json& note) { note["batch"] = 1000; }},
        {"'epoch' is -5", [](json& note) { note["epoch"] = -5; }},
        {"'epoch' is 1000000000000000000", [](json& note) { note["epoch"] = int64_t(1e18); }},
        {"'epoch' is 3.5", [](json& note) { note["epoch"] = 3.5; }},
        {"'step' is \"a\"", [](json& note) { note["step"] = "a"; }},
        {"'history' is null", [](json& note) { note["history"] = nullptr; }},
        {"'history[1][0]' is 7", [](json& note) { note["history"][1][0] = 7; }},
        {"'history[1][3]' is \"a\"", [](json& note) { note["history"][1][3] = "a"; }},
        {"'history[2]' is", [](json& note) { note["history"][2].erase(8); }},
        {"'loss_sum' is null", [](json& note) { note["loss_sum"] = nullptr; }},
        {"'n_loss' is missing", [](json& note) { note.erase("n_loss"); }},
        {"'date' is 7", [](json& note) { note["date"] = 7; }},
        {"'essence' is []", [](json& note) { note["essence"] = json::array(); }},
        {"'training.seed' of the earlier training is 1",
         [](json& note) { note["essence"]["training.seed"] = 1; }},
        {"not a checkpoint of this version", [](json& note) { note["format"] = "1"; }},
    };
    for (const auto& [text, change] : forgeries) {
        write(file("out/checkpoint.safetensors"), good);
        forge(change);
        expect_told(train(2, recipe, "--resume --quiet"), text);
    }
    write(file("out/checkpoint.safetensors"), good);
    json fingerprint = json::parse(read(file("out/essence.json")));
    fingerprint["training.seed"] = 1;
    write(file("out/essence.json"), fingerprint.dump());
    expect_told(train(2, recipe, "--resume --quiet"),
                "'training.seed' of the earlier training is 1");
}

TEST_F(TrainHostile, PipesAndDevicesAreNotWaitedFor) {
    ASSERT_EQ(::mkfifo(file("pipe").c_str(), 0600), 0);
    const std::string expected = ", expected a regular file";
    expect_told(shell("timeout 20 " SURROGATE_PROGRAM " train " + file("pipe")),
                "it is a pipe" + expected);
    expect_told(shell("timeout 20 " SURROGATE_PROGRAM " train /dev/zero"),
                "it is a device" + expected);
    const std::string out = " " + file("out.safetensors");
    const std::string convert = "timeout 20 " SURROGATE_PROGRAM " convert ";
    expect_told(shell(convert + tiny + out + " --card " + file("pipe")), "it is a pipe" + expected);
    expect_told(shell(convert + tiny + out + " --card /dev/zero"), "it is a device" + expected);
    expect_told(shell(convert + file("pipe") + out), "pipe");
    Recipe recipe;
    recipe.train = "pipe";
    expect_told(train(2, recipe, "", "timeout 20"), "is not a regular file");
}

TEST_F(TrainHostile, ConfigurationsThatExhaustTheirReaderAreRefused) {
    std::string many = "a";
    for (int i = 0; i < 50000; ++i) many += ".a";
    for (const std::string& text : {many + " = 1\n", "[" + many + "]\n"}) {
        write(file("t.toml"), text);
        const Outcome outcome = surrogate("train " + file("t.toml"));
        EXPECT_EQ(outcome.status, 2);
        expect_told(outcome, "t.toml:1: too many parts in one key, expected at most 32");
    }
    write(file("t.toml"), std::string((1 << 20) + 1, '#'));
    expect_told(surrogate("train " + file("t.toml")), "it has more than 1048576 bytes");
    Recipe recipe;
    config(recipe);
    std::string text = read(file("t.toml"));
    text.replace(text.find(file("out")), file("out").size(), "o\\u0000z").replace(0, 0, "");
    const size_t at = text.find("'o\\u0000z'");
    ASSERT_NE(at, std::string::npos);
    text.replace(at, 10, "\"o\\u0000z\"");
    write(file("t.toml"), text);
    const Outcome outcome = surrogate("train " + file("t.toml"));
    EXPECT_EQ(outcome.status, 2);
    expect_told(outcome, "'folder' is 'o\\x00z', expected a text without zero bytes");
}

}  // namespace

}  // namespace surrogate::test
