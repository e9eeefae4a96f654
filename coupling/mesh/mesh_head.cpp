// SPDX-License-Identifier: Apache-2.0
#include "coupling/mesh/mesh_head.hpp"

#include <algorithm>
#include <span>

#include "coupling/mesh/read_errors.hpp"
#include "coupling/mesh/xml_attributes.hpp"
#include "coupling/mesh/xml_numbers.hpp"

namespace surrogate::vtk {

int64_t largest_ratio(const std::string& compressor) {
    if (compressor.empty()) return 1;
    if (compressor == "vtkZLibDataCompressor") return 1032;
    if (compressor == "vtkLZ4DataCompressor") return 255;
    if (compressor == "vtkLZMADataCompressor") return 2000;
    return 0;
}

void MeshHead::fail(const std::string& text) {
    if (failure_.empty()) failure_ = text;
}

bool MeshHead::is_in_key() const {
    return std::find(open_.begin(), open_.end(), Kind::key) != open_.end();
}

/// Returns the kind of an element. VTK reads the grid in the root (under any name), pieces in the
/// grid, and lists of arrays in both; every element of a list is an array, independent of its name.
MeshHead::Kind MeshHead::kind_of(const std::string& name, Kind parent) const {
    struct Word {
        const char* name;
        Kind kind;
    };
    static constexpr Word grids[] = {
        {"UnstructuredGrid", Kind::grid}, {"PUnstructuredGrid", Kind::grid},
        {"PolyData", Kind::grid},         {"PPolyData", Kind::grid},
        {"ImageData", Kind::grid},        {"PImageData", Kind::grid},
        {"StructuredGrid", Kind::grid},   {"PStructuredGrid", Kind::grid},
    };
    static constexpr Word parts[] = {
        {"Piece", Kind::piece},          {"FieldData", Kind::field_data},
        {"Points", Kind::points},        {"PPoints", Kind::points},
        {"PointData", Kind::point_data}, {"PPointData", Kind::point_data},
        {"CellData", Kind::cell_data},   {"PCellData", Kind::cell_data},
        {"Cells", Kind::cells},          {"Verts", Kind::cells},
        {"Lines", Kind::cells},          {"Strips", Kind::cells},
        {"Polys", Kind::cells},
    };
    const auto find = [&](std::span<const Word> words) {
        for (const Word& word : words)
            if (name == word.name) return word.kind;
        return Kind::other;
    };
    if (open_.empty()) return Kind::file;
    if (name == "InformationKey") return Kind::key;
    if (parent == Kind::key && name == "Value") return Kind::value;
    if (parent == Kind::file) return find(grids);
    if (parent >= Kind::points && parent <= Kind::field_data) return Kind::array;
    const Kind kind = parent == Kind::grid || parent == Kind::piece ? find(parts) : Kind::other;
    return kind == Kind::piece && parent != Kind::grid ? Kind::other : kind;
}

void MeshHead::start(const char* name, const char** pairs) {
    if (has_failed()) return;
    const XmlAttributes attributes{pairs};
    const Kind parent = open_.empty() ? Kind::other : open_.back();
    const Kind kind = kind_of(name, parent);
    open_.push_back(kind);
    if (static_cast<int64_t>(open_.size()) > limits_.depth)
        return fail("its XML elements nest more than " + std::to_string(limits_.depth) + " deep");
    if (++n_elements_ > limits_.elements)
        return fail("its XML has more than " + std::to_string(limits_.elements) + " elements");
    if (attributes.size() > limits_.attributes)
        return fail("element '" + printable(name) + "' has " + std::to_string(attributes.size()) +
                    " attributes; at most " + std::to_string(limits_.attributes) + " are read");
    look_at(kind, parent, name, attributes);
}

void MeshHead::look_at(Kind kind, Kind parent, const char* name, const XmlAttributes& attributes) {
    switch (kind) {
        case Kind::file: return start_file(attributes);
        case Kind::grid: return start_grid(attributes);
        case Kind::piece: return start_piece(attributes);
        case Kind::array: return start_array(attributes, parent, *name != 'P');
        case Kind::key: n_values_ = 0; return;
        case Kind::value:
            if (++n_values_ > limits_.values)
                fail("an InformationKey has more than " + std::to_string(limits_.values) +
                     " values");
            return;
        default: n_arrays_ = 0;
    }
}

void MeshHead::end() {
    if (has_failed() || open_.empty()) return;
    const Kind kind = open_.back();
    open_.pop_back();
    if (kind == Kind::grid) end_grid();
}

void MeshHead::start_file(const XmlAttributes& attributes) {
    const std::string compressor = attributes.text("compressor");
    ratio_ = largest_ratio(compressor);
    if (ratio_ == 0)
        fail("its compressor is '" + printable(compressor) +
             "', expected vtkZLibDataCompressor, vtkLZ4DataCompressor or vtkLZMADataCompressor");
}

/// A file without Piece elements is a piece itself, with the attributes of a piece.
void MeshHead::start_grid(const XmlAttributes& attributes) {
    n_pieces_ = 0;
    all_ = {};
    has_array_ = has_whole_ = false;
    if (!has_extents_) return start_piece(attributes);
    if (attributes.find("WholeExtent") == nullptr) return;  // VTK reports it
    whole_ = extent_of(attributes.text("WholeExtent")).value_or(whole_);
    piece_ = sizes_of_extent(attributes, "WholeExtent");
    if (has_failed()) return;
    whole_points_ = piece_.points;
    has_whole_ = true;
}

void MeshHead::start_piece(const XmlAttributes& attributes) {
    if (++n_pieces_ > limits_.pieces + 1)
        return fail("it has more than " + std::to_string(limits_.pieces) + " pieces");
    if (has_extents_) {
        if (attributes.find("Extent") == nullptr) return fail("a piece has no Extent");
        piece_ = sizes_of_extent(attributes, "Extent");
        all_.points += std::min(piece_.points, INT64_MAX - all_.points);
        return;
    }
    piece_ = {count(attributes, "NumberOfPoints"), 0};
    for (const char* name :
         {"NumberOfCells", "NumberOfVerts", "NumberOfLines", "NumberOfStrips", "NumberOfPolys"})
        piece_.cells += count(attributes, name);
    all_.points += piece_.points;
    all_.cells += piece_.cells;
    // Three coordinates per point and one offset per cell, which take one byte each if they are
    // small.
    const int64_t room = limits_.sharing * this->room();
    if (!has_failed() && (all_.points > room / 3 || all_.cells > room))
        fail("its pieces have " + std::to_string(all_.points) + " points and " +
             std::to_string(all_.cells) + " cells, which a file of " + std::to_string(n_byte_) +
             " bytes cannot hold");
}

void MeshHead::end_grid() {
    if (!has_whole_) return;
    const bool is_piece = n_pieces_ == 0 && role_ == FileRole::data;
    if (!is_piece && all_.points < whole_points_)
        return fail("its pieces have " + std::to_string(all_.points) + " of the " +
                    std::to_string(whole_points_) + " points of the WholeExtent");
    if (!has_array_ && whole_points_ > limits_.free_points)
        fail("it has " + std::to_string(whole_points_) + " points and no array of them; at most " +
             std::to_string(limits_.free_points) + " are read then");
}

/// Returns a count that the file can hold; 0 without the attribute and after an error.
int64_t MeshHead::count(const XmlAttributes& attributes, const char* name) {
    const char* text = attributes.find(name);
    if (text == nullptr || has_failed()) return 0;
    const auto value = integer_of(text);
    if (!value || *value < 0)
        fail(quoted(name, text) + " is not a count");
    else if (*value > room())
        fail(quoted(name, text) + ": a file of " + std::to_string(n_byte_) +
             " bytes cannot hold them");
    return has_failed() ? 0 : *value;
}

/// Returns the sizes of an extent. The last index of an axis may be one below the first, for zero
/// points.
MeshHead::Sizes MeshHead::sizes_of_extent(const XmlAttributes& attributes, const char* name) {
    const std::string text = attributes.text(name), found = quoted(name, text.c_str());
    const auto extent = extent_of(text);
    if (!extent) {
        fail(found + " is not six integers");
        return {};
    }
    double points = 1, cells = 1;
    for (size_t axis = 0; axis < 3; ++axis) {
        const int64_t first = (*extent)[2 * axis], last = (*extent)[2 * axis + 1];
        if (std::min(first, last) < -limits_.extent || std::max(first, last) > limits_.extent)
            fail(found + ", expected grid indices of at most " + std::to_string(limits_.extent));
        else if (last < first - 1)
            fail(found + " ends before it begins");
        else if (has_whole_ && last >= first &&
                 (first < whole_[2 * axis] || last > whole_[2 * axis + 1]))
            fail(found + " is not within the WholeExtent");
        if (has_failed()) return {};
        points *= static_cast<double>(last - first + 1);
        // An axis of one point has no cells, unless the whole extent has cells along it.
        const bool is_flat = first == last && whole_[2 * axis] == whole_[2 * axis + 1];
        cells *= is_flat ? 1.0 : static_cast<double>(last - first);
    }
    if (points > limits_.grid_points) fail(found + " has more than 1e15 points");
    if (has_failed()) return {};
    return {static_cast<int64_t>(points), static_cast<int64_t>(std::max(0.0, cells))};
}

}  // namespace surrogate::vtk
