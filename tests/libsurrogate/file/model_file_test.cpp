// SPDX-License-Identifier: Apache-2.0
// Loading of sound files, and of files that were damaged (rows R4 and R5 of the reliability goals).
#include "libsurrogate/src/file/model_file.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "tests/support/memory_files.hpp"
#include "tests/support/memory_meter.hpp"
#include "tests/support/model_writer.hpp"
#include "tests/support/refusal.hpp"

namespace surrogate::impl {
namespace {

using test::MemoryFiles;
using test::ModelWriter;
using test::Refusal;
using test::refusal;
using test::small_model;

bool all(std::string_view) {
    return true;
}
void any(const Card&, std::span<const TensorEntry>) {}

ModelFile load(const std::string& bytes,
               const std::function<bool(std::string_view)>& select = all) {
    return load_model_file(*self_communicator(), MemoryFiles(bytes), "model", select, any);
}

std::string bytes_of(const Tensor& tensor) {
    return {reinterpret_cast<const char*>(tensor.data.data()),
            static_cast<size_t>(tensor.data.size())};
}

TEST(ModelFile, TensorsAndCardAreThoseWritten) {
    const ModelWriter written = small_model();
    const ModelFile model = load(written.bytes());
    EXPECT_EQ(model.card_text, written.card_text());
    EXPECT_EQ(model.card.family, "flare");
    EXPECT_EQ(model.card.checksums.size(), written.tensors.size());
    ASSERT_EQ(model.tensors.size(), written.tensors.size());
    for (size_t i = 0; i < model.tensors.size(); ++i) {
        EXPECT_EQ(model.entries[i].name, written.tensors[i].name);
        EXPECT_EQ(model.tensors[i].entry.name, written.tensors[i].name);
        EXPECT_EQ(model.tensors[i].entry.shape, written.tensors[i].shape);
        EXPECT_EQ(name(model.entries[i].dtype), written.tensors[i].dtype);
        if (model.tensors[i].entry.dtype == model.entries[i].dtype) {
            EXPECT_EQ(bytes_of(model.tensors[i]), written.tensors[i].bytes);
        }
    }
}

std::vector<float> floats_of(const ModelFile& model, const std::string& tensor) {
    for (const Tensor& found : model.tensors)
        if (found.entry.name == tensor) return {found.floats().begin(), found.floats().end()};
    return {};
}

TEST(ModelFile, WeightsOfOtherFloatTypesComeAsFloat) {
    const ModelFile model = load(small_model().bytes());
    EXPECT_EQ(floats_of(model, "decoder.scale"), (std::vector<float>{1, 2, 3, 0.5f}));
    EXPECT_EQ(floats_of(model, "head.half"), (std::vector<float>{1, 0x1p-24f, -4}));
    EXPECT_EQ(floats_of(model, "head.double"), (std::vector<float>{0.1f, 1.5f}));
}

TEST(ModelFile, CheckTensorsKeepTheirType) {
    ModelWriter written = small_model();
    written.tensors.push_back({"check/output64/y", "F64", {1}, std::string(8, '\0')});
    written.tensors.push_back({"check/half", "F16", {1}, std::string(2, '\0')});
    const ModelFile model = load(written.bytes());
    EXPECT_EQ(model.tensors[10].entry.dtype, DType::float64);
    EXPECT_EQ(model.tensors[10].data.size(), 8);
    EXPECT_EQ(model.tensors[11].entry.dtype, DType::float16);
}

TEST(ModelFile, WeightsLargerThanTheWindowOfReadingAreConvertedWhole) {
    // Two and a bit windows of doubles: 1, 2, 3, ..
    ModelWriter written = small_model();
    std::string bytes;
    constexpr int n = 300'000;
    for (int i = 1; i <= n; ++i) {
        const double value = i;
        bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
    }
    written.tensors.push_back({"long", "F64", {n}, bytes});
    const std::vector<float> found = floats_of(load(written.bytes()), "long");
    ASSERT_EQ(found.size(), size_t{n});
    for (int i = 0; i < n; ++i)
        ASSERT_EQ(found[static_cast<size_t>(i)], static_cast<float>(i + 1)) << i;
    bytes.back() = '\x7f';  // the last one: 5.7e302
    written.tensors.back().bytes = bytes;
    const Refusal refused = refusal([&] { load(written.bytes()); });
    EXPECT_TRUE(
        refused.says("tensor 'long' of shape (300000) is not finite at flat index 299999; "
                     "it is stored as F64"))
        << refused.text;
}

TEST(ModelFile, OnlySelectedTensorsAreKept) {
    const ModelFile model =
        load(small_model().bytes(), [](auto name) { return name.starts_with(check_prefix); });
    EXPECT_EQ(model.entries.size(), 10u);
    ASSERT_EQ(model.tensors.size(), 2u);
    EXPECT_EQ(model.tensors[0].entry.name, "check/input/x");
    EXPECT_EQ(model.tensors[1].entry.name, "check/output/y");
}

TEST(ModelFile, FloatsAreReadAsWrittenAndNothingElseIsTakenForFloats) {
    const ModelFile model = load(small_model().bytes());
    EXPECT_EQ(model.tensors[0].floats().size(), 12u);
    EXPECT_EQ(model.tensors[0].floats()[1], -2.875f);
    const Refusal found = refusal([&] { model.tensors[5].floats(); });
    EXPECT_EQ(found.status, Status::bad_file);
    EXPECT_TRUE(found.says("tensor 'steps': expected F32, found I64")) << found.text;
}

TEST(ModelFile, ChecksumsAreThoseOfThePublishedHash) {
    // XXH3-64 with seed 0 of no bytes and of "a", from the test vectors of xxHash.
    EXPECT_EQ(test::checksum_text(""), "2d06800538d394c2");
    EXPECT_EQ(test::checksum_text("a"), "e6c632b61e964e1f");
}

TEST(ModelFile, CardChecksumIsEnoughAndTensorChecksumsAreEnough) {
    ModelWriter model = small_model();
    model.metadata["surrogate.card_checksum"] = test::checksum_text(model.card.dump());
    model.with_checksums = false;
    EXPECT_NO_THROW(load(model.bytes()));
    model.card = nlohmann::json::parse(small_model().card_text());
    model.metadata.erase("surrogate.card_checksum");
    EXPECT_NO_THROW(load(model.bytes()));
}

TEST(ModelFile, ChecksumsOfTensorsNotSelectedAreCompared) {
    ModelWriter model = small_model();
    model.tensors.push_back(
        {"large", "U8", {3'000'001}, std::string(3'000'001, 'x')});  // three windows
    std::string bytes = model.bytes();
    EXPECT_NO_THROW(load(bytes, [](auto name) { return name != "large"; }));
    for (const size_t from_end : {size_t{1}, size_t{1'500'000}, size_t{3'000'001}}) {
        bytes[bytes.size() - from_end] ^= 1;
        const Refusal found =
            refusal([&] { load(bytes, [](auto name) { return name != "large"; }); });
        EXPECT_TRUE(found.says("tensor 'large' at offset")) << found.text;
        bytes[bytes.size() - from_end] ^= 1;
    }
}

TEST(ModelFile, PrefixesOfWrappedModulesAreStripped) {
    ModelWriter model = small_model();
    for (auto& tensor : model.tensors)
        if (!tensor.name.starts_with(check_prefix))
            tensor.name = "module._orig_mod.module." + tensor.name;
    model.tensors[1].name = "_orig_mod.blocks.module.bias";
    const ModelFile loaded =
        load(model.bytes(), [](auto name) { return name == "encoder.weight"; });
    EXPECT_EQ(loaded.tensors.at(0).entry.name, "encoder.weight");
    EXPECT_EQ(loaded.entries[1].name, "blocks.module.bias");
    EXPECT_EQ(loaded.entries[6].name, "check/input/x");
}

TEST(ModelFile, ValuesOfTensorsNotSelectedMayBeAnything) {
    ModelWriter model = small_model();
    model.tensors.push_back({"nan", "F32", {1}, std::string("\xff\xff\xff\xff", 4)});
    EXPECT_NO_THROW(load(model.bytes(), [](auto name) { return name != "nan"; }));
    EXPECT_TRUE(refusal([&] { load(model.bytes()); }).says("tensor 'nan'"));
}

TEST(ModelFile, IntegersAreNotTakenForNan) {
    ModelWriter model = small_model();
    model.tensors.push_back({"minus_one", "I32", {1}, std::string("\xff\xff\xff\xff", 4)});
    EXPECT_NO_THROW(load(model.bytes()));
}

TEST(ModelFile, AcceptSeesCardAndEntriesBeforeTensorsAndMayRefuse) {
    const std::string bytes = small_model().bytes();
    bool selected = false;
    const Refusal found = refusal([&] {
        load_model_file(
            *self_communicator(), MemoryFiles(bytes), "m.safetensors",
            [&](auto) { return selected = true; },
            [](const Card& card, std::span<const TensorEntry> entries) {
                throw Error(Status::not_supported,
                            card.family + " of " + std::to_string(entries.size()));
            });
    });
    EXPECT_EQ(found.status, Status::not_supported);
    EXPECT_EQ(found.text, "model file 'm.safetensors': flare of 10");
    EXPECT_FALSE(selected);
}

TEST(ModelFile, GoldenFilesLoad) {
    for (const std::string path : {SURROGATE_TEST_DATA "/flare/tiny.safetensors",
                                   SURROGATE_TEST_DATA "/flare/odd.safetensors",
                                   SURROGATE_TEST_DATA "/flare/tiny_options.safetensors",
                                   SURROGATE_SHARE "/models/darcy_flow.safetensors"}) {
        const ModelFile model =
            load_model_file(*self_communicator(), posix_files(), path, all, any);
        EXPECT_EQ(model.card.family, "flare") << path;
        EXPECT_EQ(model.tensors.size(), model.entries.size()) << path;
    }
}

TEST(ModelFile, MemoryIsTheTensorsAndThirtyTwoMegabytes) {
    constexpr int64_t mega = int64_t{1} << 20;
    ModelWriter model = small_model();
    for (const char* name : {"large.a", "large.b"})
        model.tensors.push_back({name, "F32", {12 * mega}, std::string(48 * mega, '\0')});
    const std::string bytes = model.bytes();
    for (const std::string selected : {"large.a", "none"}) {
        const test::MemoryMeter meter;
        const ModelFile loaded = load(bytes, [&](auto name) { return name == selected; });
        EXPECT_LE(meter.peak_bytes(), (loaded.tensors.empty() ? 0 : 48 * mega) + 32 * mega)
            << selected;
    }
}

TEST(ModelFile, LargestLegalHeaderLoadsInBoundedMemory) {
    // Names and shapes at the limits of the JSON reader: 2 MB of strings, nearly 100,000 keys and
    // values.
    nlohmann::json header;
    header["__metadata__"]["surrogate.card"] = test::small_card().dump();
    for (int i = 0; i < 8'000; ++i)
        header[std::to_string(i) + std::string(200, 'n')] = {
            {"dtype", "U8"}, {"shape", {1, 0}}, {"data_offsets", {0, 0}}};
    std::string text = header.dump();
    text += std::string((size_t{16} << 20) - text.size(), ' ');
    const std::string bytes = test::safetensors_bytes(text, "");
    const test::MemoryMeter meter;
    EXPECT_EQ(load(bytes).entries.size(), 8'000u);
    EXPECT_LE(meter.peak_bytes(), int64_t{32} << 20);
}

TEST(DamagedFile, EveryTruncationIsRefused) {
    const std::string bytes = small_model().bytes();
    ASSERT_NO_THROW(load(bytes));
    for (size_t length = 0; length < bytes.size(); ++length) {
        const Refusal found = refusal([&] { load(bytes.substr(0, length)); });
        ASSERT_EQ(found.status, Status::bad_file) << length;
    }
}

TEST(DamagedFile, EveryTruncationIsRefusedWithoutChecksumsToo) {
    ModelWriter model = small_model();
    model.with_checksums = false;
    const std::string bytes = model.bytes();
    for (size_t length = 0; length < bytes.size(); ++length)
        ASSERT_EQ(refusal([&] { load(bytes.substr(0, length)); }).status, Status::bad_file)
            << length;
}

/// Everything that a user can query from a model.
bool same_content(const ModelFile& a, const ModelFile& b) {
    if (a.card_text != b.card_text || a.tensors.size() != b.tensors.size()) return false;
    for (size_t i = 0; i < a.tensors.size(); ++i) {
        const TensorEntry &x = a.tensors[i].entry, &y = b.tensors[i].entry;
        const bool same_entry = x.name == y.name && x.dtype == y.dtype && x.shape == y.shape;
        if (!same_entry || bytes_of(a.tensors[i]) != bytes_of(b.tensors[i])) return false;
    }
    return true;
}

TEST(DamagedFile, EveryFlippedBitIsRefusedByChecksumOrChangesNothing) {
    // Every bit of the file, not a sample. A flip may be accepted in one place only: in metadata
    // that is not ours, of which nothing reaches the user. The oracle for it is same_content(): the
    // card to the byte, and of every tensor name, type, shape and bytes.
    // small_model() has an empty tensor, whose shape no checksum covers (0, 3) -> (0, 2); families
    // compare shapes. Here it is left out.
    ModelWriter writer = small_model();
    writer.tensors.erase(writer.tensors.begin() + 2);
    const std::string sound = writer.bytes();
    const ModelFile original = load(sound);
    const size_t other = sound.find("\"format\":\"pt\"");
    ASSERT_NE(other, std::string::npos);
    int n_accepted = 0;
    for (size_t bit = 0; bit < 8 * sound.size(); ++bit) {
        std::string bytes = sound;
        bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << bit % 8));
        try {
            ASSERT_TRUE(same_content(load(bytes), original)) << "bit " << bit;
            ++n_accepted;
            EXPECT_TRUE(bit / 8 > other && bit / 8 < other + 13) << "bit " << bit;
        } catch (const Error& error) {
            ASSERT_EQ(error.status(), Status::bad_file) << error.what();
        }
    }
    EXPECT_LE(n_accepted, 8 * 8);  // "format" and "pt"
}

TEST(DamagedFile, TwoThousandFlippedBitsOfARealModelAreRefused) {
    // The trained model of the example, with the checksums it would be published with and no
    // metadata of others: nothing is accepted.
    const ModelFile real =
        load_model_file(*self_communicator(), posix_files(),
                        SURROGATE_SHARE "/models/darcy_flow.safetensors", all, any);
    ModelWriter writer;
    writer.card = nlohmann::json::parse(real.card_text);
    writer.with_checksums = true;
    for (const Tensor& tensor : real.tensors)
        writer.tensors.push_back(
            {tensor.entry.name, name(tensor.entry.dtype), tensor.entry.shape, bytes_of(tensor)});
    std::string bytes = writer.bytes();
    ASSERT_NO_THROW(load(bytes));
    std::mt19937_64 random(20250101);
    for (int i = 0; i < 2'000; ++i) {
        // A third of the flips goes into the header, which is about 3 % of the file.
        const size_t region = i % 3 == 0 ? 8 + writer.header_text().size() : bytes.size();
        const size_t bit = random() % (8 * region);
        bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << bit % 8));
        ASSERT_EQ(refusal([&] { load(bytes); }).status, Status::bad_file) << "bit " << bit;
        bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << bit % 8));
    }
}

}  // namespace
}  // namespace surrogate::impl
