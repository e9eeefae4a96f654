// SPDX-License-Identifier: Apache-2.0
// The program `surrogate` on malformed files as an attacker would write them, and on outputs that
// fail.
#include <algorithm>
#include <string>
#include <vector>

#include "tests/coupling/tool/model_edit.hpp"

namespace surrogate::test {
namespace {

class HostileTest : public ToolTest {
protected:
    std::string model() const { return file("model.safetensors"); }

    static std::string error_of(const json& report) { return report.value("error", ""); }

    void expect_says(const json& report, const std::string& part) const {
        EXPECT_NE(error_of(report).find(part), std::string::npos) << error_of(report);
    }
};

// ---- check cases that pass anything, or nothing ----

TEST_F(HostileTest, ACaseThatContradictsItselfDoesNotPass) {
    const json right = check(0, ModelEdit(tiny).save(model()));
    EXPECT_EQ(right["truth"], "double");
    ModelEdit edit(tiny);
    edit.fill("check/output/y", 1000.f);
    const json report = check(1, edit.save(model()));
    EXPECT_EQ(report["passed"], false);
    EXPECT_EQ(report["relative_l2"], right["relative_l2"]);
    EXPECT_GT(report["official_relative_l2"], 0.1);
    expect_says(report, "contradicts itself");
}

TEST_F(HostileTest, HalfOfAllWeightsWithABadOfficialRunDoesNotPass) {
    ModelEdit edit(darcy);
    for (WriterTensor& tensor : edit.writer.tensors) {
        if (tensor.name.starts_with("check/input") || tensor.name == "check/output64/y") continue;
        for (size_t at = 0; at < tensor.bytes.size(); at += 4) {
            float value = 0;
            std::memcpy(&value, tensor.bytes.data() + at, 4);
            value *= tensor.name == "check/output/y" ? 3.f : 0.5f;
            std::memcpy(tensor.bytes.data() + at, &value, 4);
        }
    }
    const json report = check(1, edit.save(model()));
    EXPECT_GT(report["relative_l2"], 0.1);
    expect_says(report, "contradicts itself");
}

TEST_F(HostileTest, TheBoundEndsAtOneInAThousand) {
    ModelEdit edit(tiny);
    float y = 0;
    WriterTensor& official = edit.tensor("check/output/y");
    for (size_t at = 0; at < official.bytes.size(); at += 4) {
        std::memcpy(&y, official.bytes.data() + at, 4);
        y *= 1.05f;
        std::memcpy(official.bytes.data() + at, &y, 4);
    }
    edit.save(model());
    EXPECT_NEAR(check(0, model())["official_relative_l2"].get<double>(), 0.05, 1e-3);
    // An error between the ceiling and three times 0.05.
    ModelEdit shifted(model());
    WriterTensor& bias = shifted.tensor("out_proj.1.fc2.bias");
    float value = 0;
    std::memcpy(&value, bias.bytes.data(), 4);
    value += 0.01f;
    std::memcpy(bias.bytes.data(), &value, 4);
    const json report = check(1, shifted.save(model()));
    EXPECT_GT(report["relative_l2"], 1e-3);
    EXPECT_LT(report["relative_l2"], 3 * 0.05);
    expect_says(report, "more than 0.001");
}

TEST_F(HostileTest, ExactZerosPass) {
    ModelEdit edit(tiny);
    edit.fill("out_proj.1.fc2.weight", 0.f).fill("out_proj.1.fc2.bias", 0.f);
    edit.fill("check/output/y", 0.f).fill("check/output64/y", 0.);
    const json report = check(0, edit.save(model()));
    EXPECT_EQ(report["relative_l2"], 0);
    EXPECT_EQ(report["official_relative_l2"], 0);
    EXPECT_EQ(report["max_abs"], 0);
    // A truth of zero does not pass what is not zero.
    edit.fill("out_proj.1.fc2.bias", 0.01f);
    const json wrong = check(1, edit.save(model()));
    EXPECT_NEAR(wrong["relative_l2"].get<double>(), 0.01, 1e-8);
}

TEST_F(HostileTest, ACaseWithoutTheDoubleRunSaysWhatThatCosts) {
    ModelEdit edit(tiny);
    edit.drop("check/output64/y").save(model());
    const json report = check(0, model());
    EXPECT_EQ(report["truth"], "single");
    EXPECT_TRUE(report["official_relative_l2"].is_null());
    EXPECT_LE(report["relative_l2"], 1e-5);
    EXPECT_NE(surrogate("check " + model()).text.find("not known"), std::string::npos);
    EXPECT_EQ(check(0, model() + " --precision fp64 --backend ref")["truth"], "single");
    edit.fill("out_proj.1.fc2.bias", 0.01f);
    check(1, edit.save(model()));
}

TEST_F(HostileTest, ACaseWithoutTheSingleRunIsJudgedByTheDoubleOne) {
    ModelEdit edit(tiny);
    edit.drop("check/output/y").save(model());
    const json report = check(0, model() + " --save " + file("y"));
    EXPECT_EQ(report["truth"], "double");
    EXPECT_TRUE(report["official_relative_l2"].is_null());
    EXPECT_EQ(TensorFile(file("y")).header["y"]["shape"], json({1, 5, 1}));
    EXPECT_NE(surrogate("check " + model()).text.find("allowed 1e-05)"), std::string::npos);
    check(3, edit.drop("check/output64/y").save(model()));
}

TEST_F(HostileTest, SamplesWithoutPointsAreNoCase) {
    for (const int64_t n_sample : {int64_t{1}, int64_t{1} << 20, int64_t{1} << 40}) {
        ModelEdit edit(tiny);
        edit.reshape("check/input/x", {n_sample, 0, 2})
            .reshape("check/output/y", {n_sample, 0, 1})
            .reshape("check/output64/y", {n_sample, 0, 1});
        expect_says(check(3, edit.save(model())), "without points");
        EXPECT_NE(surrogate("info " + model()).text.find("no check case"), std::string::npos);
    }
}

TEST_F(HostileTest, SamplesWithoutEndAreRefused) {
    const auto save = [&](int64_t n_sample) {
        ModelEdit edit(tiny);
        for (const char* name : {"check/input/x", "check/output/y", "check/output64/y"}) {
            WriterTensor& tensor = edit.tensor(name);
            const int64_t n_channel = tensor.shape[2];
            tensor.shape = {n_sample, 1, n_channel};
            const int64_t width = tensor.dtype == "F64" ? 8 : 4;
            tensor.bytes.assign(static_cast<size_t>(n_sample * n_channel * width), '\0');
        }
        return edit.save(model());
    };
    const json report = check(2, save(10001));
    expect_says(report, "10001 samples");
    EXPECT_EQ(check(1, save(200))["passed"], false);  // it runs; the answer is not zero
}

// ---- info and check agree ----

TEST_F(HostileTest, InfoAndCheckAgreeOnWhatACheckCaseIs) {
    struct Row {
        std::vector<const char*> dropped;
        int status;
        const char* part;
    };
    const Row rows[] = {
        {{}, 0, "truth in double precision"},
        {{"check/output/y"}, 0, "truth in double precision"},
        {{"check/output64/y"}, 0, "without check/output64"},
        {{"check/output/y", "check/output64/y"}, 3, "no check case: hyperparameters"},
        {{"check/input/x"}, 3, "no check case: hyperparameters"},
    };
    for (const Row& row : rows) {
        ModelEdit edit(tiny);
        for (const char* name : row.dropped) edit.drop(name);
        check(row.status, edit.save(model()));
        const Outcome info = surrogate("info " + model());
        EXPECT_EQ(info.status, 0);
        EXPECT_NE(info.text.find(row.part), std::string::npos) << row.part << " in\n" << info.text;
    }
    ModelEdit turned(tiny);
    turned.reshape("check/output64/y", {5, 1, 1});
    const json report = check(2, turned.save(model()));
    const Outcome info = surrogate("info " + model());
    EXPECT_NE(info.text.find("not usable: "), std::string::npos) << info.text;
    EXPECT_NE(info.text.find("(5, 1, 1)"), std::string::npos) << info.text;
}

// ---- the terminal ----

const std::string escapes =
    "\x1b]0;owned\x07\x1b[2J\x1b[31mPWNED\r\x7f\xc2\x9b"
    "31m\xe2\x80\xaegnp\xe2\x81\xa6"
    "\n  result  passed";

/// Returns whether the text contains control sequences of a terminal.
bool is_quiet(const std::string& text) {
    for (const char* bidi : {"\xe2\x80\xae", "\xe2\x81\xa6", "\xc2\x9b"})
        if (text.find(bidi) != std::string::npos) return false;
    return std::ranges::none_of(text, [](char c) {
        return (static_cast<unsigned char>(c) < 0x20 && c != '\n') || c == 0x7f;
    });
}

TEST_F(HostileTest, TextsOfTheCardDoNotReachTheTerminalAsTheyAre) {
    ModelEdit edit(darcy);
    edit.writer.card["provenance"] = {{"title", escapes}, {escapes, "x"}, {"list", {escapes}}};
    const Outcome info = surrogate("info " + edit.save(model()));
    EXPECT_EQ(info.status, 0);
    EXPECT_TRUE(is_quiet(info.text)) << info.text;
    EXPECT_EQ(info.text.find("\n  result"), std::string::npos) << info.text;
    EXPECT_NE(info.text.find("\\x1b]0;owned\\x07"), std::string::npos) << info.text;
    EXPECT_EQ(surrogate("check " + model()).status, 0);
}

TEST_F(HostileTest, NamesWithControlCharactersAreRefused) {
    for (const char* bad : {"\x1b[2J", "\xe2\x80\xae"}) {
        ModelEdit edit(darcy);
        edit.writer.card["inputs"].back()["name"] = std::string("mob") + bad;
        edit.save(model());
        for (const char* verb : {"info ", "check "}) {
            const Outcome outcome = surrogate(verb + model());
            EXPECT_EQ(outcome.status, 2) << outcome.text;
            EXPECT_TRUE(is_quiet(outcome.text)) << outcome.text;
            EXPECT_NE(outcome.text.find("inputs[2].name"), std::string::npos) << outcome.text;
        }
    }
}

TEST_F(HostileTest, NamesOfTensorsAndWordsOfTheCommandLineToo) {
    ModelEdit edit(tiny);
    edit.writer.tensors.push_back({"check/input/x" + escapes, "F16", {1, 2}, "\1\2\3\4"});
    edit.save(model());
    for (const char* verb : {"info ", "check "}) {
        const Outcome outcome = surrogate(verb + model());
        EXPECT_TRUE(is_quiet(outcome.text)) << outcome.text;
        EXPECT_NE(outcome.text.find("\\x1b"), std::string::npos) << outcome.text;
    }
    const json report = check(2, model());
    expect_says(report, "owned");
    for (const std::string words : {"info", "check", "predict --mesh a.vtu --out b.vtu", "dance",
                                    "info --", "check --json"}) {
        const Outcome outcome = surrogate(words + "\"$(printf ' \\033[2J\\342\\200\\256')\"");
        EXPECT_EQ(outcome.status, 2);
        EXPECT_TRUE(is_quiet(outcome.text)) << outcome.text;
    }
}

// ---- info on unknown files ----

TEST_F(HostileTest, InfoCutsWhatIsLongAndCountsIt) {
    ModelEdit edit(darcy);
    json& provenance = edit.writer.card["provenance"] = json::object();
    for (int i = 0; i < 40000; ++i) provenance["key " + std::to_string(i)] = i;
    provenance["a long one"] = std::string(200'000, 'b');
    const Outcome info = surrogate("info " + edit.save(model()));
    EXPECT_EQ(info.status, 0);
    EXPECT_LT(info.text.size(), 8000u);
    EXPECT_NE(info.text.find("39,961 more entries"), std::string::npos) << info.text;
    EXPECT_NE(info.text.find("bbb.."), std::string::npos);

    ModelEdit named(darcy);
    named.writer.card["inputs"].back()["name"] = std::string(900'000, 'a');
    const Outcome long_name = surrogate("info " + named.save(model()));
    EXPECT_EQ(long_name.status, 0);
    EXPECT_LT(long_name.text.size(), 8000u);
}

TEST_F(HostileTest, InfoDoesNotPlanWhatIsTooLarge) {
    constexpr int64_t in_dim = 1 << 18;
    ModelEdit edit(tiny);
    edit.writer.card["network"]["in_dim"] = in_dim;
    WriterTensor& weight = edit.tensor("in_proj.fc1.weight");
    weight.shape = {8, in_dim};
    weight.bytes.assign(8 * 4 * in_dim, '\0');
    edit.drop("check/input/x").save(model());
    // 84 GB for 40,000 points: more than this program gets, and it does not need it.
    const Outcome info = shell("ulimit -v 4000000; " SURROGATE_PROGRAM " info " + model());
    EXPECT_EQ(info.status, 0) << info.text;
    EXPECT_NE(info.text.find("not computed: a plan of 400 points"), std::string::npos) << info.text;
}

TEST_F(HostileTest, InfoDoesNotPlanGiantGrids) {
    struct Row {
        const char* file;
        double cutoff;
    };
    // The second is work of seconds that takes no memory.
    for (const Row& row : {Row{"operators/attention_4", 0}, Row{"operators/disco_4", 3.1}}) {
        ModelEdit edit(sphere + row.file + ".safetensors");
        const int64_t factor = row.cutoff > 0 ? 16 : 400;
        for (const char* key : {"in_shape", "out_shape"})
            for (json& n : edit.writer.card["network"][key]) n = n.get<int64_t>() * factor;
        if (row.cutoff > 0) edit.writer.card["network"]["theta_cutoff"] = row.cutoff;
        const Outcome info = surrogate("info " + edit.save(model()));
        EXPECT_EQ(info.status, 0) << info.text;
        EXPECT_NE(info.text.find("not computed: a plan for "), std::string::npos) << info.text;
    }
}

TEST_F(HostileTest, InfoComputesTheMemoryOfOrdinaryModels) {
    const Outcome points = surrogate("info " + darcy);
    EXPECT_NE(points.text.find("527 bytes a point"), std::string::npos) << points.text;
    const std::string grid = SURROGATE_SHARE "/models/shallow_water.safetensors";
    const Outcome as_it_is = surrogate("info " + grid);
    EXPECT_EQ(as_it_is.text.find("not computed"), std::string::npos) << as_it_is.text;
    EXPECT_EQ(as_it_is.text, surrogate("info --memory " + grid).text);
}

// ---- output that fails ----

TEST_F(HostileTest, LostOutputIsAFailure) {
    const auto run = [](const std::string& words, const std::string& output) {
        return shell("(" SURROGATE_PROGRAM " " + words + output + ")");
    };
    for (const std::string& words :
         std::vector<std::string>{"info", "info " + tiny, "check " + tiny, "--help"}) {
        const Outcome full = run(words, " > /dev/full");
        EXPECT_EQ(full.status, 2) << words;
        EXPECT_NE(full.text.find("No space left on device"), std::string::npos) << full.text;
        const Outcome closed = run(words, " >&-");
        EXPECT_EQ(closed.status, 2) << words;
        EXPECT_NE(closed.text.find("cannot write to standard output"), std::string::npos)
            << closed.text;
    }
    // The outcome is not lost with the text.
    EXPECT_EQ(check(1, tiny_with_shifted_bias() + " > /dev/full")["passed"], false);
    EXPECT_EQ(run("check " + tiny, " >&- 2>&-").status, 2);
}

TEST_F(HostileTest, OutputsAreNeverTheModel) {
    const std::string bytes = ModelEdit(tiny).writer.bytes();
    write(model(), bytes);
    std::filesystem::create_hard_link(model(), file("hard"));
    std::filesystem::create_hard_link(model(), file("report.surrogate.tmp"));
    const std::string again = folder_ + "/./model.safetensors";
    for (const std::string& words : std::vector<std::string>{
             "check " + model() + " --save " + again,
             "check " + model() + " --json " + file("hard"),
             "check " + model() + " --json " + file("report"),  // its temporary
             "check " + model() + " --save " + file("y") + " --json " + folder_ + "/./y",
             "check --partition diagonal " + model() + " --no-such-option --json " + model(),
             "check --no-such-option --json=" + model() + " " + model()}) {
        const Outcome outcome = surrogate(words);
        EXPECT_EQ(outcome.status, 2) << words;
        EXPECT_NE(outcome.text.find("not overwritten"), std::string::npos) << outcome.text;
        EXPECT_EQ(read(model()), bytes) << words;
        EXPECT_EQ(read(file("report.surrogate.tmp")), bytes) << words;
    }
    EXPECT_EQ(surrogate("check " + model() + " --save /dev/null --json /dev/null").status, 0);
}

TEST_F(HostileTest, ReportsOfChecksReplaceRegularFilesOnly) {
    write(file("other"), "mine");
    write(file("report.tmp"), "mine");
    std::filesystem::create_symlink("other", file("link"));
    const std::string words =
        "check " + tiny + " --json " + file("report") + " --save " + file("y");
    for (int i = 0; i < 2; ++i) {
        const Outcome outcome = surrogate(words);
        EXPECT_EQ(outcome.status, 0) << outcome.text;
        EXPECT_EQ(json::parse(read(file("report")))["passed"], true);
    }
    for (const std::string option : {"--json ", "--save "}) {
        const Outcome outcome = surrogate("check " + tiny + " " + option + file("link"));
        EXPECT_EQ(outcome.status, 2);
        EXPECT_NE(outcome.text.find("symbolic link"), std::string::npos) << outcome.text;
    }
    EXPECT_EQ(read(file("other")), "mine");
    EXPECT_EQ(read(file("report.tmp")), "mine");
    EXPECT_EQ(surrogate("check " + tiny + " --json $'" + file("a\\nb") + "'").status, 2);
}

#ifdef SURROGATE_MPIRUN

TEST_F(HostileTest, RanksAgreeOnAllOfThis) {
    const std::string ranks = SURROGATE_MPIRUN " 3";
    ModelEdit empty(tiny);
    empty.reshape("check/input/x", {int64_t{1} << 40, 0, 2})
        .reshape("check/output/y", {int64_t{1} << 40, 0, 1})
        .reshape("check/output64/y", {int64_t{1} << 40, 0, 1});
    check(3, empty.save(model()), ranks);
    ModelEdit wrong(tiny);
    wrong.fill("check/output/y", 1000.f);
    check(1, wrong.save(model()), ranks);
    ModelEdit single(tiny);
    single.drop("check/output64/y");
    EXPECT_EQ(check(0, single.save(model()), ranks)["truth"], "single");
    EXPECT_EQ(
        shell(ranks + " " SURROGATE_PROGRAM " check " + model() + " --save " + model()).status, 2);
    const Outcome info = shell(ranks + " " SURROGATE_PROGRAM " info " + darcy);
    EXPECT_NE(info.text.find("527 bytes a point"), std::string::npos) << info.text;
}

#endif

}  // namespace
}  // namespace surrogate::test
