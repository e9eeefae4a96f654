// SPDX-License-Identifier: Apache-2.0
// Series of the example for ParaView: the globe of all ranks, with the fields of the solver.
#include <gtest/gtest.h>
#include <vtkPointData.h>
#include <vtkXMLPStructuredGridReader.h>
#include <vtkXMLStructuredGridReader.h>

#include "output.hpp"
#include "tests/coupling/vtk/read.hpp"
#include "tests/examples/shallow_water_support.hpp"

namespace {

using shallow_water::Fields;
using shallow_water::Layout;
using shallow_water::Planet;
using shallow_water::Series;
using shallow_water::Solver;

constexpr int64_t n_lat = 32, n_lon = 64;

vtkSmartPointer<vtkDataSet> read_globe(const std::string& path) {
    const bool has_pieces = path.ends_with(".pvts");
    return has_pieces ? surrogate::test::read<vtkXMLPStructuredGridReader>(path)
                      : surrogate::test::read<vtkXMLStructuredGridReader>(path);
}

/// Points of all rows and of caps, the first column again behind the last; fields whole.
void compare(vtkDataSet* globe, const std::vector<std::vector<double>>& fields,
             const shallow_water::Latitudes& latitudes) {
    ASSERT_NE(globe, nullptr);
    constexpr int64_t n_cap = 1;  // a row at each pole
    ASSERT_EQ(globe->GetNumberOfPoints(), (n_lat + 2 * n_cap) * (n_lon + 1));
    const char* const names[] = {"geopotential", "vorticity", "divergence"};
    for (std::size_t f = 0; f < 3; ++f) {
        vtkDataArray* array = globe->GetPointData()->GetArray(names[f]);
        ASSERT_NE(array, nullptr) << names[f];
        for (int64_t k = 0; k < n_lat; ++k)
            for (int64_t j = 0; j <= n_lon; ++j)
                ASSERT_EQ(array->GetTuple1((k + n_cap) * (n_lon + 1) + j),
                          fields[f][static_cast<std::size_t>(k * n_lon + j % n_lon)])
                    << names[f] << " " << k << " " << j;
    }
    for (int64_t k = 0; k < n_lat; ++k) {
        double x[3];
        globe->GetPoint((k + n_cap) * (n_lon + 1) + n_lon / 4, x);  // 90 degrees east
        const double z = latitudes.sine[static_cast<std::size_t>(k)] * Planet::radius_m;
        ASSERT_NEAR(x[2], z, 1);
        ASSERT_NEAR(x[0], 0, 1);
        ASSERT_GT(x[1], 0);
    }
}

/// Balanced bands, and bands with ranks that have none.
class ShallowWaterSeries : public testing::TestWithParam<bool> {};

TEST_P(ShallowWaterSeries, GlobeHoldsTheFieldsOfAllRanks) {
    int size = 1;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const std::vector<int64_t> awkward = surrogate::test::awkward_bands(n_lat, size);
    const shallow_water::Resolution resolution{n_lat, n_lon, 11};
    const Layout layout = GetParam() ? Layout(MPI_COMM_WORLD, resolution, awkward)
                                     : Layout(MPI_COMM_WORLD, resolution);
    Solver solver(layout, 150, false);
    shallow_water::State state = solver.new_state();
    Fields fields = solver.new_fields();
    shallow_water::perturbed_jet(solver, 3, &state);
    solver.to_grid(state, &fields);
    const std::string folder = testing::TempDir() + "shallow_water_series_" + std::to_string(size);
    shallow_water::make_directory(MPI_COMM_WORLD, folder);
    {
        Series series(layout, solver.transform().latitudes(), folder, "jet");
        series.write(0, fields);
        series.write(3600, fields);
    }
    std::vector<std::vector<double>> whole;
    for (int64_t f = 0; f < 3; ++f)
        whole.push_back(layout.gather_rows(fields.data() + f * layout.n_point()));
    if (layout.rank() == 0) {
        const auto steps = surrogate::test::read_pvd(folder + "/jet.pvd");
        EXPECT_EQ(steps.size(), 2u);
        EXPECT_EQ(steps.empty() ? 0 : steps.back().time_s, 3600);
        for (const auto& step : steps)
            compare(read_globe(folder + "/" + step.file), whole, solver.transform().latitudes());
        std::filesystem::remove_all(folder);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

INSTANTIATE_TEST_SUITE_P(Bands, ShallowWaterSeries, testing::Bool());

}  // namespace
