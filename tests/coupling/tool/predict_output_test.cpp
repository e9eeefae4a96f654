// SPDX-License-Identifier: Apache-2.0
// Files that `surrogate predict` writes: never over its inputs, never silently over an earlier
// result, and an earlier result stays until the new one is complete.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "coupling/file/file_lock.hpp"
#include "coupling/mesh/mesh_file.hpp"
#include "coupling/mesh/mesh_files.hpp"
#include "tests/coupling/tool/predict_job.hpp"
#include "tests/coupling/tool/predict_meshes.hpp"
#include "tests/support/little_room.hpp"

namespace surrogate::test {
namespace {

namespace fs = std::filesystem;
using tool::PredictArguments;

/// A prediction in a folder of its own, with the square's mesh in it.
class PredictOutput : public PredictFolder {
protected:
    void SetUp() override {
        PredictFolder::SetUp();
        on_root([this] {
            write_grid<vtkXMLUnstructuredGridWriter>(make_quads<vtkUnstructuredGrid>(Strip()),
                                                     at("mesh.vtu"));
        });
    }
    PredictArguments replacing(const std::string& mesh, const std::string& out) const {
        PredictArguments result = arguments(mesh, out);
        result.overwrite = true;
        return result;
    }
    /// Names of the pieces of out.pvtu in this job: "out/out_0000.vtu", .., with the suffix behind
    /// the rank.
    std::vector<std::string> pieces(const std::string& suffix) const {
        std::vector<std::string> names;
        for (int rank = 0; rank < job().size(); ++rank)
            names.push_back("out/out_000" + std::to_string(rank) + suffix + ".vtu");
        return names;
    }
    std::vector<std::string> pieces_there() const {
        std::vector<std::string> names;
        for (const auto& [name, content] : files())
            if (name.rfind("out/", 0) == 0) names.push_back(name);
        return names;
    }
    void expect_whole(const std::string& out) const {
        const vtk::MeshFile mesh(at(out), 0, 1);
        EXPECT_GE(mesh.n_rows(SURROGATE_POINT), n_points);
        const auto found = mesh.values(SURROGATE_POINT, "pressure", 0);
        EXPECT_EQ(std::count_if(found.begin(), found.end(), [](double p) { return p != p; }), 0);
    }
};

TEST_F(PredictOutput, ThatIsTheMeshUnderAnotherNameIsRefused) {
    on_root([this] {
        fs::create_hard_link(at("mesh.vtu"), at("hard.vtu"));
        fs::create_symlink("mesh.vtu", at("soft.vtu"));
        fs::create_directory(at("sub"));
    });
    const auto before = files();
    for (const char* out : {"mesh.vtu", "./mesh.vtu", "sub/../mesh.vtu", "hard.vtu", "soft.vtu"})
        for (const bool overwrite : {false, true}) {
            auto options = arguments("mesh.vtu", out);
            options.overwrite = overwrite;
            expect_words(refusal(options), {out, "would replace", "the mesh itself"});
        }
    auto options = replacing("mesh.vtu", "");
    options.mesh = at("soft.vtu");
    options.out = at("hard.vtu");
    expect_words(refusal(options), {"the mesh itself", "not overwritten"});
    EXPECT_EQ(files(), before);
}

TEST_F(PredictOutput, ThatWouldReplaceAPieceOfTheMeshIsRefused) {
    predict(arguments("mesh.vtu", "out.pvtu"));
    on_root([this] {
        fs::copy_file(at("out.pvtu"), at("copy.pvtu"));  // names the same pieces
        fs::create_hard_link(at("out/out_0000.vtu"), at("renamed.vtu"));
    });
    const auto before = files();
    expect_words(refusal(replacing("out.pvtu", "./out.pvtu")), {"the mesh itself"});
    expect_words(refusal(replacing("out/out_0000.vtu", "out.pvtu")),
                 {"out/out_0000.vtu", "the mesh itself"});
    expect_words(refusal(replacing("renamed.vtu", "out.pvtu")), {"the mesh itself"});
    expect_words(refusal(replacing("copy.pvtu", "out.pvtu")),
                 {"out/out_0000.vtu", "a piece of the mesh", "copy.pvtu"});
    expect_words(refusal(replacing("copy.pvtu", "out/out_0000.vtu")), {"a piece of the mesh"});
    EXPECT_EQ(files(), before);
}

TEST_F(PredictOutput, ThatIsTheModelIsRefused) {
    on_root([this] { fs::copy_file(model_file, at("model.vtu")); });
    auto options = replacing("mesh.vtu", "./model.vtu");
    options.model = at("model.vtu");
    expect_words(refusal(options), {"model.vtu", "is the model"});
    EXPECT_EQ(bytes_of(at("model.vtu")), bytes_of(model_file));
}

TEST_F(PredictOutput, IsNeverWrittenThroughALink) {
    on_root([this] {
        std::ofstream(at("notes")) << "mine";
        std::ofstream(at("out.vtu.tmp")) << "mine";
        for (const char* name : {"out.vtu", "out.pvtu"}) fs::create_symlink("notes", at(name));
    });
    for (const char* out : {"out.vtu", "out.pvtu"}) {
        expect_words(refusal(arguments("mesh.vtu", out)), {out, "exists; --overwrite"});
        predict(replacing("mesh.vtu", out));
        expect_whole(out);
        job().barrier();
    }
    EXPECT_EQ(bytes_of(at("notes")), "mine");
    EXPECT_EQ(bytes_of(at("out.vtu.tmp")), "mine");
    const auto before = files();
    expect_words(refusal(arguments("mesh.vtu", "a\nb.pvtu")), {"control character"});
    EXPECT_EQ(files(), before);
}

TEST_F(PredictOutput, OfTwoProgramsIsThatOfTheFirst) {
    std::optional<file::FileLock> lock;
    on_root([&] { lock.emplace(file::lock_of(at("out.pvtu")), "it"); });
    expect_words(refusal(arguments("mesh.vtu", "out.pvtu")), {"out.pvtu", "is in use by process "});
    on_root([&] { lock.reset(); });
    predict(arguments("mesh.vtu", "out.pvtu"));
    EXPECT_EQ(files().count("out.pvtu.surrogate.lock"), 0u);
}

TEST_F(PredictOutput, ThatExistsIsReplacedOnlyWhenAskedTo) {
    for (const char* out : {"out.vtu", "out.pvtu"}) {
        predict(arguments("mesh.vtu", out));
        const auto before = files();
        expect_words(refusal(arguments("mesh.vtu", out)), {out, "exists", "--overwrite"});
        EXPECT_EQ(files(), before);
        predict(replacing("mesh.vtu", out));
        expect_whole(out);
        job().barrier();
    }
}

TEST_F(PredictOutput, InPiecesReplacesThemAllAtOnce) {
    predict(arguments("mesh.vtu", "out.pvtu"));
    EXPECT_EQ(pieces_there(), pieces(""));
    on_root([this] {  // of a run on more ranks, and of one that was killed
        for (const char* name : {"out_0007.vtu", "out_0000_1.vtu.surrogate.tmp", "out_0001_4.vtu",
                                 "out_0000.vtp", "mine_0000.vtu"})
            std::ofstream(at("out/") + name) << "x";
    });
    predict(replacing("mesh.vtu", "out.pvtu"));
    auto wanted = pieces("_1");
    wanted.insert(wanted.end(), {"out/mine_0000.vtu", "out/out_0000.vtp"});  // another's
    std::sort(wanted.begin(), wanted.end());
    EXPECT_EQ(pieces_there(), wanted);
    std::vector<std::string> named = vtk::files_of_mesh(at("out.pvtu"));
    named.erase(named.begin());
    for (std::string& name : named) name = name.substr(folder_.size() + 1);
    EXPECT_EQ(named, pieces("_1"));
    expect_whole("out.pvtu");
    predict(replacing("mesh.vtu", "out.pvtu"));  // the first names are free again
    expect_whole("out.pvtu");
    EXPECT_TRUE(fs::exists(at("out/out_0000.vtu")));
    EXPECT_EQ(pieces_there().size(), static_cast<size_t>(job().size()) + 2);
}

TEST_F(PredictOutput, PiecesWithoutASummaryAreNotTakenForNothing) {
    predict(arguments("mesh.vtu", "out.pvtu"));
    on_root([this] { fs::rename(at("out.pvtu"), at("kept.pvtu")); });
    expect_words(refusal(arguments("mesh.vtu", "out.pvtu")), {"out/out_0000.vtu", "--overwrite"});
    expect_whole("kept.pvtu");
    job().barrier();
    on_root([this] {
        fs::remove_all(at("out"));
        fs::create_directory(at("out"));
        std::ofstream(at("out/out_0000.vtu.surrogate.tmp")) << "of a killed run";
    });
    predict(arguments("mesh.vtu", "out.pvtu"));
    EXPECT_EQ(pieces_there(), pieces(""));
}

// The rank that fails is the last one; the others have written by then.
TEST_F(PredictOutput, ThatCannotBeWrittenLeavesTheEarlierOneAndNothingElse) {
    for (const char* out : {"out.vtu", "out.pvtu", "new.vtu", "new.pvtu"}) {
        const bool is_new = out[0] == 'n';
        if (!is_new) predict(arguments("mesh.vtu", out));
        const auto before = files();
        const bool in_pieces = vtk::parse_mesh_name(out).is_parallel;
        std::optional<LittleRoom> room;
        if (job().rank() == (in_pieces ? job().size() - 1 : 0)) room.emplace(1000);
        expect_words(refusal(replacing("mesh.vtu", out)), {"cannot write", "File too large"});
        room.reset();
        EXPECT_EQ(files(), before) << out;
    }
}

TEST_F(PredictOutput, OnAFullDiskSaysSoAndLeavesTheEarlierOne) {
    std::optional<SmallDisk> disk;
    if (job().is_root()) disk.emplace();
    folder_ = job().broadcast(disk && disk->is_there() ? *disk / "" : "");
    if (folder_.empty()) GTEST_SKIP() << "no small file system can be mounted here";
    folder_.pop_back();
    on_root([this] {
        write_grid<vtkXMLUnstructuredGridWriter>(make_quads<vtkUnstructuredGrid>(Strip()),
                                                 at("mesh.vtu"));
    });
    for (const char* out : {"out.pvtu", "out.vtu"}) {
        predict(arguments("mesh.vtu", out));
        on_root([&] {  // all but a page
            std::ofstream(at("fill")) << std::string(fs::space(folder_).available - 4096, 'x');
        });
        const auto before = files();
        expect_words(refusal(replacing("mesh.vtu", out)),
                     {"cannot write", "No space left on device"});
        EXPECT_EQ(files(), before) << out;
        on_root([this] { fs::remove(at("fill")); });
    }
}

TEST_F(PredictOutput, ThatCannotBeIsFoundBeforeAnythingIsRead) {
    auto options = arguments("no_mesh.vtu", "no/x.vtu");
    options.model = at("no_model.safetensors");
    expect_words(refusal(options), {"no/x.vtu", "No such file"});
    options.out = at("no/x.pvtu");
    expect_words(refusal(options), {"no/x.pvtu", "No such file"});
    options.out = "/proc/x.vtu";  // no user can create files there, not even root
    expect_words(refusal(options), {"/proc/x.vtu"});
    options.out = at("x.obj");
    expect_words(refusal(options), {"x.obj", ".pvtu"});
    options.out = at("x.vtp");
    expect_words(refusal(options), {"is written as .vtu or .pvtu"});
    on_root([this] {
        fs::create_directory(at("folder.vtu"));
        std::ofstream(at("taken")) << "x";
    });
    options = replacing("no_mesh.vtu", "folder.vtu");
    expect_words(refusal(options), {"folder.vtu", "is a folder"});
    options.out = at("taken.pvtu");
    expect_words(refusal(options), {"taken.pvtu", "which is a file"});
    options.out = at("x.vtu");
    options.at = "cell";
    expect_words(refusal(options), {"--at is 'cell'", "points, cells or a mesh"});
    options.at = "";
    options.maps = {{"mobility", "a"}, {"mobility", "b"}};
    expect_words(refusal(options), {"--map mobility", "twice", "'a'", "'b'"});
    options.maps = {{"porosity", "mobility"}};
    options.model = model_file;  // a field is known when the model is; the mesh is not there yet
    expect_words(refusal(options), {"no field 'porosity'"});
}

}  // namespace
}  // namespace surrogate::test
