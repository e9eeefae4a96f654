// SPDX-License-Identifier: Apache-2.0
// A checkpoint of 8 fields of doubles at 1e6 points against a plain parallel HDF5 file of the same
// fields: contiguous ranges, no points, no checksum, no ordering, written in place. Both are
// synchronized to disk.
//   mpirun -n <ranks> checkpoint_bench [rounds] [points] [folder]
#include <fcntl.h>
#include <hdf5.h>
#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <surrogate/surrogate_mpi.hpp>
#include <vector>

#include "coupling/hdf5/handle.hpp"
#include "coupling/timeloop/checkpoint.hpp"

namespace {

using namespace surrogate;
namespace h5 = surrogate::h5;

const MPI_Comm world = MPI_COMM_WORLD;
constexpr int n_field = 8;

int rank() {
    int rank = 0;
    MPI_Comm_rank(world, &rank);
    return rank;
}
int size() {
    int size = 0;
    MPI_Comm_size(world, &size);
    return size;
}

/// Returns the rows of this rank under a named partition.
std::vector<int64_t> own_rows(const char* partition, int64_t n) {
    int64_t n_own = 0;
    check(surrogate_partition(partition, n, rank(), size(), nullptr, &n_own));
    std::vector<int64_t> rows(static_cast<size_t>(n_own));
    check(surrogate_partition(partition, n, rank(), size(), rows.data(), &n_own));
    return rows;
}

/// Points of the unit square with 8 fields.
struct Loop {
    Loop(const char* partition, int64_t n)
        : context(mpi_context(world)),
          model(context, SURROGATE_SHARE "/models/darcy_flow.safetensors"),
          rows(own_rows(partition, n)),
          plan(model, domain()) {
        for (int f = 0; f < n_field; ++f) {
            std::vector<double> values;
            for (const int64_t row : rows) values.push_back(std::sin(static_cast<double>(row) + f));
            timeloop::StateField field;
            field.name = "field" + std::to_string(f);
            field.dtype = SURROGATE_FLOAT64;
            field.values.resize(8 * values.size());
            std::memcpy(field.values.data(), values.data(), field.values.size());
            snapshot.fields.push_back(field);
        }
    }

    Domain domain() const {
        std::vector<double> x;
        for (const int64_t row : rows) {
            x.push_back(std::fmod(0.7548776662466927 * static_cast<double>(row), 1.0));
            x.push_back(std::fmod(0.5698402909980532 * static_cast<double>(row), 1.0));
        }
        return Domain(context, matrix(x.data(), std::ssize(rows), 2), rows.data());
    }

    void save(const std::string& path) const {
        timeloop::save_checkpoint(context.get(), plan.get(), snapshot, path, &orders);
    }

    Context context;
    Model model;
    std::vector<int64_t> rows;
    Plan plan;
    timeloop::Snapshot snapshot;
    mutable timeloop::CheckpointOrders orders;
};

void flush(const std::string& path) {
    const int file = ::open(path.c_str(), O_WRONLY);
    ::fsync(file);
    ::close(file);
}

/// Writes the fields of ranks with contiguous rows, each in its range.
void write_plainly(const Loop& loop, const std::string& path) {
    const h5::Handle access = h5::property_list(H5P_FILE_ACCESS);
    const h5::Handle transfer = h5::property_list(H5P_DATASET_XFER);
#ifdef H5_HAVE_PARALLEL
    h5::check(H5Pset_fapl_mpio(access, world, MPI_INFO_NULL), "use MPI");
    h5::check(H5Pset_dxpl_mpio(transfer, H5FD_MPIO_COLLECTIVE), "write together");
#endif
    h5::Handle file(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access), H5Fclose, "make");
    hsize_t n_own = loop.rows.size(), first = loop.rows.empty() ? 0 : loop.rows.front(), n = n_own;
    MPI_Allreduce(MPI_IN_PLACE, &n, 1, MPI_UINT64_T, MPI_SUM, world);
    const h5::Handle all(H5Screate_simple(1, &n, nullptr), H5Sclose, "make a space");
    const h5::Handle own(H5Screate_simple(1, &n_own, nullptr), H5Sclose, "make a space");
    h5::check(H5Sselect_hyperslab(all, H5S_SELECT_SET, &first, nullptr, &n_own, nullptr), "select");
    for (const timeloop::StateField& field : loop.snapshot.fields) {
        const h5::Handle set(H5Dcreate2(file, field.name.c_str(), H5T_NATIVE_DOUBLE, all,
                                        H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT),
                             H5Dclose, "make a data set");
        h5::check(H5Dwrite(set, H5T_NATIVE_DOUBLE, own, all, transfer, field.values.data()),
                  "write");
    }
    file.close("close");
    flush(path);
    MPI_Barrier(world);
}

/// Returns the seconds until the last rank has finished.
template <class Work>
double seconds_of(const Work& work) {
    MPI_Barrier(world);
    const double start = MPI_Wtime();
    work();
    double seconds = MPI_Wtime() - start;
    MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, world);
    return seconds;
}

double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

void compare(const char* partition, int n_round, int64_t n, const std::string& folder) {
    const Loop loop(partition, n), contiguous("contiguous", n);
    const std::string ours = folder + "/bench_ours.h5", plain = folder + "/bench_plain.h5";
    std::vector<double> saved, written, restored, speed;
    timeloop::Snapshot target = loop.snapshot;
    for (int round = 0; round <= n_round; ++round) {
        const double own = seconds_of([&] { loop.save(ours); });
        const double other = seconds_of([&] { write_plainly(contiguous, plain); });
        const double read = seconds_of([&] {
            timeloop::restore_checkpoint(loop.context.get(), loop.plan.get(), ours, &target,
                                         &loop.orders);
        });
        if (round == 0) continue;  // the first round allocates memory
        saved.push_back(own);
        written.push_back(other);
        restored.push_back(read);
        speed.push_back(other / own);
    }
    if (rank() != 0) return;
    std::printf(
        "%d ranks, %-10s  save %.3f s  plain HDF5 %.3f s  speed %.2f of it  restore %.3f s\n",
        size(), partition, median(saved), median(written), median(speed), median(restored));
    std::remove(ours.c_str());
    std::remove(plain.c_str());
}

}  // namespace

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    const int n_round = argc > 1 ? std::atoi(argv[1]) : 7;
    const int64_t n = argc > 2 ? std::atoll(argv[2]) : 1000000;
    for (const char* const partition : {"contiguous", "scattered"})
        compare(partition, n_round, n, argc > 3 ? argv[3] : ".");
    MPI_Finalize();
}
