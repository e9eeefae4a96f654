// SPDX-License-Identifier: Apache-2.0
// Writes the parameters of bodies of examples/airflow, and where the points of their meshes are on
// the box that is mapped to a body, for regression.py.
//
//     airflow_shapes SEED BODIES POINTS > FILE
//
// Numbers of 8 bytes. For each body: its 15 parameters, the number n of its points, and n rows of
// six, the direction from the middle of the box and the place in m.
#include <cstdio>
#include <cstdlib>
#include <iterator>

#include "body.hpp"
#include "box_grid.hpp"

namespace {

void write(const double* values, std::size_t n) {
    std::fwrite(values, sizeof(double), n, stdout);
}

}  // namespace

int main(int argc, char** argv) {
    using namespace airflow;
    if (argc != 4) {
        std::fprintf(stderr, "airflow_shapes SEED BODIES POINTS > FILE\n");
        return 2;
    }
    const uint64_t seed = std::strtoull(argv[1], nullptr, 10);
    const int n_body = std::atoi(argv[2]), n_point = std::atoi(argv[3]);
    for (int k = 0; k < n_body; ++k) {
        const CarShape car = random_car(seed + uint64_t(k));
        const Body body = car_body(car);
        const BoxGrid grid = BoxGrid::of_points(n_point, body.extent);
        const double head[] = {car.length,
                               car.width,
                               car.height,
                               car.clearance,
                               car.hood,
                               car.deck,
                               car.windshield,
                               car.roof_end,
                               car.windshield_angle,
                               car.rear_angle,
                               car.diffuser_angle,
                               car.tumblehome,
                               car.roundness,
                               car.wheel_radius,
                               car.wheel_base,
                               double(grid.n_point())};
        write(head, std::size(head));
        for (int64_t p = 0; p < grid.n_point(); ++p) {
            const Vector3 b = grid.direction(grid.point(p)), x = body.at(b);
            const double row[] = {b.x, b.y, b.z, x.x, x.y, x.z};
            write(row, std::size(row));
        }
    }
    return 0;
}
