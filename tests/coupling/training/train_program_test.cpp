// SPDX-License-Identifier: Apache-2.0
// `surrogate train` from outside: what it learns, what it writes, how it stops and goes on.
#include "tests/coupling/training/train_program.hpp"

#include <map>

namespace surrogate::test {

namespace {

TEST_F(TrainProgram, LearnsToAStatedErrorAndItsModelsPassTheirChecks) {
    Recipe recipe;
    recipe.training =
        "epochs = 60\nbatch = 2\nlearning_rate = 5e-3\nschedule = 'one_cycle'\nseed = 1\n";
    recipe.options = "threads = 1\n";
    train(0, recipe);
    // 7 times below the error of a constant, 0.36; measured: 0.027.
    EXPECT_LE(column_of("out", "error of pressure").back(), 0.05);
    for (const std::string name : {"best", "last"}) {
        const Outcome check = surrogate("check " + file("out/" + name + ".safetensors"));
        EXPECT_EQ(check.status, 0) << check.text;
    }
    const json learnt = card(file("out/best.safetensors"));
    EXPECT_EQ(learnt.at("inputs").at(0).at("role"), "coordinate");
    EXPECT_EQ(learnt.at("inputs").at(2).at("unit"), "m^2/(Pa s)");
    EXPECT_EQ(learnt.at("provenance").at("data").at(0).at("xxh3").get<std::string>().size(), 16u);
    EXPECT_GT(learnt.at("provenance")
                  .at("error on held-out data")
                  .at("relative L2")
                  .at("pressure")
                  .get<double>(),
              0);
    const std::string picture = read(file("out/loss.png"));
#ifdef SURROGATE_HAS_CHART
    EXPECT_EQ(picture.substr(1, 3), "PNG");
#endif
}

TEST_F(TrainProgram, ResumedTrainingHasTheBitsOfAnUninterruptedOne) {
    Recipe whole;
    whole.training = "epochs = 4\nbatch = 2\nseed = 1\nema_decay = 0.9\n";
    whole.folder = "whole";
    train(0, whole);
    Recipe part = whole;
    part.folder = "part";
    part.training = "epochs = 2\nbatch = 2\nseed = 1\nema_decay = 0.9\n";
    train(0, part);
    part.training = whole.training;
    train(0, part, "--resume");
    for (const std::string name : {"best", "last", "average"})
        EXPECT_EQ(weights(file("whole/" + name + ".safetensors")),
                  weights(file("part/" + name + ".safetensors")))
            << name;
    for (const std::string key : {"epoch", "step", "loss", "validation", "best"})
        EXPECT_EQ(column_of("whole", key), column_of("part", key)) << key;
}

// A script that runs a chain of trainings again goes on with the second: the model that it starts
// from has the same bytes.
TEST_F(TrainProgram, FinishedTrainingThatIsResumedOnAnotherDayLeavesTheSameBytes) {
    const Recipe recipe;
    train(0, recipe, "", "SOURCE_DATE_EPOCH=1000000000");
    EXPECT_EQ(card(file("out/last.safetensors")).at("provenance").at("date"),
              "2001-09-09T01:46:40Z");
    std::map<std::string, std::string> before;
    for (const std::string name : {"best", "last", "checkpoint"})
        before[name] = read(file("out/" + name + ".safetensors"));
    train(0, recipe, "--resume");
    for (const auto& [name, bytes] : before)
        EXPECT_EQ(read(file("out/" + name + ".safetensors")), bytes) << name;
}

TEST_F(TrainProgram, SignalWritesACheckpointInTheMiddleOfAnEpochFromWhichItGoesOn) {
    Recipe whole;
    whole.training = "epochs = 400\nbatch = 1\nseed = 1\n";
    whole.folder = "stopped";
    const std::string program = SURROGATE_PROGRAM " train " + config(whole);
    // Wait for the first epochs, then stop it.
    const Outcome stopped =
        shell(program + " & id=$!; until [ -s " + file("stopped/loss.csv") +
              " ] || ! kill -0 $id; do sleep 0.05; done; kill -TERM $id; wait $id");
    EXPECT_EQ(stopped.status, 4) << stopped.text;
    expect_told(stopped, "--resume continues");
    const size_t n_done = column_of("stopped", "epoch").size();
    ASSERT_LT(n_done, 400u);
    const std::string epochs = std::to_string(n_done + 2);
    whole.training = "epochs = " + epochs + "\nbatch = 1\nseed = 1\n";
    train(0, whole, "--resume");
    Recipe other = whole;
    other.folder = "whole";
    train(0, other);
    EXPECT_EQ(weights(file("stopped/last.safetensors")), weights(file("whole/last.safetensors")));
    EXPECT_EQ(column_of("stopped", "loss"), column_of("whole", "loss"));
}

TEST_F(TrainProgram, AnotherTrainingIsNotResumedAndEveryDifferenceIsListed) {
    Recipe recipe;
    train(0, recipe);
    recipe.training = "epochs = 4\nbatch = 2\nlearning_rate = 3e-3\nseed = 1\n";
    recipe.data = "";
    LatticeSet{.seed = 5}.write(file("train.h5"));
    const Outcome outcome = train(2, recipe, "--resume");
    expect_told(outcome, "data set 0 (xxh3)");
    expect_told(outcome, "data.symmetries: 'square' in the checkpoint, not given now");
    LatticeSet().write(file("train.h5"));
    recipe.model.replace(recipe.model.find("num_latents = 8"), 15, "num_latents = 4");
    EXPECT_EQ(train(2, recipe, "--resume").text.find("data set"), std::string::npos);
}

TEST_F(TrainProgram, FolderWithATrainingIsNotLostUnasked) {
    Recipe recipe;
    expect_told(train(2, recipe, "--resume"), "nothing to resume");
    recipe.training = "epochs = 1\n";
    train(0, recipe);
    const std::string before = read(file("out/last.safetensors"));
    expect_told(train(2, recipe), "--overwrite discards it");
    EXPECT_EQ(read(file("out/last.safetensors")), before);
    train(0, recipe, "--overwrite --quiet");
}

TEST_F(TrainProgram, DryRunPrintsMemoryAndTimesAndWritesNothing) {
    const Outcome outcome = train(0, Recipe(), "--dry-run");
    expect_told(outcome, "time of a step");
    expect_told(outcome, "parameters");
    EXPECT_FALSE(std::filesystem::exists(file("out")));
}

// Errors in the data, such as NaN, are reported later.
TEST_F(TrainProgram, RejectsAnUnknownFamilyBeforeNumbersAreRead) {
    Recipe recipe;
    recipe.model =
        "family = 'mlp'\ninputs = ['x', 'y', 'mobility']\noutputs = ['pressure']\n"
        "network = {}\n";
    for (const std::string option : {"", "--dry-run"}) {
        const Outcome outcome = train(2, recipe, option);
        expect_told(outcome, "unknown model family 'mlp', expected one of: affine, bsa, ");
        EXPECT_EQ(outcome.text.find("reading the training set"), std::string::npos);
    }
    EXPECT_FALSE(std::filesystem::exists(file("out")));
}

TEST_F(TrainProgram, RejectsALossThatACallerComputes) {
    Recipe recipe;
    recipe.training += "loss = 'custom'\n";
    expect_told(train(2, recipe), "expected a loss of the library");
    EXPECT_FALSE(std::filesystem::exists(file("out")));
}

TEST_F(TrainProgram, NamesTargetsThatAreZeroEverywhereBeforeTheFirstStep) {
    Recipe recipe;
    const std::string zero = "sample 18 of '" + file("train.h5") + "' is zero everywhere";
    LatticeSet{.zero_sample = 18}.write(file("train.h5"));  // held out
    expect_told(train(2, recipe), "the target of the held-out " + zero);
    EXPECT_FALSE(std::filesystem::exists(file("out")));
    recipe.training += "loss = 'mse'\n";
    const Outcome outcome = train(0, recipe);
    expect_told(outcome,
                "'pressure' is zero everywhere in 1 held-out samples, the first is sample 18");
    EXPECT_TRUE(std::isfinite(column_of("out", "error of pressure").back()));
    EXPECT_EQ(outcome.text.find("inf"), std::string::npos) << outcome.text;
    recipe.training = "epochs = 1\n";
    LatticeSet{.zero_sample = 3}.write(file("train.h5"));
    const std::string learnt = "sample 3 of '" + file("train.h5") + "' is zero everywhere";
    expect_told(train(2, recipe, "--overwrite"), "the target of the training set's " + learnt);
}

TEST_F(TrainProgram, ModelOfAFileIsTrainedFurtherUnderItsOwnNormalisation) {
    Recipe recipe;
    recipe.training = "epochs = 8\nbatch = 2\nlearning_rate = 3e-3\n";
    train(0, recipe);
    Recipe further = recipe;
    further.folder = "further";
    further.model = "file = '" + file("out/last.safetensors") + "'\n";
    train(0, further);
    EXPECT_EQ(card(file("further/last.safetensors")).at("inputs"),
              card(file("out/last.safetensors")).at("inputs"));
    EXPECT_LT(column_of("further", "loss").back(), column_of("out", "loss").back());
    // The same field in other units: the data contradict the card.
    LatticeSet{.unit = "m^2/(kPa s)"}.write(file("train.h5"));
    further.folder = "other";
    expect_told(train(2, further), "mobility");
}

TEST_F(TrainProgram, BadDataAreRefusedByName) {
    Recipe recipe;
    recipe.train = "absent.h5";
    expect_told(train(2, recipe), "absent.h5");
    recipe = {};
    LatticeSet{.input = "mobilty"}.write(file("train.h5"));
    expect_told(train(2, recipe), "did you mean 'mobilty'?");
    LatticeSet{.n_sample = 1}.write(file("train.h5"));
    expect_told(train(2, recipe), "the training set has 1 samples, 'batch' is 2");
    recipe.validation = "0.9";
    LatticeSet{.n_sample = 1, .n = 3}.write(file("train.h5"));
    expect_told(train(2, recipe), "the training set has no sample");
    EXPECT_FALSE(std::filesystem::exists(file("out"))) << "the folder is made after all checks";
}

TEST_F(TrainProgram, ConfigurationThatIsNoFileIsRefusedWithTheReason) {
    for (const auto& [path, reason] : {std::pair(file("."), "it is a folder"),
                                       std::pair(file("none.toml"), "there is no such file")}) {
        const Outcome outcome = shell(SURROGATE_PROGRAM " train " + path);
        EXPECT_EQ(outcome.status, 2);
        expect_told(outcome, "cannot read the configuration '" + path + "': " + reason);
    }
}

TEST_F(TrainProgram, ValuesThatTheLibraryRefusesHaveTheirPlace) {
    Recipe recipe;
    recipe.training = "epochs = 1\nloss = 'relativ_l2'\n";
    const Outcome outcome = train(2, recipe);
    expect_told(outcome, "t.toml:12:8: ");
    expect_told(outcome, "relative_l2");
    for (const std::string value : {"0", "-1", "1.5", "'1 MiB'"}) {
        recipe.training = "epochs = 1\nbucket = " + value + "\n";
        const Outcome refused = train(2, recipe);
        expect_told(refused, "t.toml:12:10: ");
        expect_told(refused, "bucket");
    }
}

/// Buckets decide how gradients are exchanged, not which: a training may resume with another size.
TEST_F(TrainProgram, BucketsOfAnySizeLearnTheSameBits) {
    Recipe recipe;
    recipe.training = "epochs = 2\nbatch = 2\nseed = 1\n";
    expect_told(train(0, recipe, "--dry-run"), "bucket=1048576 ");
    recipe.folder = "usual";
    train(0, recipe);
    recipe.folder = "small";
    recipe.training = "epochs = 1\nbatch = 2\nseed = 1\nbucket = 1\n";
    expect_told(train(0, recipe, "--dry-run"), "bucket=1 ");
    train(0, recipe);
    recipe.training = "epochs = 2\nbatch = 2\nseed = 1\nbucket = 4096\n";
    train(0, recipe, "--resume");
    EXPECT_EQ(weights(file("usual/last.safetensors")), weights(file("small/last.safetensors")));
}

/// Name and content of each file of a folder.
std::map<std::string, std::string> files_of(const std::string& folder) {
    std::map<std::string, std::string> all;
    for (const auto& entry : std::filesystem::directory_iterator(folder))
        all[entry.path().filename().string()] = read(entry.path().string());
    return all;
}

TEST_F(TrainProgram, AnEarlierTrainingStaysUntilTheNextOneHasACheckpoint) {
    Recipe recipe;
    recipe.training += "average = 0.9\n";
    train(0, recipe);
    const auto before = files_of(file("out"));
    EXPECT_EQ(before.count("average.safetensors"), 1u);
    EXPECT_EQ(before.count(".surrogate.lock"), 0u);
    Recipe wrong = recipe;  // the engine rejects it
    wrong.model.replace(wrong.model.find("num_heads = 2"), 13, "num_heads = 3");
    expect_told(train(2, wrong, "--overwrite"), "num_heads");
    EXPECT_TRUE(files_of(file("out")) == before);  // too long to print
    Recipe of_itself = recipe;
    of_itself.model = "file = '" + file("out/best.safetensors") + "'\n";
    const Outcome outcome = train(2, of_itself, "--overwrite");
    expect_told(outcome, "would replace '" + file("out/best.safetensors") +
                             "', which is the model to train further");
    EXPECT_TRUE(files_of(file("out")) == before);
    Recipe diverging = recipe;  // it begins, and fails before its first checkpoint
    diverging.training = "epochs = 60\nlearning_rate = 1e30\nmax_grad_norm = 0\nloss = 'mse'\n";
    train(1, diverging, "--overwrite");
    EXPECT_TRUE(files_of(file("out")) == before);
    Recipe next = recipe;
    next.training = "epochs = 2\nbatch = 2\nseed = 2\n";
    train(0, next, "--overwrite");
    const auto after = files_of(file("out"));
    for (const char* name : {"best.safetensors", "last.safetensors", "checkpoint.safetensors",
                             "config.toml", "essence.json", "loss.csv"})
        EXPECT_NE(after.at(name), before.at(name)) << name;
    EXPECT_EQ(after.count("average.safetensors"), 0u);  // it would be taken for this one's
}

TEST_F(TrainProgram, ARefusedTrainingLeavesNoFolder) {
    Recipe recipe;
    recipe.folder = "a/b/out";
    recipe.model.replace(recipe.model.find("num_heads = 2"), 13, "num_heads = 3");
    train(2, recipe);
    EXPECT_FALSE(std::filesystem::exists(file("a")));
}

TEST_F(TrainProgram, FilesOfOthersStopIt) {
    std::filesystem::create_directory(file("out"));
    for (const char* name :
         {"config.toml", "essence.json", "loss.csv", "loss.png", "average.safetensors"}) {
        write(file(std::string("out/") + name), "mine");
        expect_told(train(2, {}), "out/" + std::string(name) + "' exists; --overwrite");
        EXPECT_EQ(files_of(file("out")).size(), 1u);
        EXPECT_EQ(read(file(std::string("out/") + name)), "mine");
        std::filesystem::remove(file(std::string("out/") + name));
    }
    write(file("out/best.safetensors.tmp"), "mine");
    write(file("notes"), "mine");
    std::filesystem::create_symlink("../train.h5", file("out/loss.csv"));
    const std::string data = read(file("train.h5"));
    for (const std::string options : {"", "--overwrite"})
        expect_told(train(2, {}, options), "which is a training set");
    EXPECT_EQ(read(file("train.h5")), data);
    std::filesystem::remove(file("out/loss.csv"));
    for (const char* name :
         {"loss.csv", "checkpoint.safetensors", "best.safetensors", "essence.json"})
        std::filesystem::create_symlink("../notes", file(std::string("out/") + name));
    train(2, {});
    train(0, {}, "--overwrite");  // replaces the links themselves
    EXPECT_EQ(read(file("notes")), "mine");
    EXPECT_EQ(read(file("out/best.safetensors.tmp")), "mine");
    EXPECT_FALSE(std::filesystem::is_symlink(file("out/checkpoint.safetensors")));
    Recipe here;
    here.folder = ".";
    write(file("config.toml"), "mine");
    expect_told(train(2, here), "config.toml' exists");
    EXPECT_EQ(read(file("config.toml")), "mine");
}

TEST_F(TrainProgram, TwoInOneFolderAreNotAllowed) {
    Recipe recipe;
    recipe.training = "epochs = 100000\nbatch = 2\n";
#ifdef SURROGATE_MPIRUN
    const std::string launcher = SURROGATE_MPIRUN " 2 ";
#else
    const std::string launcher;
#endif
    const std::string lock = file("out/.surrogate.lock");
    const std::string program = SURROGATE_PROGRAM " train " + config(recipe, "first.toml");
    const Outcome outcome = shell("sh -c '" + launcher + program + " --quiet > " + file("log") +
                                  " 2>&1 & " + "n=0; while [ ! -s " + lock +
                                  " ] && [ $n -lt 600 ]; do sleep 0.1; n=$((n+1)); done; " +
                                  SURROGATE_PROGRAM " train " + config({}) +
                                  " --overwrite; echo status $?; "
                                  "kill -9 $(sed \"s/process \\([0-9]*\\) .*/\\1/\" " +
                                  lock + "); wait; exit 0'");
    expect_told(outcome, "is in use by process ");
    expect_told(outcome, "status 2");
    train(0, {}, "--overwrite");  // the lock of a killed one is taken over
    EXPECT_FALSE(std::filesystem::exists(lock));
}

/// --quiet leaves errors and warnings. A folder is in the way of the checkpoint alone.
TEST_F(TrainProgram, QuietTellsOfCheckpointsThatCannotBeWritten) {
    std::filesystem::create_directories(file("out/checkpoint.safetensors.surrogate.tmp"));
    const Outcome outcome = train(2, {}, "--quiet");
    expect_told(outcome, "warning: IO: cannot write");
    const size_t first = outcome.text.find("warning: ");
    EXPECT_NE(outcome.text.find("warning: ", first + 1), std::string::npos) << outcome.text;
}

TEST_F(TrainProgram, OneDataSetIsNotTakenTwice) {
    std::filesystem::copy_file(file("train.h5"), file("copy.h5"));
    std::filesystem::create_symlink("train.h5", file("link.h5"));
    for (const std::string other : {"train.h5", "link.h5", "copy.h5"}) {
        Recipe recipe;
        recipe.validation = other;
        expect_told(train(2, recipe), "of 'validation' is '" + file("train.h5") + "' of 'train'");
        recipe = {};
        recipe.train = "train.h5', '" + file(other);
        const std::string path = config(recipe);
        std::string text = read(path);
        text.replace(text.find("train = '"), 8, "train = [");
        const std::string end = file(other) + "'";
        text.insert(text.find(end + "\n") + end.size(), "]");
        write(path, text);
        const Outcome outcome = shell(SURROGATE_PROGRAM " train " + path);
        EXPECT_EQ(outcome.status, 2) << outcome.text;
        expect_told(outcome, "the same data set is twice in 'train'");
    }
    EXPECT_FALSE(std::filesystem::exists(file("out")));
}

TEST_F(TrainProgram, DatesThatAreNoneAreRefused) {
    for (const std::string date : {"99999999999999999999", "253402300800", "-1", "junk", "12x"})
        expect_told(train(2, {}, "", "SOURCE_DATE_EPOCH=" + date),
                    "SOURCE_DATE_EPOCH is '" + date + "', expected an integer");
    EXPECT_FALSE(std::filesystem::exists(file("out")));
}

TEST_F(TrainProgram, FolderThatCannotBeMadeIsAnErrorBeforeAnythingIsComputed) {
    Recipe recipe;
    write(file("plain"), "");
    recipe.folder = "plain/out";
    expect_told(train(2, recipe), "cannot make the folder");
}

TEST_F(TrainProgram, LearningRateThatDivergesStopsTheTrainingAndKeepsWhatWasWritten) {
    Recipe recipe;
    recipe.training = "epochs = 60\nlearning_rate = 1e30\nmax_grad_norm = 0\nloss = 'mse'\n";
    recipe.options = "threads = 1\n";
    const Outcome outcome = train(1, recipe);
    expect_told(outcome, "epoch ");
    expect_told(outcome, "sample ");
}

#ifdef SURROGATE_MPIRUN
TEST_F(TrainProgram, ReproducibleTrainingHasTheSameBitsOnAnyNumberOfRanks) {
    Recipe recipe;
    recipe.training = "epochs = 2\nbatch = 2\nseed = 1\n";
    recipe.folder = "r1";
    train(0, recipe);
    for (const std::string ranks : {"2", "3"}) {
        recipe.folder = "r" + ranks;
        train(0, recipe, "", mpirun + " " + ranks);
        EXPECT_EQ(weights(file("r1/last.safetensors")),
                  weights(file("r" + ranks + "/last.safetensors")));
        EXPECT_EQ(column_of("r1", "validation"), column_of("r" + ranks, "validation"));
    }
    // And when it goes on with another number of them.
    Recipe longer = recipe;
    longer.training = "epochs = 3\nbatch = 2\nseed = 1\n";
    train(0, longer, "--resume", mpirun + " 2");
    longer.folder = "r1";
    train(0, longer, "--resume");
    EXPECT_EQ(weights(file("r1/last.safetensors")), weights(file("r3/last.safetensors")));
}

TEST_F(TrainProgram, GroupsLearnFromDifferentSamplesOfABatch) {
    Recipe recipe;
    recipe.training = "epochs = 3\nbatch = 2\nseed = 1\n";
    recipe.options = "threads = 1\n";
    recipe.folder = "one";
    train(0, recipe);
    recipe.training += "groups = 2\n";
    recipe.folder = "two";
    train(0, recipe, "", mpirun + " 2");
    const auto one = column_of("one", "loss"), two = column_of("two", "loss");
    ASSERT_EQ(one.size(), two.size());
    for (size_t i = 0; i < one.size(); ++i) EXPECT_NEAR(one[i], two[i], 1e-4 * one[i]);
    expect_told(train(2, recipe, "--overwrite", mpirun + " 3"), "3 ranks are no multiple of that");
}

#endif

}  // namespace

}  // namespace surrogate::test
