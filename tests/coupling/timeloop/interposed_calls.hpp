// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

namespace surrogate::test {

/// System calls that tests put between a checkpoint and the system; interposed_calls.cpp replaces
/// the calls of a program. Calls are counted while something is awaited.
enum class Call { file, hdf5, mpi };
enum class Fate { fails, is_interrupted, is_short, kills_before, kills_after };

/// The n-th call of a kind from now on (1: the next) meets a fate, once.
///   file  pwrite, write, ftruncate, fsync, rename and unlink of this process; fails: with
///         ENOSPC; is_interrupted: with EINTR; is_short: pwrite and write move half; kills: SIGKILL
///   hdf5  calls that make, write, read or close something in a file
///   mpi   collective calls, which are made and then return an error
void await_call(Call kind, Fate fate, int n);

/// Ends that. Returns whether the call was reached.
bool end_awaiting();

}  // namespace surrogate::test
