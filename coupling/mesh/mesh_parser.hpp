// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vtkXMLDataParser.h>

#include <memory>
#include <string>

#include "coupling/mesh/mesh_head.hpp"

namespace surrogate::vtk {

/// VTK's parser of mesh files, which lets MeshHead look at each element first and stops at its
/// first failure: what is looked at and what VTK reads cannot differ. It reads the XML in blocks of
/// some KB, never what follows <AppendedData>, and keeps no text but that of InformationKeys (VTK
/// keeps all inline data a second time).
class MeshParser : public vtkXMLDataParser {
public:
    using Superclass = vtkXMLDataParser;
    static MeshParser* New();

    /// Before Parse().
    void look_at(bool has_extents, FileRole role, int64_t n_byte) {
        head_ = std::make_unique<MeshHead>(has_extents, role, n_byte);
    }
    const MeshHead& head() const { return *head_; }

    /// Looks at the sizes in front of the binary data of an array, in particular those of
    /// compressed blocks, by which VTK divides and of which it allocates. "" or what is wrong.
    std::string check_sizes(vtkXMLDataElement* array);

    /// Bytes that the array has by what check_sizes() has found; without limit if they are text.
    /// VTK must not be asked for what begins at their end.
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
    std::string last_bytes_;  // of the buffer before, as many as a part of "<AppendedData"
    int64_t n_events_ = 0;    // tags and texts met
    int64_t n_silent_ = 0;    // bytes since the last one
    uint64_t n_data_ = UINT64_MAX;
    vtkXMLDataElement* checked_ = nullptr;  // the array whose sizes were looked at last
};

}  // namespace surrogate::vtk
