// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <surrogate/surrogate_mpi.hpp>
#include <vector>

#include "event.hpp"

namespace tracking {

/// Points in a space in which hits of a particle are close together: (hits, width), row by row.
struct Embedding {
    int64_t width = 0;
    std::vector<float> rows;
    double radius = 0;  ///< default radius: nearer hits are joined
};

/// Returns hits by their direction from the vertex: (cos, sin of the azimuth,
/// pseudorapidity). Used without a surrogate: good for straight tracks from one origin.
Embedding embed_by_direction(const std::vector<Hit>& hits);

/// The trained model; contains all calls of libsurrogate except those for files. Every function is
/// collective and throws surrogate::Error, the same on all ranks: no such file, a model of other
/// fields, hits that are not finite.
class Embedder {
public:
    Embedder(MPI_Comm comm, const std::string& model, bool is_reproducible);

    /// Plans the model for the hits; each event is a separate cloud.
    void plan(const std::vector<Hit>& hits);
    /// Returns the embedding of the planned hits.
    Embedding embed(const std::vector<Hit>& hits);

    /// Returns the largest fraction of the hits with an input outside the training data, over the
    /// inputs.
    double fraction_outside() const;
    /// Returns the backend of the plan, such as "backend simd, vector avx2, threads 1".
    std::string how() const;

private:
    surrogate::Context context_;
    surrogate::Model model_;
    std::string reproducible_;
    std::optional<surrogate::Domain> domain_;
    std::optional<surrogate::Plan> plan_;
};

}  // namespace tracking
