// SPDX-License-Identifier: Apache-2.0
#include "tests/coupling/mesh/mesh_mutator.hpp"

#include <algorithm>
#include <cstring>

namespace surrogate::test {

MeshMutator::MeshMutator(std::vector<MeshFiles> meshes, uint64_t seed)
    : random_(seed), meshes_(std::move(meshes)) {}

MeshFiles MeshMutator::next() {
    MeshFiles mesh = pick(meshes_);
    std::string& bytes = mesh.files[below(mesh.files.size())].second;
    for (uint64_t n = 1 + below(3); n > 0 && !bytes.empty(); --n) damage(bytes);
    return mesh;
}

void MeshMutator::damage(std::string& bytes) {
    static const std::vector<std::string> tokens{"<",
                                                 ">",
                                                 "/>",
                                                 "\"",
                                                 "<a>",
                                                 "</a>",
                                                 "<!--",
                                                 "-->",
                                                 "&lt;",
                                                 "<![CDATA[",
                                                 "]]>",
                                                 " ",
                                                 "-",
                                                 "0",
                                                 "9999999",
                                                 "nan",
                                                 "1e300",
                                                 "<Piece/>",
                                                 "</Piece>",
                                                 "String",
                                                 "Float32",
                                                 "Int8",
                                                 "Float64",
                                                 "ascii",
                                                 "binary",
                                                 "appended",
                                                 "offset=\"0\" ",
                                                 "TimeValues=\"0 1 2\" ",
                                                 "NumberOfComponents=\"3\" ",
                                                 "<AppendedData encoding=\"raw\">_",
                                                 "HigherOrderDegrees",
                                                 std::string(1, '\0'),
                                                 "\xff\xfe"};
    const size_t at = below(bytes.size());
    switch (below(10)) {
        case 0:
        case 1:
        case 2: return replace_number(bytes);
        case 3:
        case 4: return replace_word(bytes);
        case 5: return move_text(bytes);
        case 6: bytes[at] = static_cast<char>(bytes[at] ^ (1 << below(8))); return;
        case 7: bytes.insert(at, pick(tokens)); return;
        case 8: bytes.erase(at, 1 + below(below(4) ? 8 : 200)); return;
        default:
            if (below(4) == 0)
                bytes.resize(below(bytes.size() + 1));
            else
                bytes[at] = static_cast<char>(below(256));
    }
}

/// One of the numbers of the text, which are most of what VTK believes.
void MeshMutator::replace_number(std::string& bytes) {
    static const std::vector<std::string> numbers{"0",
                                                  "1",
                                                  "2",
                                                  "3",
                                                  "4",
                                                  "5",
                                                  "7",
                                                  "8",
                                                  "27",
                                                  "-1",
                                                  "-2",
                                                  "100",
                                                  "255",
                                                  "256",
                                                  "1000",
                                                  "65536",
                                                  "1000000",
                                                  "2147483647",
                                                  "2147483648",
                                                  "-2147483648",
                                                  "4294967296",
                                                  "1e9",
                                                  "1000000000",
                                                  "999999999999",
                                                  "9223372036854775807",
                                                  "-9223372036854775808",
                                                  "18446744073709551615",
                                                  "nan",
                                                  "42",
                                                  "77"};
    const size_t begin = bytes.find_first_of("0123456789", below(bytes.size()));
    if (begin == bytes.npos) return;
    const size_t end = std::min(bytes.find_first_not_of("0123456789", begin), bytes.size());
    bytes.replace(begin, end - begin, pick(numbers));
}

/// Mutates the binary data, if there are any, at a multiple of 4 bytes from the "_".
void MeshMutator::replace_word(std::string& bytes) {
    static const std::vector<uint64_t> words{0,
                                             1,
                                             2,
                                             7,
                                             8,
                                             32,
                                             255,
                                             32768,
                                             32769,
                                             uint64_t{1} << 20,
                                             0x7fffffff,
                                             0x80000000,
                                             0xffffffff,
                                             uint64_t{1} << 32,
                                             uint64_t{1} << 40,
                                             uint64_t{1} << 62,
                                             uint64_t{1} << 63,
                                             ~uint64_t{0},
                                             ~uint64_t{7}};
    const size_t data = bytes.find("_", bytes.find("<AppendedData"));
    if (data == bytes.npos) return replace_number(bytes);
    const size_t n = bytes.size() - data - 1, size = below(2) ? 8 : 4;
    if (n < 16) return;
    const size_t at = data + 1 + 4 * below((n - 8) / 4);
    const uint64_t word = pick(words);
    std::memcpy(bytes.data() + at, &word, size);
}

/// A piece of the file, often of an attribute or tag, to another place: instead of what is there,
/// or beside it.
void MeshMutator::move_text(std::string& bytes) {
    const size_t from = below(bytes.size()), to = below(bytes.size());
    const size_t begin = below(2) ? std::min(bytes.find('<', from), bytes.size() - 1) : from;
    const size_t end = below(2) ? bytes.find('>', begin) : begin + 1 + below(80);
    const std::string text = bytes.substr(begin, std::min(end, bytes.size()) + 1 - begin);
    const size_t tag = std::min(bytes.find('<', to), bytes.size());
    if (below(2))
        bytes.insert(tag, text);
    else
        bytes.replace(to, std::min(text.size(), bytes.size() - to), text);
}

}  // namespace surrogate::test
