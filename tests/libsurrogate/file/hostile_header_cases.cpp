// SPDX-License-Identifier: Apache-2.0
#include <cstdint>

#include "tests/libsurrogate/file/hostile_files.hpp"
#include "tests/support/model_writer.hpp"

namespace surrogate::test {
namespace {

const std::string data8(8, '\0');

/// Returns a header whose stated length differs from the length of its text.
std::string lying_bytes(uint64_t stated, const std::string& rest) {
    std::string file;
    for (int i = 0; i < 8; ++i) file += static_cast<char>(stated >> (8 * i));
    return file + rest;
}

HostileCase text_case(const std::string& name, const std::string& text,
                      std::vector<std::string> says) {
    return {name, [text] { return safetensors_bytes(text, ""); }, std::move(says)};
}

/// One tensor "w" as this JSON, over 8 bytes of data.
HostileCase entry_case(const std::string& name, const std::string& entry,
                       std::vector<std::string> says) {
    return {name, [entry] { return model_bytes("\"w\":" + entry, data8); }, std::move(says)};
}

HostileCase shape_case(const std::string& name, const std::string& shape,
                       std::vector<std::string> says) {
    return entry_case(name, R"({"dtype":"F32","shape":)" + shape + R"(,"data_offsets":[0,8]})",
                      std::move(says));
}

HostileCase offsets_case(const std::string& name, const std::string& offsets,
                         std::vector<std::string> says) {
    return entry_case(name, R"({"dtype":"F32","shape":[2],"data_offsets":)" + offsets + "}",
                      std::move(says));
}

/// A tensor of bytes at [begin, end).
std::string span_of(const std::string& name, int begin, int end) {
    return '"' + name + R"(":{"dtype":"U8","shape":[)" + std::to_string(end - begin) +
           R"(],"data_offsets":[)" + std::to_string(begin) + ',' + std::to_string(end) + "]}";
}

HostileCase layout_case(const std::string& name, const std::string& members,
                        std::vector<std::string> says) {
    return {name, [members] { return model_bytes(members, data8); }, std::move(says)};
}

/// The beginning of a ZIP archive whose first member has this name.
std::string zip_begin(const std::string& member) {
    std::string bytes = "PK\3\4" + std::string(26, '\0') + member;
    bytes[26] = static_cast<char>(member.size());
    return bytes;
}

/// The file of another format: it is named, and the cure.
HostileCase foreign(const std::string& name, const std::string& bytes, const std::string& what) {
    return {name,
            [bytes] { return bytes; },
            {"header length at offset 0: this is ", what, "share/python/export.py",
             "share/doc/how-to/export-from-pytorch.md"}};
}

std::string repeated(const std::string& text, int n) {
    std::string all;
    for (int i = 0; i < n; ++i) all += text;
    return all;
}

}  // namespace

std::vector<HostileCase> length_cases() {
    const std::vector<std::string> says{"header length at offset 0"};
    const auto lying = [&](const std::string& name, uint64_t stated, size_t n_rest,
                           const std::string& found) {
        return HostileCase{name,
                           [=] { return lying_bytes(stated, "{}" + std::string(n_rest - 2, ' ')); },
                           {says[0], "found " + found}};
    };
    return {
        {"EmptyFile", [] { return std::string(); }, {says[0], "has 0 bytes"}},
        {"SevenBytes", [] { return std::string(7, '\0'); }, {says[0], "has 7 bytes"}},
        {"LengthAlone", [] { return std::string(8, '\0'); }, {says[0], "has 8 bytes"}},
        {"NineBytes", [] { return std::string("\1\0\0\0\0\0\0\0{", 9); }, {says[0], "has 9 bytes"}},
        lying("Zero", 0, 100, "0"),
        lying("One", 1, 100, "1"),
        lying("OneMoreThanTheFile", 101, 100, "101"),
        lying("PlusEightWrapsToZero", ~uint64_t{7}, 100, "18446744073709551608"),
        lying("PlusEightWrapsToTwo", ~uint64_t{0} - 5, 100, "18446744073709551610"),
        lying("AllOnes", ~uint64_t{0}, 100, "18446744073709551615"),
        lying("NegativeIfSigned", uint64_t{1} << 63, 100, "9223372036854775808"),
        lying("FitsIfCutTo32Bits", (uint64_t{1} << 32) + 100, 100, "4294967396"),
        lying("OneMoreThanSixteenMegabytes", (16 << 20) + 1, (16 << 20) + 100, "16777217"),
        foreign("PyTorchFile", zip_begin("archive/data.pkl"), "a PyTorch checkpoint (torch.save)"),
        foreign("OldPyTorchFile",
                std::string("\x80\x02\x8a\nl\xfc\x9c\x46\xf9 j\xa8P\x19.\x80\x02M\xe9\x03.", 20),
                "an old PyTorch checkpoint"),
        foreign("Pickle", std::string("\x80\x04\x95\0\1\0\0\0\0\0\0", 11), "a Python pickle"),
        foreign("NumpyArchive", zip_begin("x.npy"), "an archive of NumPy (.npz)"),
        foreign("ZipArchive", zip_begin("readme.txt"), "a ZIP archive"),
        foreign("ZipWithLyingName", "PK\3\4" + std::string(22, '\0') + "\xff\xff", "a ZIP archive"),
        foreign("ZipOfTenBytes", std::string("PK\3\4\0\0\0\0\0\0", 10), "a ZIP archive"),
        foreign("NumpyArray", std::string("\x93NUMPY\1\0v\0", 10), "an array of NumPy (.npy)"),
        foreign("Hdf5File", "\x89HDF\r\n\x1a\n" + std::string(100, '\0'), "an HDF5 file"),
        {"GgufFile", [] { return "GGUF\3\0\0\0" + std::string(100, 'x'); }, says},
        {"TextFile", [] { return std::string("{\"format\": 1, \"family\": \"flare\"}"); }, says},
    };
}

std::vector<HostileCase> json_cases() {
    const std::string entry = R"({"dtype":"F32","shape":[2],"data_offsets":[0,8]})";
    const std::string at = "not valid JSON at offset";
    return {
        text_case("Array", "[1]", {"offset 8", "expected '{', found '['"}),
        text_case("LeadingBlank", " {}", {"offset 8", "expected '{', found ' '"}),
        text_case("ByteOrderMark", "\xef\xbb\xbf{}", {"offset 8", "\\xef"}),
        text_case("Truncated", R"({"w":{"dtype":"F32")", {at}),
        text_case("SecondObject", "{}{}", {at}),
        text_case("TrailingComma", R"({"w":1,})", {at}),
        text_case("MissingColon", R"({"w" 1})", {at}),
        text_case("SingleQuotes", "{'w':1}", {at}),
        text_case("Comment", R"({/* */"w":1})", {at}),
        text_case("NotANumber", R"({"w":NaN})", {at}),
        text_case("NumberOverflow", R"({"w":1e999})", {at, "1e999"}),
        text_case("ZeroBytesBehind", std::string("{}\0\0", 4), {"zero byte at offset 2"}),
        text_case("ZeroByteHidesGarbage", std::string("{}\0]]", 5), {"zero byte at offset 2"}),
        text_case("InvalidUtf8InName", "{\"w\xff\":1}", {at}),
        text_case("OverlongUtf8", "{\"\xc0\xaf\":1}", {at}),
        text_case("Utf8Surrogate", "{\"\xed\xa0\x80\":1}", {at}),
        text_case("CutUtf8", "{\"\xe2\x82\":1}", {at}),
        text_case("LoneSurrogateEscape", R"({"\ud800":1})", {at}),
        text_case("ControlCharacter", "{\"a\nb\":1}", {at}),
        text_case("NineLevels", R"({"w":[[[[[[[[1]]]]]]]]})", {"deeper than 8"}),
        {"MillionLevels",
         [] { return safetensors_bytes("{\"w\":" + std::string(1'000'000, '['), ""); },
         {"deeper than 8"}},
        {"TooManyValues",
         [] { return safetensors_bytes("{\"w\":[0" + repeated(",0", 500'000) + "]}", ""); },
         {"100000 keys and values"}},
        {"TooManyKeys",
         [] {
             std::string text = "{\"k\":0";
             for (int i = 0; i < 600'000; ++i) text += ",\"" + std::to_string(i) + "\":0";
             return safetensors_bytes(text + "}", "");
         },
         {"100000 keys and values"}},
        {"LongName",
         [] { return safetensors_bytes("{\"" + std::string(2 << 20, 'a') + "\":1}", ""); },
         {"more than 1048576 bytes in the string from offset 1"}},
        {"UnterminatedString",
         [] { return safetensors_bytes("{\"" + std::string(7'000'000, 'a'), ""); },
         {"in the string from offset 1"}},
        {"EscapesOnly",
         [] { return safetensors_bytes("{\"" + repeated("\\\"", 3'500'000), ""); },
         {"in the string from offset 1"}},
        {"ManyLongNames",
         [] {
             std::string text = "{";
             for (int i = 0; i < 7; ++i)
                 text += '"' + std::string(1'000'000, static_cast<char>('a' + i)) + "\":0,";
             return safetensors_bytes(text + "\"z\":0}", "");
         },
         {"2097152 bytes together"}},
        {"LongLastTokenInTheMessage",
         [] { return safetensors_bytes("{\"w\":\"" + std::string(1'000'000, 'a') + "\n\"}", ""); },
         {at}},
        {"SevenMegabytesOfBlanks",
         [] { return safetensors_bytes("{" + std::string(7'000'000, ' ') + "}", ""); },
         {"more than 1048576 bytes between strings from offset 0"}},
        {"SixteenMegabytesOfBlanks",
         [] { return safetensors_bytes("{" + std::string((16 << 20) - 2, ' ') + "}", ""); },
         {"JSON of 16777216 bytes, expected at most 8388608"}},
        {"SixteenMegabytesOfPadding",
         [] { return safetensors_bytes("{" + std::string((16 << 20) - 1, ' '), ""); },
         {at}},
        {"LongNumber",
         [] { return safetensors_bytes("{\"w\":" + std::string(2'000'000, '1') + "}", ""); },
         {"bytes between strings from offset 3"}},
        layout_case("DuplicateTensor", "\"w\":" + entry + ",\"w\":" + entry, {"duplicate key 'w'"}),
        layout_case("DuplicateTensorByEscape", "\"w\":" + entry + ",\"\\u0077\":" + entry,
                    {"duplicate key 'w'"}),
        layout_case("DuplicateMetadata", R"("__metadata__":{})", {"duplicate key '__metadata__'"}),
        entry_case("DuplicateKeyInTensor",
                   R"({"dtype":"F32","shape":[2],"shape":[2],"data_offsets":[0,8]})",
                   {"duplicate key 'shape'"}),
    };
}

std::vector<HostileCase> tensor_cases() {
    const auto typed = [](const std::string& name, const std::string& dtype,
                          std::vector<std::string> says) {
        says.push_back("tensor 'w' key 'dtype'");
        return entry_case(name, R"({"dtype":)" + dtype + R"(,"shape":[2],"data_offsets":[0,8]})",
                          std::move(says));
    };
    const std::string shape = "tensor 'w' key 'shape'";
    return {
        entry_case("IsNumber", "1", {"tensor 'w': expected an object, found 1"}),
        entry_case("IsArray", "[]", {"tensor 'w': expected an object, found an array"}),
        entry_case("IsNull", "null", {"tensor 'w': expected an object, found null"}),
        entry_case("NoType", R"({"shape":[2],"data_offsets":[0,8]})",
                   {"tensor 'w': key 'dtype' is missing"}),
        entry_case("NoShape", R"({"dtype":"F32","data_offsets":[0,8]})",
                   {"tensor 'w': key 'shape' is missing"}),
        entry_case("NoOffsets", R"({"dtype":"F32","shape":[2]})",
                   {"tensor 'w': key 'data_offsets' is missing"}),
        entry_case("MisspeltKey", R"({"dtype":"F32","shpae":[2],"data_offsets":[0,8]})",
                   {"tensor 'w': unknown key 'shpae'", "'shape'?"}),
        entry_case("KeyTooMany",
                   R"({"dtype":"F32","shape":[2],"data_offsets":[0,8],"file":"/etc/passwd"})",
                   {"tensor 'w': unknown key 'file'"}),
        typed("UnknownType", "\"F8_E5M2\"", {"F8_E5M2"}),
        typed("LowerCaseType", "\"f32\"", {"f32"}),
        typed("TypeIsNumber", "32", {"expected a string, found 32"}),
        typed("TypeIsEmpty", "\"\"", {"F32"}),
        typed("LongTypeIsCut", '"' + std::string(100'000, 'F') + '"', {".."}),
        shape_case("ShapeIsNumber", "2", {shape, "expected an array", "found 2"}),
        shape_case("ShapeIsText", "[\"2\"]", {shape, "found \"2\""}),
        shape_case("ShapeIsNested", "[[2]]", {shape, "found an array of 1"}),
        shape_case("NegativeExtent", "[-2]", {shape, "found -2"}),
        shape_case("MinusZeroExtent", "[-0]", {shape, "non-negative integer"}),
        shape_case("FloatExtent", "[2.0]", {shape, "found 2.0"}),
        shape_case("ExponentExtent", "[2e0]", {shape, "non-negative integer"}),
        shape_case("ExtentAbove2To48", "[281474976710657]", {shape, "at most 281474976710656"}),
        shape_case("ExtentOf2To64", "[18446744073709551616]", {shape, "non-negative integer"}),
        shape_case("ExtentIsMinusOneUnsigned", "[18446744073709551615]",
                   {shape, "18446744073709551615"}),
        shape_case("NineAxes", "[1,1,1,1,1,1,1,1,2]", {shape, "at most 8", "9 values"}),
        shape_case("ProductWrapsToZero", "[4294967296,4294967296]",
                   {"tensor 'w'", "more than 2^63 bytes"}),
        shape_case("ProductWrapsToTheData", "[4611686018427387906]", {shape}),
        shape_case("BytesWrapToTheData", "[281474976710656,16384,2]",
                   {"tensor 'w'", "more than 2^63 bytes"}),
        entry_case(
            "WrapHiddenByZeroExtent",
            R"({"dtype":"F32","shape":[281474976710656,281474976710656,0],"data_offsets":[0,0]})",
            {"tensor 'w'", "more than 2^63 bytes"}),
        entry_case("EmptyShapeWithData", R"({"dtype":"F32","shape":[2,0],"data_offsets":[0,8]})",
                   {"tensor 'w' key 'data_offsets'", "= 0 bytes", "[0, 8]"}),
        entry_case("ShapeWithoutData", R"({"dtype":"F32","shape":[2],"data_offsets":[0,0]})",
                   {"tensor 'w' key 'data_offsets'", "= 8 bytes", "[0, 0]"}),
        shape_case("ShapeLargerThanInterval", "[3]",
                   {"'data_offsets'", "= 12 bytes", "(3) of F32"}),
        shape_case("ShapeSmallerThanInterval", "[1]",
                   {"'data_offsets'", "= 4 bytes", "(1) of F32"}),
        shape_case("ScalarOverTwo", "[]", {"'data_offsets'", "= 4 bytes", "() of F32"}),
    };
}

std::vector<HostileCase> offset_cases() {
    const std::string key = "tensor 'w' key 'data_offsets'";
    return {
        offsets_case("IsNumber", "8", {key, "expected [begin, end], found 8"}),
        offsets_case("One", "[0]", {key, "array of 1"}),
        offsets_case("Three", "[0,8,16]", {key, "array of 3"}),
        offsets_case("Text", "[\"0\",8]", {key, "found \"0\""}),
        offsets_case("Negative", "[-8,0]", {key, "found -8"}),
        offsets_case("Float", "[0,8.0]", {key, "found 8.0"}),
        offsets_case("Reversed", "[8,0]", {key, "[8, 0]"}),
        offsets_case("BehindTheFile", "[8,16]", {key, "at most 8, found 16"}),
        offsets_case("OneBehindTheFile", "[1,9]", {key, "at most 8, found 9"}),
        offsets_case("Signed", "[0,9223372036854775808]", {key, "found 9223372036854775808"}),
        offsets_case("AllOnes", "[0,18446744073709551615]", {key, "found 18446744073709551615"}),
        offsets_case("DifferenceWraps", "[18446744073709551608,0]", {key, "18446744073709551608"}),
        layout_case("FirstNotAtZero", span_of("w", 1, 8), {key, "expected begin 0", "[1, 8]"}),
        layout_case("Gap", span_of("a", 0, 3) + ',' + span_of("w", 4, 8),
                    {key, "expected begin 3", "[4, 8]"}),
        layout_case("Overlap", span_of("a", 0, 5) + ',' + span_of("w", 4, 8),
                    {key, "expected begin 5", "[4, 8]"}),
        layout_case("SameInterval", span_of("a", 0, 8) + ',' + span_of("w", 0, 8),
                    {key, "expected begin 8"}),
        layout_case("Nested", span_of("a", 0, 8) + ',' + span_of("w", 2, 4),
                    {key, "expected begin 8", "[2, 4]"}),
        layout_case("EmptyInsideAnother", span_of("a", 0, 8) + ',' + span_of("w", 4, 4),
                    {key, "[4, 4]"}),
        layout_case("Tail", span_of("w", 0, 7), {"data offset 7", "data offset 8", "appended"}),
        layout_case("DataWithoutTensors", R"("w":{"dtype":"U8","shape":[0],"data_offsets":[0,0]})",
                    {"data offset 0", "data offset 8"}),
        {"AppendedArchive",
         [] { return model_bytes(span_of("w", 0, 8), data8) + "PK\5\6" + std::string(18, '\0'); },
         {"data offset 8", "data offset 30"}},
    };
}

}  // namespace surrogate::test
