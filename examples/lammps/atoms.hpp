// SPDX-License-Identifier: Apache-2.0
#ifndef SURROGATE_LAMMPS_ATOMS_HPP
#define SURROGATE_LAMMPS_ATOMS_HPP

#include <cstdint>
#include <optional>
#include <string>
#include <surrogate/surrogate_mpi.hpp>
#include <vector>

/// Access to this rank's part of LAMMPS' atoms, in LAMMPS' own arrays. Ghost atoms are stored after
/// the owned ones and are left out.
class Atoms {
public:
    explicit Atoms(void* lammps) : lammps_(lammps) {}

    /// Updates the view after atoms have moved, appeared or left. Tags become 64-bit ids in memory
    /// that is reused.
    void look(int n, const int* tag, double** x);
    /// Returns the atoms of the last look().
    surrogate_points points() const;
    int64_t n() const { return static_cast<int64_t>(ids_.size()); }

    /// Returns the per-atom numbers of a name, such as "q" or "v.x"; throws std::invalid_argument
    /// with the existing names.
    surrogate_array column(const std::string& name) const;
    /// Finds the per-atom numbers of a name. Returns nothing if LAMMPS does not have them.
    std::optional<surrogate_array> find(const std::string& name) const;
    /// Returns the numbers of a per-atom compute, evaluated now if they are outdated. Collective.
    surrogate_array compute(const std::string& id) const;

private:
    std::vector<std::string> names() const;

    void* lammps_;
    std::vector<int64_t> ids_;
    double* x_ = nullptr;
};

surrogate::Context context_of(void* lammps);
/// Ends LAMMPS if its run style is respa, which calls a fix external before the first step and
/// never again. Every call of the fix checks this, because the input script may change the style.
/// Collective.
void require_calls(void* lammps);
/// Ends LAMMPS on all ranks, with this text. Collective, unless the status is MPI or BROKEN, when
/// other ranks may wait in another call.
[[noreturn]] void end_lammps(void* lammps, surrogate_status status, const std::string& text);
/// Runs `work`, which may fail on some ranks: then LAMMPS ends, with the text of the first failed
/// rank. Collective.
template <class Work>
void together(void* lammps, const surrogate::Context& context, const Work& work) {
    surrogate_status status = SURROGATE_SUCCESS;
    std::string text;
    try {
        work();
    } catch (const surrogate::Error& error) {
        status = error.status();
        text = error.what();
    } catch (const std::exception& error) {
        status = SURROGATE_INVALID_ARGUMENT;
        text = error.what();
    }
    status = surrogate_context_agree(context.get(), status, text.c_str());
    if (status != SURROGATE_SUCCESS) end_lammps(lammps, status, surrogate_error(context.get()));
}

#endif
