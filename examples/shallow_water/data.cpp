// SPDX-License-Identifier: Apache-2.0
#include "data.hpp"

#include <array>
#include <cstdio>
#include <surrogate/surrogate_dataset.hpp>
#include <surrogate/surrogate_mpi.hpp>

#include "field_names.hpp"
#include "initial.hpp"
#include "sphere_domain.hpp"
#include "stop.hpp"

namespace shallow_water {

namespace {

/// Returns the command that writes the file again.
std::string command_of(const Settings& s) {
    std::array<char, 256> text{};
    std::snprintf(text.data(), text.size(),
                  "shallow_water -data -runs %lld -days %.9g -seed %llu -initial %s -nlat %lld "
                  "-nlon %lld -L %lld -dt %.9g%s",
                  static_cast<long long>(s.n_run), double(s.n_hour) / 24,
                  static_cast<unsigned long long>(s.seed), s.initial.c_str(),
                  static_cast<long long>(s.resolution.n_lat),
                  static_cast<long long>(s.resolution.n_lon),
                  static_cast<long long>(s.resolution.n_degree), s.dt_s,
                  s.official_rounding ? " -official_rounding" : "");
    return text.data();
}

void describe(const Settings& s, surrogate::NewDataset* set) {
    set->set("title", "Shallow water on the sphere, hour by hour");
    set->set("source", command_of(s));
    set->set("grid", "legendre-gauss");
    set->add_axis("sample", s.n_run);
    set->add_axis("time", s.n_hour + 1);
    set->add_axis("lat", s.resolution.n_lat);
    set->add_axis("lon", s.resolution.n_lon);
    set->add("time", {"time"}, "s", "since the initial state");
    set->add("lat", {"lat"}, "degrees_north", "latitude");
    set->add("lon", {"lon"}, "degrees_east", "longitude");
    for (const FieldName& field : field_names)
        set->add(field.name, {"sample", "time", "lat", "lon"}, field.unit, nullptr,
                 SURROGATE_FLOAT32);
}

void put(surrogate::NewDataset* set, const char* name, const std::vector<double>& values) {
    set->put(name, 0, surrogate::column(values.data(), static_cast<int64_t>(values.size())));
}

/// Writes the numbers of the axes, on one rank.
void put_axes(const Settings& s, surrogate::NewDataset* set) {
    std::vector<double> time, lat(static_cast<std::size_t>(s.resolution.n_lat)),
        lon(static_cast<std::size_t>(s.resolution.n_lon));
    for (int64_t hour = 0; hour <= s.n_hour; ++hour) time.push_back(3600.0 * double(hour));
    surrogate::check(surrogate_sphere_nodes("legendre-gauss", s.resolution.n_lat,
                                            s.resolution.n_lon, lat.data(), lon.data(), nullptr));
    put(set, "time", time);
    put(set, "lat", lat);
    put(set, "lon", lon);
}

/// Writes one run, state by state.
class RunWriter {
public:
    RunWriter(const Settings& settings, Solver& solver, surrogate::NewDataset* set)
        : settings_(settings), solver_(solver), set_(set), fields_(solver.new_fields()) {}

    void write(int64_t run) {
        Settings of_run = settings_;
        of_run.seed += static_cast<uint64_t>(run);
        State state = solver_.new_state();
        set_initial(of_run, solver_, &state);
        for (int64_t hour = 0; hour <= settings_.n_hour; ++hour) {
            if (hour > 0) solver_.step(settings_.steps_per_hour(), &state);
            solver_.to_grid(state, &fields_);
            write_state(run * (settings_.n_hour + 1) + hour);
        }
    }

private:
    void write_state(int64_t index) {
        const Layout& layout = solver_.layout();
        const int64_t n = layout.n_point(),
                      n_sphere = layout.resolution().n_lat * layout.resolution().n_lon;
        for (int64_t f = 0; f < n_field; ++f)
            set_->write(field_names[f].name, index * n_sphere,
                        surrogate::column(fields_.data() + f * n, n));
    }

    const Settings& settings_;
    Solver& solver_;
    surrogate::NewDataset* set_;
    Fields fields_;
};

void write_file(const Settings& settings, Solver& solver) {
    const Layout& layout = solver.layout();
    const surrogate::Context context = surrogate::mpi_context(layout.comm());
    surrogate::NewDataset set(context, settings.data);
    describe(settings, &set);
    set.begin();
    set.set_points(sphere_domain(context, layout, solver.transform().latitudes()));
    if (layout.rank() == 0) put_axes(settings, &set);
    RunWriter writer(settings, solver, &set);
    const double start = MPI_Wtime();
    for (int64_t run = 0; run < settings.n_run; ++run) {
        writer.write(run);
        if (layout.rank() == 0)
            std::printf("run %lld of %lld, %.1f s\n", static_cast<long long>(run + 1),
                        static_cast<long long>(settings.n_run), MPI_Wtime() - start);
    }
    set.finish();
    if (layout.rank() == 0)
        std::printf("%s: %lld runs of %lld hours\n", settings.data.c_str(),
                    static_cast<long long>(settings.n_run),
                    static_cast<long long>(settings.n_hour));
}

}  // namespace

void make_data(const Settings& settings, Solver& solver) {
    try {
        write_file(settings, solver);
    } catch (const surrogate::Error& error) {  // the same on all ranks
        if (is_lost(error)) throw;
        throw Stop(error.what());
    }
}

}  // namespace shallow_water
