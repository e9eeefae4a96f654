// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vtkXMLDataParser.h>

#include <memory>
#include <string>

#include "coupling/mesh/mesh_head.hpp"

namespace surrogate::vtk {

/// Parser of mesh files that lets MeshHead check each element first and stops at its first error,
/// so that the checked elements are the elements that VTK reads. It reads the XML in blocks of some
/// KB, without the data behind <AppendedData>, and stores no text except texts of InformationKeys
/// (VTK stores all inline data a second time).
class MeshParser : public vtkXMLDataParser {
public:
    using Superclass = vtkXMLDataParser;
    static MeshParser* New();

    /// Sets up the checks. Must be called before Parse().
    void look_at(bool has_extents, FileRole role, int64_t n_byte) {
        head_ = std::make_unique<MeshHead>(has_extents, role, n_byte);
    }
    const MeshHead& head() const { return *head_; }

    /// Checks the sizes before the binary data of an array, in particular the sizes of compressed
    /// blocks, by which VTK divides and which it allocates. Returns "" or an error text.
    std::string check_sizes(vtkXMLDataElement* array);

    /// Returns the bytes of the array by the result of check_sizes(); unlimited if they are text.
    /// VTK must not read data that begin at their end.
    uint64_t n_data() const { return n_data_; }

    void CharacterDataHandler(const char* data, int length) override;

protected:
    void StartElement(const char* name, const char** attributes) override;
    void EndElement(const char* name) override;
    int ParseBuffer(const char* buffer, unsigned int count) override;

private:
    bool is_prolog_fine(const char* buffer, unsigned int count);
    std::string whole_tag(const char* buffer, unsigned int count);
    bool seek_data(vtkXMLDataElement* array);
    uint64_t read_word();
    bool has_bytes(uint64_t n);
    std::string check_blocks();

    std::unique_ptr<MeshHead> head_;
    std::string prolog_;      // all bytes before the first element
    std::string last_bytes_;  // end of the previous buffer, as long as a part of "<AppendedData"
    int64_t n_events_ = 0;    // number of tags and texts so far
    int64_t n_silent_ = 0;    // bytes since the last event
    uint64_t n_data_ = UINT64_MAX;
    vtkXMLDataElement* checked_ = nullptr;  // the last array that check_sizes() has checked
};

}  // namespace surrogate::vtk
