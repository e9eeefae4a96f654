// SPDX-License-Identifier: Apache-2.0
// Untrusted data sets: variables that do not fit their axes, are outside the file or were never
// written are rejected with their name before a number is read.
#include "tests/coupling/training/odd_dataset.hpp"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <fstream>

#include "coupling/dataset/read_file.hpp"
#include "coupling/job/job.hpp"
#include "coupling/training/sample.hpp"

namespace {

int n_name_by_index = 0;

}  // namespace

/// Counts calls of HDF5's function, which goes through all names before the one that is asked for.
extern "C" ssize_t H5Lget_name_by_idx(hid_t location, const char* group, H5_index_t index,
                                      H5_iter_order_t order, hsize_t n, char* name, size_t size,
                                      hid_t access) {
    ++n_name_by_index;
    static auto* const real =
        reinterpret_cast<decltype(&H5Lget_name_by_idx)>(::dlsym(RTLD_NEXT, "H5Lget_name_by_idx"));
    return real(location, group, index, order, n, name, size, access);
}

namespace surrogate::test {

namespace {

using dataset::ReadFile;

using Change = std::function<void(OddDataset&)>;

/// One file a rank: names of ranks differ.
std::string path_of(const std::string& name) {
    const tool::Job job;
    const std::string folder =
        SURROGATE_WORK "/odd_" + std::to_string(job.size()) + "_" + std::to_string(job.rank());
    std::filesystem::create_directories(folder);
    return folder + "/" + name + ".h5";
}

std::string written(const std::string& name, const Change& change,
                    OddDataset set = OddDataset::series()) {
    change(set);
    const h5::QuietErrors quiet;
    set.write(path_of(name));
    return path_of(name);
}

/// The text begins with the file and has all of `texts`.
void expect_refused(const std::string& path, const std::vector<std::string>& texts) {
    try {
        const ReadFile file(path);
    } catch (const Error& error) {
        EXPECT_EQ(error.status(), SURROGATE_BAD_FILE) << error.what();
        for (const std::string& text : texts)
            EXPECT_NE(std::string(error.what()).find(text), std::string::npos)
                << text << "\nnot in\n"
                << error.what();
        EXPECT_NE(std::string(error.what()).find(path), std::string::npos) << error.what();
        return;
    }
    ADD_FAILURE() << path << " was accepted";
}

struct Odd {
    std::string name;
    Change change;
    std::vector<std::string> texts;
};

void expect_all_refused(const std::vector<Odd>& all, const OddDataset& set = OddDataset::series()) {
    for (const Odd& odd : all) {
        SCOPED_TRACE(odd.name);
        expect_refused(written(odd.name, odd.change, set), odd.texts);
    }
}

void chunk(hid_t how, std::vector<hsize_t> shape) {
    h5::check(H5Pset_chunk(how, static_cast<int>(shape.size()), shape.data()), "set chunks");
}

/// Text of 8 bytes.
hid_t text_type() {
    static const hid_t type = [] {
        const hid_t made = H5Tcopy(H5T_C_S1);
        H5Tset_size(made, 8);
        return made;
    }();
    return type;
}

OddDataset sphere() {
    return {{{"sample", {2}, {"sample"}},
             {"lat", {4}, {"lat"}, "", H5T_NATIVE_DOUBLE, -20},
             {"lon", {8}, {"lon"}, "", H5T_NATIVE_DOUBLE, 45},
             {"u", {2, 4, 8}, {"sample", "lat", "lon"}}},
            "equiangular"};
}

TEST(OddDataset, SeriesAndSphereAreRead) {
    const ReadFile series(written("series", [](OddDataset&) {}));
    EXPECT_EQ(series.time_step(), 1);
    std::vector<double> values(4);
    series.read("u", {1, 2}, {{0}, {4}}, values);
    EXPECT_EQ(values, (std::vector<double>{20, 21, 22, 23}));
    const ReadFile globe(written(
        "sphere", [](OddDataset&) {}, sphere()));
    EXPECT_EQ(globe.along("lat"), (std::vector<double>{0, -20, -40, -60}));
}

TEST(OddDataset, VariablesHaveTheAxesTypesAndExtentsOfTheFields) {
    const std::string of_time = "'time' has the shape (";
    expect_all_refused({
        {"time_long",
         [](OddDataset& set) { set["time"].shape = {1000}; },
         {of_time + "1000), expected (3)"}},
        {"time_short",
         [](OddDataset& set) { set["time"].shape = {2}; },
         {of_time + "2), expected (3)"}},
        {"time_scalar",
         [](OddDataset& set) { set["time"].shape = {}; },
         {"'time'", "the shape ()"}},
        {"time_2d",
         [](OddDataset& set) {
             set["time"].shape = {3, 5};
         },
         {"'time'", "(3, 5)"}},
        {"time_text",
         [](OddDataset& set) { set["time"].type = text_type(); },
         {"'time'", "expected integers or floats"}},
        {"time_equal", [](OddDataset& set) { set["time"].step = 0; }, {"'time'", "that rise"}},
        {"time_falls", [](OddDataset& set) { set["time"].step = -1; }, {"'time'", "that rise"}},
        {"x_short",
         [](OddDataset& set) { set["x"].shape = {1}; },
         {"'x' has the shape (1), expected (4)"}},
        {"x_of_sample",
         [](OddDataset& set) {
             set.variables.push_back({"y", {2}, {"sample"}, "Y"});
         },
         {"'y' has the axes (sample)", "expected the axes (y)"}},
        {"weight_scalar",
         [](OddDataset& set) {
             set.variables.push_back({"weight", {}, {}});
         },
         {"'weight' has the axes () and the shape (), expected the axes (x)"}},
        {"weight_3d",
         [](OddDataset& set) {
             set.variables.push_back({"weight", {2, 3, 4}, {}});
         },
         {"'weight' has the axes () and the shape (2, 3, 4), expected the axes (x)"}},
        {"weight_integer",
         [](OddDataset& set) {
             set.variables.push_back({"weight", {4}, {"x"}, "", H5T_NATIVE_INT64});
         },
         {"'weight'", "expected floats"}},
        {"field_short",
         [](OddDataset& set) {
             set.variables.push_back({"v", {2, 3, 3}, {"sample", "time", "x"}});
         },
         {"'v' has the shape (2, 3, 3), expected (2, 3, 4)"}},
        {"axis_twice",
         [](OddDataset& set) {
             set["u"].shape = {2, 4, 4};
             set["u"].axes = {"sample", "x", "x"};
         },
         {"different axes of points"}},
        {"no_points",
         [](OddDataset& set) {
             set["x"].shape = {0};
             set["u"].shape = {2, 3, 0};
         },
         {"expected at least one number"}},
    });
    expect_all_refused(
        {
            {"lat_scalar",
             [](OddDataset& set) { set["lat"].shape = {}; },
             {"'lat'", "the shape ()"}},
            {"lat_short",
             [](OddDataset& set) { set["lat"].shape = {1}; },
             {"'lat' has the shape (1), expected (4)"}},
            {"lat_2d",
             [](OddDataset& set) {
                 set["lat"].shape = {4, 8};
             },
             {"'lat'", "(4, 8)"}},
            {"lon_text", [](OddDataset& set) { set["lon"].type = text_type(); }, {"'lon'"}},
        },
        sphere());
}

/// A cloud of 3 points and 2 samples with one field u.
OddDataset cloud_of_two() {
    return {{{"sample", {2}, {"sample"}},
             {"point", {3}, {"point"}},
             {"x", {3}, {"point"}, "X"},
             {"u", {2, 3}, {"sample", "point"}}},
            ""};
}

TEST(OddDataset, SaysWhyANameOfTheFileIsNotAField) {
    struct Row {
        OddVariable variable;
        std::string text;
    };
    const std::vector<Row> rows = {
        {{"v", {2, 3}, {}},
         "'v' has the shape (2, 3) and no axes (dimension scales), expected (sample, point); h5py: "
         "for i, axis in enumerate(('sample', 'point')): f['v'].dims[i].attach_scale(f[axis])"},
        {{"v", {3, 2}, {"point", "sample"}},
         "'v' has its axes in the order (point, sample), expected (sample, point); h5py: f['v'] = "
         "values.transpose(1, 0)"},
        {{"v", {3, 2}, {}},
         "'v' has the shape (3, 2) and no axes, expected the shape (2, 3) of (sample, point)"},
        {{"v", {2}, {"sample"}},
         "'v' has one number per sample, expected one per point, (sample, point); h5py: f['v'] = "
         "numpy.broadcast_to(values[:, None], (2, 3))"},
        {{"v", {2}, {}}, "'v' has one number per sample"},
        {{"v", {2, 3}, {"sample", "point"}, "", H5T_NATIVE_INT32},
         "'v' does not hold float32 or float64"},
        {{"v", {7}, {}}, "'v' has the shape (7) and no axes, expected the shape (2, 3)"},
        {{"v", {3}, {"point"}}, "'v' has the axes (point) and the shape (3), expected"},
    };
    for (size_t i = 0; i < rows.size(); ++i) {
        const ReadFile file(written(
            "why_" + std::to_string(i),
            [&](OddDataset& set) { set.variables.push_back(rows[i].variable); }, cloud_of_two()));
        EXPECT_TRUE(file.why_no_field("v").starts_with(rows[i].text)) << file.why_no_field("v");
        EXPECT_EQ(file.why_no_field("u"), "");
        EXPECT_EQ(file.why_no_field("w"), "");
        EXPECT_EQ(file.why_no_field("x"), "'x' is a coordinate (attribute 'axis')");
    }
    // In a file without any field the first candidate is explained.
    expect_all_refused(
        {{"only_swapped",
          [](OddDataset& set) {
              set["u"] = {"u", {3, 2}, {"point", "sample"}};
          },
          {"the file has no field", "'u' has its axes in the order (point, sample)"}},
         {"only_bare",
          [](OddDataset& set) {
              set["u"] = {"u", {2, 3}, {}};
          },
          {"the file has no field", "f['u'].dims[i].attach_scale(f[axis])"}},
         {"only_samples",
          [](OddDataset& set) {
              set["u"] = {"u", {2}, {"sample"}};
          },
          {"the file has no field"}}},
        cloud_of_two());
}

TEST(OddDataset, WeightsOfSamplesChangeWithTheSymmetryOfTheirGrid) {
    const OddDataset set{{{"sample", {2}, {"sample"}},
                          {"x", {3}, {"x"}, "X"},
                          {"y", {3}, {"y"}, "Y"},
                          {"u", {2, 3, 3}, {"sample", "x", "y"}},
                          {"weight", {2, 3, 3}, {"sample", "x", "y"}}},
                         ""};
    const ReadFile file(written(
        "weights", [](OddDataset&) {}, set));
    EXPECT_TRUE(file.form().has_sample_weight);
    for (int square = 0; square < 8; ++square)
        for (const tool::PointRange range : {tool::PointRange{0, 9}, tool::PointRange{4, 2}})
            EXPECT_EQ(tool::read_weights(file, {1, 0}, {square}, range),
                      tool::read_range(file, "u", {1, 0}, {square}, range));
    const ReadFile shared(written("shared", [](OddDataset& one) {
        one.variables.push_back({"weight", {4}, {"x"}});
    }));
    EXPECT_FALSE(shared.form().has_sample_weight);
    EXPECT_EQ(tool::read_weights(shared, {1, 2}, {}, {1, 2}), (std::vector<double>{1, 2}));
    // Weights of times, which all samples share.
    const ReadFile times(written("times", [](OddDataset& one) {
        one.variables.push_back({"weight", {3, 4}, {"time", "x"}});
    }));
    EXPECT_TRUE(times.form().has_sample_weight);
    EXPECT_EQ(tool::read_weights(times, {1, 2}, {}, {1, 2}), (std::vector<double>{9, 10}));
}

TEST(OddDataset, NumbersOfSamplesAndStatesAreRead) {
    const ReadFile file(written("numbers", [](OddDataset& set) {
        set.variables.push_back({"drag", {2}, {"sample"}, "", H5T_NATIVE_DOUBLE, 0.5});
        set.variables.push_back({"lift", {2, 3}, {"sample", "time"}});
        set.variables.push_back({"kind", {2}, {"sample"}, "", H5T_NATIVE_INT});
        set.variables.push_back({"turned", {3, 2}, {"time", "sample"}});
    }));
    EXPECT_EQ(file.sample_fields(), (std::vector<std::string>{"drag", "lift"}));
    EXPECT_EQ(file.sample_integers(), (std::vector<std::string>{"kind"}));
    EXPECT_EQ(file.fields(), (std::vector<std::string>{"u"}));
    EXPECT_EQ(tool::read_range(file, "drag", {1, 2}, {}, {0, 4}), (std::vector<double>{0.5}));
    EXPECT_EQ(tool::read_range(file, "lift", {1, 2}, {}, {}), (std::vector<double>{5}));
    EXPECT_EQ(tool::read_labels(file, "kind", {1, 0}, {}, {}), (std::vector<int64_t>{1}));
}

TEST(OddDataset, FieldsWithoutTimesDoNotHideASeries) {
    const ReadFile file(written("constant", [](OddDataset& set) {
        set.variables.push_back({"a", {2, 4}, {"sample", "x"}});
    }));
    EXPECT_TRUE(file.form().is_series);
    EXPECT_EQ(file.form().n_time, 3);
}

TEST(OddDataset, AxesWithoutNumbersOfNetcdfMayBeEmpty) {
    const ReadFile file(written("bare", [](OddDataset& set) {
        for (const char* const name : {"sample", "time"}) {
            set[name].shape = {0};
            set[name].is_bare_axis = true;
        }
    }));
    EXPECT_EQ(file.form().n_sample, 2);
    EXPECT_EQ(file.form().n_time, 3);
}

TEST(OddDataset, NumbersThatLieElsewhereAreRefused) {
    const std::string secret = path_of("secret");
    std::ofstream(secret) << std::string(4096, '7');
    expect_all_refused({
        {"external",
         [&](OddDataset& set) {
             set["u"].how = [&](hid_t how) {
                 h5::check(H5Pset_external(how, secret.c_str(), 0, H5F_UNLIMITED), "set a file");
             };
             set["u"].is_written = false;
         },
         {"'u'", "external storage", "secret"}},
        {"virtual",
         [&](OddDataset& set) {
             set["u"].how = [&](hid_t how) {
                 const std::array<hsize_t, 3> shape = {2, 3, 4};
                 const h5::Handle space(H5Screate_simple(3, shape.data(), nullptr), H5Sclose, "");
                 h5::check(H5Pset_virtual(how, space, secret.c_str(), "u", space), "set a source");
             };
             set["u"].is_written = false;
         },
         {"'u'", "virtual layout"}},
    });
}

TEST(OddDataset, FiltersThatNeedAPluginAreRefusedAndNothingIsLoaded) {
    constexpr H5Z_filter_t foreign = 32001;  // blosc
    const auto with = [](const std::function<void(hid_t)>& set_filter) {
        return [set_filter](OddDataset& set) {
            set["u"].is_written = false;
            set["u"].how = [set_filter](hid_t how) {
                chunk(how, {2, 3, 4});
                set_filter(how);
            };
        };
    };
    unsigned before = 0, after = 1;
    H5PLget_loading_state(&before);
    expect_all_refused({
        {"plugin",
         with([](hid_t how) {
             h5::check(H5Pset_filter(how, foreign, H5Z_FLAG_OPTIONAL, 0, nullptr), "set a filter");
         }),
         {"'u'", "the filter 32001", "expected deflate"}},
        {"nbit",
         with([](hid_t how) { h5::check(H5Pset_nbit(how), "set a filter"); }),
         {"'u'", "the filter 5"}},
    });
    H5PLget_loading_state(&after);
    EXPECT_EQ(after, before);
}

TEST(OddDataset, ExtentsThatTheFileDoesNotStoreAreRefusedAtOnce) {
    constexpr hsize_t many = hsize_t{1} << 40;
    const auto claimed = [](std::vector<hsize_t> shape, std::vector<hsize_t> chunks) {
        return [=](OddDataset& set) {
            set["sample"].shape = {shape[0]};
            set["sample"].is_written = false;
            set["u"].shape = shape;
            set["u"].is_written = false;
            if (!chunks.empty())
                set["u"].how = [=](hid_t how) {
                    chunk(how, chunks);
                    h5::check(H5Pset_deflate(how, 1), "set a filter");
                };
        };
    };
    expect_all_refused({
        {"contiguous", claimed({many, 3, 4}, {}), {"'u'", "needs 105553116266496 bytes"}},
        {"chunked", claimed({many, 3, 4}, {1, 3, 4}), {"'u'", "1032-fold"}},
        {"overflow", claimed({hsize_t{1} << 57, 3, 4}, {1, 3, 4}), {"'u'", "more than 2^63"}},
        {"unwritten", claimed({2, 3, 4}, {}), {"'u'", "were all numbers written"}},
    });
}

TEST(OddDataset, ChunkThatWasNeverWrittenIsRefused) {
    const std::string path = written("hole", [](OddDataset& set) {
        set["u"].how = [](hid_t how) { chunk(how, {1, 3, 4}); };
    });
    EXPECT_NO_THROW(ReadFile{path});
    written("hole", [](OddDataset& set) {
        set["u"].how = [](hid_t how) { chunk(how, {1, 3, 4}); };
        set["u"].is_written = false;
    });
    {
        const h5::Handle file(H5Fopen(path.c_str(), H5F_ACC_RDWR, H5P_DEFAULT), H5Fclose, "open");
        const h5::Handle u(H5Dopen2(file, "u", H5P_DEFAULT), H5Dclose, "open");
        const std::array<hsize_t, 3> first = {1, 0, 0}, n = {1, 3, 4};
        const h5::Handle space(H5Dget_space(u), H5Sclose, "open");
        H5Sselect_hyperslab(space, H5S_SELECT_SET, first.data(), nullptr, n.data(), nullptr);
        const h5::Handle memory(H5Screate_simple(3, n.data(), nullptr), H5Sclose, "make");
        const std::vector<double> ones(12, 1.0);
        h5::check(H5Dwrite(u, H5T_NATIVE_DOUBLE, memory, space, H5P_DEFAULT, ones.data()), "write");
    }
    expect_refused(path, {"'u'", "the file stores 96;"});
}

TEST(OddDataset, CompressedNumbersOfEveryKindAreRead) {
    for (const hid_t type : {H5T_IEEE_F32BE, H5T_IEEE_F64LE}) {
        const ReadFile file(written("compressed", [=](OddDataset& set) {
            set["u"].type = type;
            set["u"].how = [](hid_t how) {
                chunk(how, {1, 2, 3});  // chunks that leave the shape
                H5Pset_shuffle(how);
                H5Pset_deflate(how, 9);
                H5Pset_fletcher32(how);
            };
        }));
        std::vector<double> values(4);
        file.read("u", {1, 2}, {{0}, {4}}, values);
        EXPECT_EQ(values, (std::vector<double>{20, 21, 22, 23}));
    }
}

TEST(OddDataset, NamesAreListedInOnePass) {
    const ReadFile file(written("names", [](OddDataset&) {}));
    EXPECT_EQ(file.fields(), std::vector<std::string>{"u"});
    EXPECT_EQ(n_name_by_index, 0);
}

}  // namespace

}  // namespace surrogate::test
