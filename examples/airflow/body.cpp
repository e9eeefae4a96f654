// SPDX-License-Identifier: Apache-2.0
#include "body.hpp"

#include <algorithm>
#include <cstdio>
#include <numbers>

namespace airflow {

namespace {

/// Returns a smooth step from 0 at t <= 0 to 1 at t >= 1, with two continuous derivatives. Its
/// largest derivative is 15 / 8.
double step(double t) {
    t = std::clamp(t, 0.0, 1.0);
    return t * t * t * (10 + t * (6 * t - 15));
}

/// Returns a smooth bump: 1 at t = 0, 0 at |t| >= 1, with two continuous derivatives.
double bump(double t) {
    const double s = std::max(0.0, 1 - t * t);
    return s * s * s;
}

double tangent(double degrees) {
    return std::tan(degrees * std::numbers::pi / 180);
}

/// Maps the direction b to the unit sphere of the p-norm: a box with rounded edges.
Vector3 rounded_box(const Vector3& b, double p) {
    const auto power = [p](double value) { return std::pow(std::abs(value), p); };
    return std::pow(power(b.x) + power(b.y) + power(b.z), -1 / p) * b;
}

/// Heights of a car above the ground as functions of the position.
class Outline {
public:
    explicit Outline(const CarShape& car) : car_(car) {}

    /// Returns the height of hood, cabin and deck at `x`, from 0 at the nose.
    double top(double x) const {
        const double roof = car_.height, hood = car_.hood * roof, deck = car_.deck * roof;
        const double rise = std::max((roof - hood) / tangent(car_.windshield_angle), min_step);
        const double fall = std::max((roof - deck) / tangent(car_.rear_angle), min_step);
        return hood + (roof - hood) * step((x - car_.windshield * car_.length) / rise) -
               (roof - deck) * step((x - car_.roof_end * car_.length) / fall);
    }

    /// Returns the height of the floor and the wheels.
    double bottom(double x, double y) const {
        const double middle = car_.length / 2,
                     axle = middle + std::copysign(car_.wheel_base / 2, x - middle);
        const double behind = std::max(0.0, x - 0.75 * car_.length);
        const double floor = car_.clearance + tangent(car_.diffuser_angle) * behind;
        const double wheel = bump((x - axle) / car_.wheel_radius) *
                             bump((std::abs(y) - 0.34 * car_.width) / (0.18 * car_.width));
        return floor - wheel * (car_.clearance - wheel_gap);
    }

private:
    /// Shorter steps (m) would be edges that few panels resolve.
    static constexpr double min_step = 0.8;
    /// Distance of the wheels from the ground (m): a source panel and its image must not be too
    /// close.
    static constexpr double wheel_gap = 0.08;
    const CarShape& car_;
};

Vector3 car_point(const CarShape& car, const Vector3& direction) {
    const Vector3 q = rounded_box(direction, car.roundness);
    const Outline outline(car);
    const double x = (q.x + 1) / 2 * car.length;
    const double plan =
        1 - 0.12 * q.x * q.x * q.x * q.x;  // seen from above, nose and tail are narrower
    const double y = q.y * plan * car.width / 2;
    const double bottom = outline.bottom(x, y);
    const double z = bottom + (q.z + 1) / 2 * (outline.top(x) - bottom);
    const double belt = car.hood * car.height;
    const double cabin = step((z - 0.7 * belt) / (car.height - 0.7 * belt));
    return {x, y * (1 - car.tumblehome * cabin), z};
}

/// Numbers from a seed (splitmix64), the same on every machine.
class Random {
public:
    explicit Random(uint64_t seed) : state_(seed) {}
    double between(double low, double high) {
        return low + (high - low) * double(next() >> 11) * 0x1p-53;
    }

private:
    uint64_t next() {
        uint64_t z = (state_ += 0x9e3779b97f4a7c15);
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
        z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
        return z ^ (z >> 31);
    }
    uint64_t state_;
};

}  // namespace

Vector3 normal_at(const Body& body, const Vector3& direction) {
    const Vector3 b = unit(direction);
    const Vector3 axis = std::abs(b.x) < 0.6 ? Vector3{1, 0, 0} : Vector3{0, 1, 0};
    const Vector3 s = unit(cross(axis, b)), t = cross(b, s);  // s, t, b form a right-handed system
    // The error is 1e-16 / h from rounding plus h^2 from the third derivative: 1e-10 together.
    constexpr double h = 1e-5;
    const auto along = [&](const Vector3& d) { return body.at(b + h * d) - body.at(b - h * d); };
    return unit(cross(along(s), along(t)));
}

Body sphere(double radius) {
    return {{1, 1, 1}, [radius](const Vector3& b) { return radius * unit(b); }};
}

CarShape random_car(uint64_t seed) {
    Random random(seed);
    CarShape car{};
    car.length = random.between(3.7, 5.0);
    car.width = random.between(1.65, 1.95);
    car.height = random.between(1.30, 1.75);
    car.clearance = random.between(0.15, 0.24);
    car.hood = random.between(0.56, 0.68);
    car.deck = random.between(0.62, 0.95);
    car.windshield = random.between(0.18, 0.28);
    car.roof_end = random.between(0.60, 0.78);
    car.windshield_angle = random.between(26, 40);
    car.rear_angle = random.between(14, 40);
    car.diffuser_angle = random.between(0, 9);
    car.tumblehome = random.between(0.08, 0.24);
    car.roundness = random.between(3.6, 5.5);
    car.wheel_radius = random.between(0.32, 0.40);
    car.wheel_base = random.between(0.58, 0.64) * car.length;
    return car;
}

std::string describe(const CarShape& car) {
    char text[160];
    std::snprintf(
        text, sizeof text,
        "%.2f m long, %.2f m wide, %.2f m high, floor %.2f m above the ground, rear %.0f degrees",
        car.length, car.width, car.height, car.clearance, car.rear_angle);
    return text;
}

Body car_body(const CarShape& car) {
    return {{car.length, car.width, car.height - car.clearance},
            [car](const Vector3& b) { return car_point(car, b); }};
}

}  // namespace airflow
