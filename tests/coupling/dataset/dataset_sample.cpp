// SPDX-License-Identifier: Apache-2.0
// dataset_sample <folder>: data sets of all forms, for readers of other people (readers_test.py).
#include <string>
#include <surrogate/surrogate_dataset.hpp>
#include <vector>

namespace {

/// Numbers 0, 1, 2, .. of a variable.
void put_counted(surrogate::NewDataset* set, const char* name, int64_t n) {
    std::vector<double> values;
    for (int64_t i = 0; i < n; ++i) values.push_back(static_cast<double>(i));
    set->put(name, 0, surrogate::column(values.data(), n));
}

void write_lattice(const surrogate::Context& context, const std::string& path) {
    surrogate::NewDataset set(context, path);
    set.set("title", "a structured grid");
    set.add_axis("sample", 3);
    set.add_axis("x", 4);
    set.add_axis("y", 5);
    set.add("x", {"x"}, "m", nullptr, SURROGATE_FLOAT64, "X");
    set.add("y", {"y"}, "m", nullptr, SURROGATE_FLOAT64, "Y");
    set.add("pressure", {"sample", "x", "y"}, "Pa", "pressure of the fluid");
    set.begin();
    put_counted(&set, "x", 4);
    put_counted(&set, "y", 5);
    put_counted(&set, "pressure", 60);
    set.finish();
}

void write_series(const surrogate::Context& context, const std::string& path) {
    surrogate::NewDataset set(context, path);
    set.set("grid", "legendre-gauss");
    set.add_axis("sample", 2);
    set.add_axis("time", 3);
    set.add_axis("lat", 4);
    set.add_axis("lon", 8);
    set.add("time", {"time"}, "s");
    set.add("lat", {"lat"}, "degrees_north");
    set.add("lon", {"lon"}, "degrees_east");
    set.add("vorticity", {"sample", "time", "lat", "lon"}, "1/s", nullptr, SURROGATE_FLOAT32);
    set.begin();
    put_counted(&set, "time", 3);
    put_counted(&set, "lat", 4);
    put_counted(&set, "lon", 8);
    put_counted(&set, "vorticity", 192);
    set.finish();
}

void write_clouds(const surrogate::Context& context, const std::string& path) {
    surrogate::NewDataset set(context, path);
    set.add_axis("offset", 3);
    set.add_axis("row", 7);
    set.add("offset", {"offset"}, nullptr, nullptr, SURROGATE_INT64);
    set.add("x", {"row"}, "m", nullptr, SURROGATE_FLOAT64, "X");
    set.add("mass", {"row"}, "kg");
    set.begin();
    const int64_t offset[] = {0, 3, 7};
    surrogate_array array = surrogate::column(static_cast<const double*>(nullptr), 3);
    array.data = const_cast<int64_t*>(offset);
    array.dtype = SURROGATE_INT64;
    set.put("offset", 0, array);
    put_counted(&set, "x", 7);
    put_counted(&set, "mass", 7);
    set.finish();
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 2) return 2;
    const std::string folder = argv[1];
    const surrogate::Context context;
    write_lattice(context, folder + "/structured_grid.h5");
    write_series(context, folder + "/series.h5");
    write_clouds(context, folder + "/clouds.h5");
    return 0;
}
