// SPDX-License-Identifier: Apache-2.0
// Cells that name what the mesh does not have.
#include <functional>

#include "tests/coupling/mesh/hostile_meshes.hpp"

namespace surrogate::test {

namespace {

HostileMesh vtu(const std::string& name, std::vector<std::string> says,
                const std::function<void(VtuText&)>& change) {
    VtuText mesh;
    change(mesh);
    return {name, {{"mesh.vtu", mesh.text()}}, std::move(says)};
}

HostileMesh vtp(const std::string& name, std::vector<std::string> says,
                const std::function<void(VtpText&)>& change) {
    VtpText mesh;
    change(mesh);
    return {name, {{"mesh.vtp", mesh.text()}}, std::move(says)};
}

HostileMesh corner(const std::string& name, const std::string& id) {
    return vtu(name, {"cell 0 names point " + id + ", the mesh has 4 points"},
               [&](VtuText& mesh) { mesh.connectivity = "0 1 " + id + " 1 3 2"; });
}

/// One cell on all four points.
HostileMesh one_cell(const std::string& name, const std::string& type,
                     std::vector<std::string> says, const std::string& more = "") {
    return vtu(name, std::move(says), [&](VtuText& mesh) {
        mesh.n_cells = "1";
        mesh.connectivity = "0 1 2 3";
        mesh.offsets = "4";
        mesh.types = type;
        mesh.cell_mobility = R"(<DataArray type="Float64" Name="mobility">4</DataArray>)";
        mesh.more_cells = more;
    });
}

HostileMesh faces(const std::string& name, const std::string& stream, const std::string& ends,
                  std::vector<std::string> says) {
    return one_cell(name, "42", std::move(says),
                    R"(<DataArray type="Int64" Name="faces">)" + stream +
                        R"(</DataArray><DataArray type="Int64" Name="faceoffsets">)" + ends +
                        "</DataArray>");
}

}  // namespace

std::vector<HostileMesh> cell_meshes() {
    return {
        corner("CornerIsTheNumberOfPoints", "4"),
        corner("CornerFarOutside", "1000000"),
        corner("CornerBeyondAllMemory", "1000000000000"),
        corner("CornerNegative", "-1"),
        corner("CornerFarNegative", "-1000000"),
        corner("CornerAsSmallAsItGets", "-9223372036854775808"),
        vtu("LastCornerOfTheLastCell", {"cell 1 names point 7, the mesh has 4 points"},
            [](VtuText& mesh) { mesh.connectivity = "0 1 2 1 3 7"; }),
        vtu("ConnectivityShort", {"array 'connectivity' is shorter than its 6 values"},
            [](VtuText& mesh) { mesh.connectivity = "0 1 2"; }),
        vtu("ConnectivityOfWords", {"array 'connectivity' is shorter than its 6 values"},
            [](VtuText& mesh) { mesh.connectivity = "a b c d e f"; }),
        vtu("OffsetBeyondTheConnectivity", {"array 'connectivity' is shorter than its 600 values"},
            [](VtuText& mesh) { mesh.offsets = "3 600"; }),
        vtu("OffsetsFall", {"cell 1 ends at corner 3, before it begins at 6"},
            [](VtuText& mesh) { mesh.offsets = "6 3"; }),
        vtu("OffsetNegative", {"cell 0 ends at corner -3, before it begins at 0"},
            [](VtuText& mesh) { mesh.offsets = "-3 6"; }),
        vtu("OffsetBeyondTheFile", {"cell 1 ends at corner 1000000000000, more than the file"},
            [](VtuText& mesh) { mesh.offsets = "3 1000000000000"; }),
        vtu("OffsetsShort", {"array 'offsets' is shorter than its 2 values"},
            [](VtuText& mesh) { mesh.offsets = "6"; }),
        vtu("TypesShort", {"array 'types' is shorter than its 2 values"},
            [](VtuText& mesh) { mesh.types = "5"; }),
        vtu("TypeUnknown", {"cell 1 has the type 200, which VTK does not support"},
            [](VtuText& mesh) { mesh.types = "5 200"; }),
        vtu("TypeWithoutAClass", {"cell 0 has the type 51, which VTK does not support"},
            [](VtuText& mesh) { mesh.types = "51 5"; }),
        vtu("HexahedronOfThreeCorners", {"cell 0 has the type 12 of 8 corners and names 3 points"},
            [](VtuText& mesh) { mesh.types = "12 5"; }),
        one_cell("TriangleOfFourCorners", "5", {"type 5 of 3 corners and names 4 points"}),
        one_cell("LagrangeHexahedronOfNoOrder", "72", {"cell 0 has the type 72 and 4 corners"}),
        one_cell("BezierTriangleOfNoOrder", "76", {"cell 0 has the type 76 and 4 corners"}),
        vtu("HigherOrderDegreesBeyondVtk", {"VTK evaluates orders up to 10"},
            [](VtuText& mesh) {
                mesh.types = "5 72";
                mesh.cell_mobility +=
                    R"(<DataArray type="Float64" Name="HigherOrderDegrees" NumberOfComponents="3">)"
                    "1 1 1 1e9 1e9 1e9</DataArray>";
            }),
        vtu("HigherOrderDegreesOfTwoComponents", {"HigherOrderDegrees does not have 3 components"},
            [](VtuText& mesh) {
                mesh.types = "5 72";
                mesh.cell_mobility +=
                    R"(<DataArray type="Float64" Name="HigherOrderDegrees" NumberOfComponents="2">)"
                    "1 1 1 1</DataArray>";
            }),
        vtu("CellsWithoutPoints", {"cell 0 names point 0, the mesh has 0 points"},
            [](VtuText& mesh) {
                mesh.n_points = "0";
                mesh.points = mesh.mobility = "";
            }),
        one_cell("PolyhedronWithoutFaces", "42", {"cell 0 is a polyhedron without faces"}),
        faces("FaceNamesNoPoint", "4 3 0 1 2 3 0 1 3 3 0 2 3 3 1 2 9", "17",
              {"cell 0 names point 9 in a face, the mesh has 4 points"}),
        faces("FaceNamesANegativePoint", "4 3 0 1 2 3 0 1 3 3 0 2 3 3 1 2 -9", "17",
              {"cell 0 names point -9 in a face"}),
        faces("MoreFacesThanTheList", "1000000 3 0 1 2 3 0 1 3 3 0 2 3 3 1 2 3", "17",
              {"cell 0 has 1000000 faces, of which face 4 is not in the list"}),
        faces("FaceLongerThanTheList", "4 3 0 1 2 3 0 1 3 3 0 2 3 1000000000 1 2 3", "17",
              {"cell 0 has 4 faces, of which face 3 is not in the list"}),
        faces("NegativeNumberOfCornersInAFace", "4 3 0 1 2 -3 0 1 3 3 0 2 3 3 1 2 3", "17",
              {"cell 0 has 4 faces, of which face 1 is not in the list"}),
        faces("NegativeNumberOfFaces", "-4 3 0 1 2 3 0 1 3 3 0 2 3 3 1 2 3", "17",
              {"cell 0 has -4 faces"}),
        faces("NoFaces", "0", "1", {"cell 0 has 0 faces"}),
        faces("FacesShort", "4 3 0 1", "17", {"array 'faces' is shorter than its 17 values"}),
        faces("FaceOffsetBeyondTheFile", "4 3 0 1 2 3 0 1 3 3 0 2 3 3 1 2 3", "1000000000000",
              {"array 'faces' has 1000000000000 values, which the file cannot hold"}),
        faces("PolyhedronMarkedAsHavingNoFaces", "4 3 0 1 2 3 0 1 3 3 0 2 3 3 1 2 3", "-1",
              {"cell 0 is a polyhedron without faces"}),
        vtp("VertexOutside", {"cell 0 names point 4, the mesh has 4 points"},
            [](VtpText& mesh) { mesh.verts = "4"; }),
        vtp("LineOutside", {"cell 1 names point -5"}, [](VtpText& mesh) { mesh.lines = "0 -5"; }),
        vtp("PolygonOutside", {"cell 2 names point 1000000000000"},
            [](VtpText& mesh) { mesh.polys = "0 1000000000000 2"; }),
        vtp("StripOutside", {"cell 3 names point 400"},
            [](VtpText& mesh) { mesh.strips = "0 1 400 3"; }),
        vtp("LineOffsetBeyondTheFile", {"cell 0 ends at corner 2000000000"},
            [](VtpText& mesh) { mesh.line_offsets = "2000000000"; }),
    };
}

}  // namespace surrogate::test
