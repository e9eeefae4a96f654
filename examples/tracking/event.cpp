// SPDX-License-Identifier: Apache-2.0
#include "event.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "exchange.hpp"
#include "random.hpp"
#include "vertex.hpp"

namespace tracking {

namespace {

using std::numbers::pi;
constexpr double highest_eta = 2.5, min_momentum = 0.3, max_momentum = 100;
constexpr double sensor_mm = 0.3;       // thickness
constexpr double resolution_mm = 0.02;  // error of a position on a sensor
constexpr double direction_rad = 0.1;   // error of a direction from the shape of a cluster
/// Mean over all particles of seeds 1 .. 20, with sensors that miss no hit (EventTest measures it).
constexpr double hits_per_particle = 6.55;
constexpr int64_t ids_per_thing = 32;  // more than the number of layers

double eta_of(double radius, double z) {
    return std::asinh(z / radius);
}

double wrapped(double angle) {
    return std::remainder(angle, 2 * pi);
}

/// Returns the members that all hits have: position and direction from the origin.
Hit hit_at(const Position& x, std::size_t layer) {
    Hit hit{};
    hit.layer = static_cast<int32_t>(layer);
    hit.radius = std::hypot(x[0], x[1]);
    hit.azimuth = std::atan2(x[1], x[0]);
    hit.z = x[2];
    return hit;
}

/// Computes the cluster of a path in a sensor: its length along the beam (or the radius), around
/// it, and through the sensor; all blurred as by pixels. eta, azimuth: of the direction.
void set_cluster(double eta, double azimuth, const Random& random, uint32_t draw, Hit* hit) {
    const auto n = random.normal(draw), m = random.normal(draw + 1);
    eta += direction_rad * std::cosh(eta) * n[0];  // a polar angle blurred by direction_rad
    azimuth += direction_rad * n[1];
    const double across = std::sin(azimuth - hit->azimuth), out = std::cos(azimuth - hit->azimuth);
    const double along = std::sinh(eta);
    const bool is_barrel = layers[std::size_t(hit->layer)].is_barrel;
    // Components along the sensor, around the beam, and through the sensor.
    const double u = is_barrel ? along : out, w = is_barrel ? out : along;
    const double through = std::max(std::abs(w), 0.05 * std::hypot(u, across));
    hit->size_along = sensor_mm * std::abs(u) / through + 0.01 * std::abs(m[0]);
    hit->size_across = sensor_mm * std::abs(across) / through + 0.01 * std::abs(m[1]);
    hit->size_depth = sensor_mm * (1 + 0.05 * m[2]);
    const double path = std::sqrt(u * u + across * across + w * w) / through;
    hit->charge = path * std::exp(0.25 * m[3]);
    hit->local_eta = std::atan2(u, std::abs(w));
    hit->local_phi = std::atan2(across, std::abs(w));
    hit->global_eta = std::clamp(eta, -4.0, 4.0);
    hit->global_phi = wrapped(azimuth);
}

void move_to_owners(MPI_Comm comm, std::vector<Hit>* hits) {
    const int n_rank = size_of(comm);
    std::vector<std::vector<Hit>> to(static_cast<std::size_t>(n_rank));
    for (const Hit& hit : *hits) to[std::size_t(sector_of(hit.azimuth, n_rank))].push_back(hit);
    *hits = exchange_rows(comm, to);
    std::sort(hits->begin(), hits->end(), [](const Hit& a, const Hit& b) { return a.id < b.id; });
}

}  // namespace

int64_t n_noise_of(const EventShape& shape) {
    return std::llround(shape.noise * double(shape.n_hit));
}

int64_t n_particle_of(const EventShape& shape) {
    const double n_hit = double(shape.n_hit - n_noise_of(shape));
    return std::max<int64_t>(1, std::llround(n_hit / (hits_per_particle * shape.efficiency)));
}

Particle particle_of(uint64_t seed, const EventShape& shape, int64_t number) {
    const int64_t collision = number % shape.n_collision;
    const auto beam = Random(seed, Stream::collision, collision).normal(0);
    const auto u = Random(seed, Stream::particle, number).uniform(0);
    Particle particle{};
    // The momentum follows a power law; the first collision is the triggered one and has a harder
    // spectrum.
    const double power = collision == 0 ? 1.6 : 2.6;
    particle.momentum = std::min(max_momentum, min_momentum * std::pow(1 - u[0], -1 / power));
    particle.eta = highest_eta * (2 * u[1] - 1);
    particle.charge = u[3] < 0.5 ? -1 : 1;
    particle.helix = {{0.02 * beam[0], 0.02 * beam[1], 50 * beam[2]},
                      pi * (2 * u[2] - 1),
                      std::sinh(particle.eta),
                      curvature_of(particle.momentum, particle.charge)};
    return particle;
}

void add_particle(uint64_t seed, const EventShape& shape, int64_t event, int64_t number,
                  std::vector<Hit>* hits) {
    const Particle particle = particle_of(seed, shape, number);
    const Random random(seed, Stream::hit, number);
    const int64_t n_thing = n_particle_of(shape) + n_noise_of(shape);
    const std::size_t first = hits->size();
    for (std::size_t k = 0; k < n_layer; ++k) {
        const std::optional<double> length = layers[k].crossing(particle.helix);
        const auto draw = static_cast<uint32_t>(4 * k);
        if (!length || random.uniform(draw)[0] > shape.efficiency) continue;
        Position x = particle.helix.at(*length);
        const double radius = std::hypot(x[0], x[1]);
        const auto blur = random.normal(draw + 1);
        Hit hit = hit_at(x, k);
        hit.azimuth = wrapped(hit.azimuth + resolution_mm * blur[0] / radius);
        (layers[k].is_barrel ? hit.z : hit.radius) += resolution_mm * blur[1];
        set_cluster(particle.eta, particle.helix.azimuth_at(*length), random, draw + 2, &hit);
        hit.event = event;
        hit.particle = event * n_thing + number;
        hit.id = hit.particle * ids_per_thing + int64_t(k);
        hit.momentum = particle.momentum;
        hits->push_back(hit);
    }
    for (std::size_t h = first; h < hits->size(); ++h)
        (*hits)[h].n_of_particle = static_cast<int32_t>(hits->size() - first);
}

void add_noise(uint64_t seed, const EventShape& shape, int64_t event, int64_t number,
               std::vector<Hit>* hits) {
    const Random random(seed, Stream::noise, number);
    const auto u = random.uniform(0), v = random.uniform(1);
    double whole = 0;
    for (const Layer& layer : layers) whole += layer.area();
    double left = u[0] * whole;
    std::size_t k = 0;
    while (k + 1 < n_layer && left > layers[k].area()) left -= layers[k++].area();
    const Layer& layer = layers[k];
    const double low = layer.low, high = layer.high, azimuth = pi * (2 * u[1] - 1);
    const double radius =
        layer.is_barrel ? layer.at : std::sqrt(low * low + u[2] * (high * high - low * low));
    const double z = layer.is_barrel ? low + u[2] * (high - low) : layer.at;
    Hit hit = hit_at({radius * std::cos(azimuth), radius * std::sin(azimuth), z}, k);
    // Its cluster looks like the cluster of a particle with any momentum and any origin near the
    // middle.
    set_cluster(eta_of(radius, z - 100 * (2 * v[0] - 1)), hit.azimuth + 0.3 * (2 * v[1] - 1),
                random, 2, &hit);
    hit.event = event;
    hit.particle = -1;
    const int64_t n_particle = n_particle_of(shape), n_thing = n_particle + n_noise_of(shape);
    hit.id = (event * n_thing + n_particle + number) * ids_per_thing;
    hits->push_back(hit);
}

int sector_of(double azimuth, int n_rank) {
    const auto sector = static_cast<int>(std::floor((azimuth + pi) / (2 * pi) * n_rank));
    return std::clamp(sector, 0, n_rank - 1);
}

std::vector<Hit> read_events(MPI_Comm comm, uint64_t first_seed, int64_t n_event,
                             const EventShape& shape) {
    const int64_t n_particle = n_particle_of(shape), n_thing = n_particle + n_noise_of(shape);
    const LocalRange mine(comm, n_event * n_thing);
    std::vector<Hit> hits;
    for (int64_t i = mine.first; i < mine.last; ++i) {
        const int64_t event = i / n_thing, number = i % n_thing;
        const uint64_t seed = first_seed + static_cast<uint64_t>(event);
        if (number < n_particle)
            add_particle(seed, shape, event, number, &hits);
        else
            add_noise(seed, shape, event, number - n_particle, &hits);
    }
    move_to_owners(comm, &hits);
    set_vertices(comm, n_event, &hits);
    return hits;
}

}  // namespace tracking
