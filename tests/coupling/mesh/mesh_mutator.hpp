// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace surrogate::test {

/// A mesh: the file that is read and the pieces it names.
struct MeshFiles {
    std::string name;                                        ///< what it is, for messages
    std::vector<std::pair<std::string, std::string>> files;  ///< name and bytes, read: the first
};

/// Small sound meshes in all formats and encodings: cells of all kinds of VTK's library, polyhedra,
/// strings, ids and ghosts; ascii, base64 and appended, plain and compressed.
std::vector<MeshFiles> sound_meshes();

/// Damages one file of a mesh, somewhere: numbers in attributes and texts, tags, bits, words of the
/// binary data, length. Same meshes and seed, same damage.
class MeshMutator {
public:
    MeshMutator(std::vector<MeshFiles> meshes, uint64_t seed);

    MeshFiles next();

private:
    void damage(std::string& bytes);
    void replace_number(std::string& bytes);
    void replace_word(std::string& bytes);
    void move_text(std::string& bytes);

    uint64_t below(uint64_t n) { return random_() % n; }
    template <class T>
    const T& pick(const std::vector<T>& from) {
        return from[below(from.size())];
    }

    std::mt19937_64 random_;
    std::vector<MeshFiles> meshes_;
};

}  // namespace surrogate::test
