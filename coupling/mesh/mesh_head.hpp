// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace surrogate::vtk {

struct XmlAttributes;

/// Limits on the XML of a mesh file. VTK's reader does not check its numbers: it allocates the
/// stated counts, recurses as deep as elements nest, and searches lists from their beginning.
struct HeadLimits {
    int64_t depth = 16;                       ///< of nested elements; VTK writes up to 8
    int64_t elements = 300'000;               ///< about 0.2 GB in VTK's tree
    int64_t attributes = 256;                 ///< of one element
    int64_t tag_bytes = 64 * 1024;            ///< of one tag or comment
    int64_t arrays = 10'000;                  ///< in one list (PointData, CellData, ..)
    int64_t values = 1'000;                   ///< of one InformationKey
    int64_t pieces = 250'000;                 ///< of one file
    int64_t components = 1'000'000;           ///< of all arrays together
    int64_t free_points = int64_t{1} << 24;   ///< points of a grid without data in the file
    int64_t extent = (int64_t{1} << 30) - 1;  ///< largest grid index, either sign
    double grid_points = 1e15;                ///< points of a grid
    /// All arrays together may be as large as this many files, because several arrays may use the
    /// same bytes.
    int64_t sharing = 4;
};

/// Returns the largest ratio of data to their compressed form. Deflate reaches at most 1,032, LZ4
/// 255; LZMA could exceed that, but not in blocks of 32 KiB as VTK writes them. 1 without
/// compression, 0 for a compressor that VTK does not have.
int64_t largest_ratio(const std::string& compressor);

enum class FileRole {
    data,    ///< holds arrays: .vtu, .vti, ..
    summary  ///< names pieces: .pvtu, .pvti, ..
};

/// Checks the elements of a mesh file as the XML parser meets them, before VTK's reader uses them:
/// counts, extents, components, offsets and types must be valid, and the file must be large enough
/// for the data that they state. Its memory use depends only on the nesting.
class MeshHead {
public:
    /// Starts before the first element.
    ///   has_extents  image or structured grid
    ///   n_byte       of the file
    MeshHead(bool has_extents, FileRole role, int64_t n_byte)
        : has_extents_(has_extents), role_(role), n_byte_(n_byte) {}

    /// Checks an element. `attributes` are pairs of name and value, ended by a null pointer.
    void start(const char* name, const char** attributes);
    void end();

    /// Stores the first error. Later elements are not checked.
    void fail(const std::string& text);
    bool has_failed() const { return !failure_.empty(); }
    const std::string& failure() const { return failure_; }

    /// Returns the maximum bytes of all data of the file after decompression.
    int64_t room() const { return n_byte_ * ratio_; }
    int64_t n_byte() const { return n_byte_; }
    int64_t n_pieces() const { return n_pieces_; }
    bool has_elements() const { return n_elements_ > 0; }
    bool is_in_key() const;  ///< inside an InformationKey, whose text VTK uses

private:
    enum class Kind {
        other,
        file,
        grid,
        piece,
        points,
        point_data,
        cell_data,
        cells,
        field_data,
        array,
        key,
        value
    };
    struct Sizes {
        int64_t points = 0, cells = 0;
    };

    Kind kind_of(const std::string& name, Kind parent) const;
    void look_at(Kind kind, Kind parent, const char* name, const XmlAttributes& attributes);
    void start_file(const XmlAttributes& attributes);
    void start_grid(const XmlAttributes& attributes);
    void start_piece(const XmlAttributes& attributes);
    void start_array(const XmlAttributes& attributes, Kind list, bool is_here);
    void end_grid();
    int64_t components_of(const XmlAttributes& attributes, Kind list, const std::string& what);
    int64_t tuples_of(const XmlAttributes& attributes, Kind list);
    void require_room(const std::string& what, const std::string& type, bool is_ascii,
                      int64_t n_tuple, int64_t n_component);
    int64_t count(const XmlAttributes& attributes, const char* name);
    Sizes sizes_of_extent(const XmlAttributes& attributes, const char* name);

    bool has_extents_;
    FileRole role_;
    int64_t n_byte_, ratio_ = 1;
    HeadLimits limits_;
    std::string failure_;
    std::vector<Kind> open_;
    int64_t n_elements_ = 0, n_pieces_ = 0, n_arrays_ = 0, n_values_ = 0, n_components_ = 0;
    Sizes piece_, all_;  ///< of the open piece; of all pieces so far
    bool has_whole_ = false;
    int64_t whole_points_ = 0;
    std::array<int64_t, 6> whole_{};  ///< the whole extent
    bool has_array_ = false;          ///< an array has a tuple for each point or cell
    double needed_ = 0;               ///< bytes of the file that all arrays need
};

}  // namespace surrogate::vtk
