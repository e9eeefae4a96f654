// SPDX-License-Identifier: Apache-2.0
#include "tests/coupling/timeloop/interposed_calls.hpp"

#include <dlfcn.h>
#include <hdf5.h>
#include <mpi.h>
#include <sys/types.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>

namespace {

using surrogate::test::Call;
using surrogate::test::Fate;

int countdown = 0;  // 0: nothing is awaited
Call awaited = Call::file;
Fate awaited_fate = Fate::fails;

bool is_it(Call kind) {
    return countdown > 0 && awaited == kind && --countdown == 0;
}

/// The function of this name that the program has replaced.
template <class Function>
Function* next(const char* name) {
    return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

/// A call of the system that moves nothing: -1 or what `real` returns.
template <class Real>
int file_call(const Real& real) {
    if (!is_it(Call::file) || awaited_fate == Fate::is_short) return real();
    if (awaited_fate == Fate::kills_before) ::kill(::getpid(), SIGKILL);
    if (awaited_fate == Fate::kills_after) {
        real();
        ::kill(::getpid(), SIGKILL);
    }
    errno = awaited_fate == Fate::is_interrupted ? EINTR : ENOSPC;
    return -1;
}

/// One that moves n bytes; killed in the middle it has moved half of them.
template <class Real>
ssize_t moving_call(size_t n, const Real& real) {
    if (!is_it(Call::file)) return real(n);
    const size_t half = n / 2 + n % 2;
    if (awaited_fate == Fate::is_short) return real(half);
    if (awaited_fate == Fate::kills_after) real(half);
    if (awaited_fate == Fate::kills_before || awaited_fate == Fate::kills_after)
        ::kill(::getpid(), SIGKILL);
    errno = awaited_fate == Fate::is_interrupted ? EINTR : ENOSPC;
    return -1;
}

}  // namespace

namespace surrogate::test {

void await_call(Call kind, Fate fate, int n) {
    awaited = kind;
    awaited_fate = fate;
    countdown = n;
}

bool end_awaiting() {
    const bool was_reached = countdown == 0;
    countdown = 0;
    return was_reached;
}

}  // namespace surrogate::test

extern "C" {

// ---- the system ----

ssize_t pwrite(int file, const void* data, size_t n, off_t offset) {
    static auto* const real = next<ssize_t(int, const void*, size_t, off_t)>("pwrite");
    return moving_call(n, [&](size_t part) { return real(file, data, part, offset); });
}
ssize_t pwrite64(int file, const void* data, size_t n, off64_t offset) {
    return pwrite(file, data, n, offset);
}
int ftruncate(int file, off_t size) noexcept {
    static auto* const real = next<int(int, off_t)>("ftruncate");
    return file_call([&] { return real(file, size); });
}
int fsync(int file) {
    static auto* const real = next<int(int)>("fsync");
    return file_call([&] { return real(file); });
}
int rename(const char* from, const char* to) noexcept {
    static auto* const real = next<int(const char*, const char*)>("rename");
    return file_call([&] { return real(from, to); });
}
int unlink(const char* path) noexcept {
    static auto* const real = next<int(const char*)>("unlink");
    return file_call([&] { return real(path); });
}

// ---- HDF5: a call that fails is not made, but for those that close ----

#define SURROGATE_HDF5_CALL(result, name, parameters, arguments)  \
    result name parameters {                                      \
        static auto* const real = next<result parameters>(#name); \
        return is_it(Call::hdf5) ? result(-1) : real arguments;   \
    }

SURROGATE_HDF5_CALL(hid_t, H5Dcreate2,
                    (hid_t a, const char* b, hid_t c, hid_t d, hid_t e, hid_t f, hid_t g),
                    (a, b, c, d, e, f, g))
SURROGATE_HDF5_CALL(hid_t, H5Gcreate2, (hid_t a, const char* b, hid_t c, hid_t d, hid_t e),
                    (a, b, c, d, e))
SURROGATE_HDF5_CALL(hid_t, H5Acreate2, (hid_t a, const char* b, hid_t c, hid_t d, hid_t e, hid_t f),
                    (a, b, c, d, e, f))
SURROGATE_HDF5_CALL(hid_t, H5Fcreate, (const char* a, unsigned b, hid_t c, hid_t d), (a, b, c, d))
SURROGATE_HDF5_CALL(hid_t, H5Fopen, (const char* a, unsigned b, hid_t c), (a, b, c))
SURROGATE_HDF5_CALL(hid_t, H5Dopen2, (hid_t a, const char* b, hid_t c), (a, b, c))
SURROGATE_HDF5_CALL(hid_t, H5Gopen2, (hid_t a, const char* b, hid_t c), (a, b, c))
SURROGATE_HDF5_CALL(hid_t, H5Aopen, (hid_t a, const char* b, hid_t c), (a, b, c))
SURROGATE_HDF5_CALL(herr_t, H5Awrite, (hid_t a, hid_t b, const void* c), (a, b, c))
SURROGATE_HDF5_CALL(herr_t, H5Aread, (hid_t a, hid_t b, void* c), (a, b, c))
SURROGATE_HDF5_CALL(hid_t, H5Screate, (H5S_class_t a), (a))
SURROGATE_HDF5_CALL(hid_t, H5Screate_simple, (int a, const hsize_t* b, const hsize_t* c), (a, b, c))
SURROGATE_HDF5_CALL(hid_t, H5Tcopy, (hid_t a), (a))
SURROGATE_HDF5_CALL(hid_t, H5Pcreate, (hid_t a), (a))
SURROGATE_HDF5_CALL(herr_t, H5Pset_userblock, (hid_t a, hsize_t b), (a, b))
SURROGATE_HDF5_CALL(hid_t, H5FDregister, (const H5FD_class_t* a), (a))
SURROGATE_HDF5_CALL(herr_t, H5Gget_info, (hid_t a, H5G_info_t* b), (a, b))

herr_t H5Fclose(hid_t file) {
    static auto* const real = next<herr_t(hid_t)>("H5Fclose");
    const herr_t result = real(file);
    return is_it(Call::hdf5) ? -1 : result;
}

// ---- MPI ----

int MPI_Allreduce(const void* a, void* b, int c, MPI_Datatype d, MPI_Op e, MPI_Comm f) {
    const int result = PMPI_Allreduce(a, b, c, d, e, f);
    return is_it(Call::mpi) ? MPI_ERR_OTHER : result;
}
int MPI_Bcast(void* a, int b, MPI_Datatype c, int d, MPI_Comm e) {
    const int result = PMPI_Bcast(a, b, c, d, e);
    return is_it(Call::mpi) ? MPI_ERR_OTHER : result;
}
int MPI_Allgather(const void* a, int b, MPI_Datatype c, void* d, int e, MPI_Datatype f,
                  MPI_Comm g) {
    const int result = PMPI_Allgather(a, b, c, d, e, f, g);
    return is_it(Call::mpi) ? MPI_ERR_OTHER : result;
}
int MPI_Alltoall(const void* a, int b, MPI_Datatype c, void* d, int e, MPI_Datatype f, MPI_Comm g) {
    const int result = PMPI_Alltoall(a, b, c, d, e, f, g);
    return is_it(Call::mpi) ? MPI_ERR_OTHER : result;
}
int MPI_Alltoallv(const void* a, const int* b, const int* c, MPI_Datatype d, void* e, const int* f,
                  const int* g, MPI_Datatype h, MPI_Comm i) {
    const int result = PMPI_Alltoallv(a, b, c, d, e, f, g, h, i);
    return is_it(Call::mpi) ? MPI_ERR_OTHER : result;
}

}  // extern "C"
