// SPDX-License-Identifier: Apache-2.0
// Checks the content of well-formed headers. Errors are checked in hostile_files_test.cpp.
#include "libsurrogate/src/file/safetensors.hpp"

#include <gtest/gtest.h>

#include "tests/support/memory_files.hpp"
#include "tests/support/model_writer.hpp"
#include "tests/support/refusal.hpp"

namespace surrogate::impl {
namespace {

using test::MemoryFiles;
using test::safetensors_bytes;

SafetensorsHeader read(const std::string& bytes) {
    return read_safetensors_header(*MemoryFiles(bytes).open(""));
}

TEST(Safetensors, EmptyObjectIsAFileWithoutTensors) {
    const SafetensorsHeader header = read(safetensors_bytes("{}", ""));
    EXPECT_TRUE(header.tensors.empty());
    EXPECT_TRUE(header.metadata.empty());
}

TEST(Safetensors, TensorsComeInTheOrderOfTheirData) {
    const std::string text = R"({"__metadata__": {"k": "v", "": ""},
        "b": {"dtype": "F32", "shape": [2, 1], "data_offsets": [0, 8]},
        "a": {"data_offsets": [8, 10], "dtype": "U8", "shape": [2]}}   )";
    const SafetensorsHeader header = read(safetensors_bytes(text, "0123456789"));
    const int64_t data = 8 + std::ssize(text);
    ASSERT_EQ(header.tensors.size(), 2u);
    EXPECT_EQ(header.tensors[0].name, "b");
    EXPECT_EQ(header.tensors[0].dtype, DType::float32);
    EXPECT_EQ(header.tensors[0].shape, (std::vector<int64_t>{2, 1}));
    EXPECT_EQ(header.tensors[0].begin, data);
    EXPECT_EQ(header.tensors[0].end, data + 8);
    EXPECT_EQ(header.tensors[1].name, "a");
    EXPECT_EQ(header.tensors[1].begin, data + 8);
    EXPECT_EQ(header.tensors[1].end, data + 10);
    EXPECT_EQ(header.metadata, (std::map<std::string, std::string>{{"k", "v"}, {"", ""}}));
}

TEST(Safetensors, ScalarsAndEmptyTensorsAreLegal) {
    const std::string text = R"({"s": {"dtype": "F64", "shape": [], "data_offsets": [0, 8]},
        "e": {"dtype": "F64", "shape": [0], "data_offsets": [0, 0]},
        "f": {"dtype": "F64", "shape": [3, 0, 281474976710656], "data_offsets": [8, 8]}})";
    const SafetensorsHeader header = read(safetensors_bytes(text, "01234567"));
    ASSERT_EQ(header.tensors.size(), 3u);
    EXPECT_EQ(header.tensors[0].name, "e");
    EXPECT_EQ(header.tensors[1].name, "s");
    EXPECT_EQ(header.tensors[2].name, "f");
    EXPECT_TRUE(header.tensors[1].shape.empty());
}

struct TypeCase {
    DType dtype;
    const char* name;
    int64_t width;
};
const TypeCase type_cases[] = {
    {DType::float16, "F16", 2}, {DType::bfloat16, "BF16", 2}, {DType::float32, "F32", 4},
    {DType::float64, "F64", 8}, {DType::int8, "I8", 1},       {DType::int16, "I16", 2},
    {DType::int32, "I32", 4},   {DType::int64, "I64", 8},     {DType::uint8, "U8", 1},
    {DType::uint16, "U16", 2},  {DType::uint32, "U32", 4},    {DType::uint64, "U64", 8},
    {DType::boolean, "BOOL", 1}};

TEST(Safetensors, EveryTypeHasItsNameAndWidth) {
    for (const TypeCase& type : type_cases) {
        EXPECT_STREQ(name(type.dtype), type.name);
        EXPECT_EQ(width(type.dtype), type.width);
        const std::string end = std::to_string(3 * type.width);
        const std::string text = std::string(R"({"t": {"dtype": ")") + type.name +
                                 R"(", "shape": [3], "data_offsets": [0, )" + end + "]}}";
        const SafetensorsHeader header =
            read(safetensors_bytes(text, std::string(static_cast<size_t>(3 * type.width), 'x')));
        EXPECT_EQ(header.tensors.at(0).dtype, type.dtype);
    }
}

TEST(Safetensors, EightAxesAreLegal) {
    const std::string text =
        R"({"t": {"dtype": "U8", "shape": [1, 1, 1, 1, 1, 1, 1, 2], "data_offsets": [0, 2]}})";
    EXPECT_EQ(read(safetensors_bytes(text, "ab")).tensors.at(0).shape.size(), 8u);
}

TEST(Safetensors, HeaderOfSixteenMegabytesIsLegal) {
    const std::string text = "{}" + std::string((16 << 20) - 2, ' ');
    EXPECT_TRUE(read(safetensors_bytes(text, "")).tensors.empty());
}

TEST(Safetensors, WriterOfTheTestsIsReadBack) {
    const test::ModelWriter model = test::small_model();
    const std::string bytes = model.bytes();
    const SafetensorsHeader header = read(bytes);
    ASSERT_EQ(header.tensors.size(), model.tensors.size());
    for (size_t i = 0; i < model.tensors.size(); ++i) {
        const TensorEntry& entry = header.tensors[i];
        EXPECT_EQ(entry.name, model.tensors[i].name);
        EXPECT_EQ(entry.shape, model.tensors[i].shape);
        EXPECT_EQ(bytes.substr(static_cast<size_t>(entry.begin),
                               static_cast<size_t>(entry.end - entry.begin)),
                  model.tensors[i].bytes);
    }
    EXPECT_EQ(header.metadata.at("surrogate.card"), model.card_text());
}

TEST(Safetensors, TextFromAnotherRankIsCheckedToo) {
    const test::Refusal found = test::refusal([] { parse_safetensors_text({"", 8, 8}); });
    EXPECT_EQ(found.status, kernels::Status::bad_file);
    EXPECT_TRUE(found.says("expected '{'")) << found.text;
}

}  // namespace
}  // namespace surrogate::impl
