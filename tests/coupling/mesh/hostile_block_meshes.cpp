// SPDX-License-Identifier: Apache-2.0
// Binary data whose headers lie: appended (raw) and inline (base64), plain and in compressed
// blocks. A block header is [number of blocks][size of a block][size of the last, if smaller] and
// the compressed size of each block.
#include "tests/coupling/mesh/hostile_meshes.hpp"

namespace surrogate::test {

namespace {

const std::string zlib = R"( compressor="vtkZLibDataCompressor")";

std::string words(std::initializer_list<uint64_t> values) {
    std::string bytes;
    for (const uint64_t value : values) bytes += word64(value);
    return bytes;
}

std::string base64(const std::string& bytes) {
    const char* letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string text;
    for (size_t i = 0; i < bytes.size(); i += 3) {
        uint32_t group = 0;
        for (size_t k = 0; k < 3; ++k)
            group = group << 8 | (i + k < bytes.size() ? static_cast<uint8_t>(bytes[i + k]) : 0u);
        for (size_t k = 0; k < 4; ++k)
            text += i + k > bytes.size() ? '=' : letters[group >> (18 - 6 * k) & 63];
    }
    return text;
}

/// The field "mobility" of 4 x 8 bytes lies at `offset` of the appended `bytes`.
HostileMesh appended(const std::string& name, const std::string& file_attributes,
                     const std::string& offset, const std::string& bytes,
                     std::vector<std::string> says) {
    VtuText mesh;
    mesh.file_attributes = file_attributes;
    mesh.mobility =
        R"(<DataArray type="Float64" Name="mobility" format="appended" offset=")" + offset + "\"/>";
    mesh.tail = R"(<AppendedData encoding="raw">_)" + bytes + "</AppendedData>";
    return {name, {{"mesh.vtu", mesh.text()}}, std::move(says)};
}

HostileMesh blocks(const std::string& name, const std::string& header,
                   std::vector<std::string> says) {
    return appended(name, zlib, "0", header + std::string(64, 'x'), std::move(says));
}

HostileMesh inline_blocks(const std::string& name, const std::string& header,
                          std::vector<std::string> says) {
    VtuText mesh;
    mesh.file_attributes = zlib;
    mesh.mobility = R"(<DataArray type="Float64" Name="mobility" format="binary">)" +
                    base64(header) + base64(std::string(63, 'x')) + "</DataArray>";
    return {name, {{"mesh.vtu", mesh.text()}}, std::move(says)};
}

}  // namespace

std::vector<HostileMesh> block_meshes() {
    const std::string data(64, 'x');
    const std::string start = "array 'mobility' ";
    const std::string is_short = start + "is shorter than its 4 values";
    VtuText no_data, partly;
    partly.mobility = R"(<DataArray type="Float64" Name="mobility" format="binary">)" +
                      base64(words({32, 1, 2})) + "</DataArray>";
    no_data.mobility =
        R"(<DataArray type="Float64" Name="mobility" format="appended" offset="0"/>)";
    return {
        appended("AppendedBeyondTheFile", "", "99999999999", data,
                 {start + "begins at offset=\"99999999999\" of the appended data"}),
        appended("AppendedBeforeTheData", "", "-8", data, {start + "begins at offset=\"-8\""}),
        appended("AppendedAtAWord", "", "here", data, {start + "begins at offset=\"here\""}),
        appended("AppendedAtTheEnd", "", "60", data,
                 {start + "states", "bytes, which are missing"}),
        appended("AppendedShorterThanTheField", "", "0", words({8}) + data, {is_short}),
        appended("AppendedLongerThanTheFile", "", "0", words({UINT64_MAX}),
                 {start + "states 18446744073709551615 bytes, which are missing"}),
        appended("AppendedPartlyInTheFile", "", "0", words({4096}) + data,
                 {start + "states 4096 bytes, which are missing"}),
        {"InlinePartlyInTheFile",
         {{"mesh.vtu", partly.text()}},
         {start + "states 32 bytes, which are missing"}},
        {"AppendedToNothing",
         {{"mesh.vtu", no_data.text()}},
         {start + "is in AppendedData, which the file does not have"}},
        blocks("BlocksWithoutEnd", words({UINT64_MAX, 32, 0}),
               {start + "states 18446744073709551615 compressed blocks in a file of"}),
        blocks("BlocksMoreThanTheFile", words({1000000, 32, 0}),
               {start + "states 1000000 compressed blocks"}),
        blocks("BlocksOfNothing", words({1, 0, 32, 8}),
               {start + "states 1 blocks of 0 bytes, the last of 32"}),
        blocks("LastBlockLargerThanTheOthers", words({2, 8, 1 << 20, 8, 8}),
               {start + "states 2 blocks of 8 bytes, the last of 1048576"}),
        blocks("BlocksBeyondAllMemory", words({2, uint64_t{1} << 62, 0, 8, 8}),
               {start + "states 2 blocks of 4611686018427387904 bytes", "compressed in a"}),
        blocks("BlocksThatOverflow", words({3, uint64_t{1} << 63, 0, 8, 8, 8}),
               {start + "states 3 blocks of 9223372036854775808 bytes"}),
        blocks("CompressedBlockLargerThanTheFile", words({1, 32, 0, uint64_t{1} << 40}),
               {start + "states that block 0 has 1099511627776 compressed bytes in a file of"}),
        blocks("CompressedSizesThatOverflow", words({2, 16, 0, 64, UINT64_MAX - 32}),
               {start + "states that block 1 has 18446744073709551583 compressed bytes"}),
        blocks("NoBlocks", words({0, 32, 0}), {is_short}),
        blocks("NoBlocksButALastOne", words({0, 32, 8}), {start + "states 0 blocks of 32"}),
        blocks("BlocksEndWhereTheFieldDoes", words({1, 16, 0, 8}), {is_short}),
        blocks("BlockOfNoise", words({1, 32, 0, 64}), {is_short}),
        appended("BlocksCutOff", zlib, "0", words({1}), {start}),
        inline_blocks("InlineBlocksOfNothing", words({1, 0, 32, 8}),
                      {start + "states 1 blocks of 0 bytes"}),
        inline_blocks("InlineBlocksWithoutEnd", words({UINT64_MAX, 32, 0}),
                      {start + "states 18446744073709551615 compressed blocks"}),
        inline_blocks("InlineBlockOfNoise", words({1, 32, 0, 63}), {is_short}),
    };
}

}  // namespace surrogate::test
