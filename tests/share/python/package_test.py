#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The package surrogate on one rank: arrays, errors, lifetimes, derivatives."""

import gc
import os
import subprocess
import sys
import unittest

try:
    import numpy
except ModuleNotFoundError:
    print("SKIPPED: this Python has no numpy")
    sys.exit(0)

sys.path.insert(0, os.path.join(os.environ["SURROGATE_SHARE"], "python"))
import surrogate  # noqa: E402

path = os.path.join(os.environ["SURROGATE_SHARE"], "models/darcy_flow.safetensors")
sphere_path = os.path.join(os.environ["SURROGATE_SHARE"], "models/shallow_water.safetensors")
n = 60
random = numpy.random.default_rng(1)
x = random.random((n, 2))
k = 3 + 9 * random.random(n)


def open_plan(**options):
    return surrogate.Plan.open(path, x, threads=1, **options)


class Tensor:
    """An array of another package, seen through DLPack alone."""

    def __init__(self, array, device=1):
        self.array, self.device = array, device

    def __dlpack__(self, **keywords):
        return self.array.__dlpack__(**keywords)

    def __dlpack_device__(self):
        return (self.device, 0)


class Arrays(unittest.TestCase):
    def setUp(self):
        self.plan = open_plan()
        self.truth = self.plan.predict(mobility=k)["pressure"]

    def run_with(self, array, output=None):
        self.plan.bind_input("mobility", array, "m^2/(Pa s)")
        pressure = self.plan.bind_output("pressure", output)
        self.plan.run()
        return pressure

    def test_strides_are_bound_without_copies(self):
        table = numpy.zeros((3, n, 2))
        table[1, :, 1] = k
        predicted = numpy.full((n, 3), -1.0)
        self.run_with(table[1, :, 1], predicted[:, 1])
        numpy.testing.assert_array_equal(predicted[:, 1], self.truth)
        self.assertTrue((predicted[:, [0, 2]] == -1).all())
        numpy.testing.assert_array_equal(self.run_with(k[::-1].copy()[::-1]), self.truth)
        table[1, :, 1] = k[::-1]
        self.plan.bind_input("mobility", table[1, :, 1])
        table[1, :, 1] = k  # the plan reads the memory, not a copy
        self.plan.run()
        self.plan.bind_output("pressure", predicted[:, 1])

    def test_blocks_have_the_points_in_c_order(self):
        grid, result = numpy.zeros((8, 12)), numpy.full((8, 12), -1.0)
        grid[1:-1, 1:-1] = k.reshape(6, 10)
        self.run_with(grid[1:-1, 1:-1], result[1:-1, 1:-1])
        numpy.testing.assert_array_equal(result[1:-1, 1:-1].ravel(), self.truth)
        self.assertEqual((result == -1).sum(), 36)

    def test_single_precision_and_dlpack(self):
        as_float = k.astype("float32")
        truth = self.run_with(as_float.astype("float64"))
        numpy.testing.assert_array_equal(self.run_with(as_float), truth)
        predicted = numpy.zeros(n)
        self.run_with(Tensor(k), Tensor(predicted))
        numpy.testing.assert_array_equal(predicted, self.truth)
        with self.assertRaisesRegex(
            TypeError, r"'mobility' is on DLPack device \(2, 0\), expected"
        ):
            self.plan.bind_input("mobility", Tensor(k, device=2))

    def test_arrays_stay_alive(self):
        self.plan.bind_input("mobility", k.copy())
        pressure = self.plan.bind_output("pressure", numpy.zeros(n))
        gc.collect()
        garbage = [numpy.full(n, numpy.nan) for _ in range(100)]
        self.plan.run()
        numpy.testing.assert_array_equal(pressure, self.truth)
        self.assertEqual(len(garbage), 100)

    def test_torch_tensors(self):
        try:
            import torch
        except ModuleNotFoundError:
            self.skipTest("this Python has no torch")
        predicted = torch.zeros(n, dtype=torch.float64)
        self.run_with(torch.from_numpy(k.copy()), predicted)
        numpy.testing.assert_array_equal(predicted.numpy(), self.truth)
        with self.assertRaises(BufferError):
            self.plan.bind_input("mobility", torch.ones(n, requires_grad=True))

    def test_device_arrays_need_a_plan_on_the_device(self):
        class DeviceArray:
            __cuda_array_interface__ = {
                "data": (4096, False),
                "shape": (n,),
                "typestr": "<f8",
                "version": 3,
            }

        with self.assertRaisesRegex(surrogate.NotSupported, "on a device"):
            self.plan.bind_input("mobility", DeviceArray())

    def test_wrong_arrays(self):
        bind = self.plan.bind_input
        with self.assertRaisesRegex(TypeError, "is complex128, expected float32, float64"):
            bind("mobility", k.astype(complex))
        with self.assertRaisesRegex(TypeError, "another byte order"):
            bind("mobility", k.astype(">f8"))
        with self.assertRaisesRegex(TypeError, "of type list, expected a numpy array"):
            bind("mobility", list(k))
        with self.assertRaisesRegex(TypeError, "masked array"):
            bind("mobility", numpy.ma.masked_less(k, 5))
        with self.assertRaisesRegex(surrogate.ShapeError, r"\(59, 1\), the domain asks for \(60"):
            bind("mobility", k[1:])
        with self.assertRaisesRegex(surrogate.ShapeError, "strides of .12,. bytes, expected mult"):
            record = numpy.zeros(n, [("a", "f8"), ("b", "f4")])
            bind("mobility", record["a"])
        with self.assertRaisesRegex(surrogate.InvalidArgument, "the array in .m.$"):
            bind("mobility", k, "m")
        with self.assertRaisesRegex(surrogate.UnknownName, "did you mean 'mobility'"):
            bind("mobilty", k)
        fixed = numpy.zeros(n)
        fixed.flags.writeable = False
        with self.assertRaisesRegex(ValueError, "read-only"):
            self.plan.bind_output("pressure", fixed)
        overlapping = numpy.lib.stride_tricks.as_strided(numpy.zeros(1), (n,), (0,))
        with self.assertRaisesRegex(surrogate.ShapeError, "memory|stride"):
            self.plan.bind_output("pressure", overlapping)
        self.assertTrue(issubclass(surrogate.ShapeError, ValueError))
        numpy.testing.assert_array_equal(self.run_with(k), self.truth)


class Lifetimes(unittest.TestCase):
    def test_closed_objects_raise(self):
        with open_plan() as plan:
            plan.predict(mobility=k)
        for call in (plan.run, plan.describe, lambda: plan.bind_input("mobility", k)):
            with self.assertRaisesRegex(surrogate.InvalidArgument, "the Plan is closed"):
                call()
        plan.close()
        with self.assertRaisesRegex(surrogate.InvalidArgument, "the Context is closed"):
            with surrogate.Context() as context:
                pass
            surrogate.Model(context, path)

    def test_any_order(self):
        context = surrogate.Context(threads=1)
        model, domain = surrogate.Model(context, path), surrogate.Domain(context, x)
        plan = surrogate.Plan(model, domain)
        truth = plan.predict(mobility=k)["pressure"]
        for one in (context, model, domain):
            one.close()
        pressure = plan.bind_output("pressure", numpy.zeros(n))
        plan.run()
        numpy.testing.assert_array_equal(pressure, truth)

    def test_ten_thousand_plans_do_not_leak(self):
        """Resident memory grows by less than 100 bytes per plan."""

        def resident():
            with open("/proc/self/statm", encoding="ascii") as file:
                return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

        context = surrogate.Context(threads=1, check_finite=False)
        model, domain = surrogate.Model(context, path), surrogate.Domain(context, x[:4])

        def make():
            with surrogate.Plan(model, domain) as plan:
                plan.bind_input("mobility", k[:4])
                plan.bind_output("pressure")

        for _ in range(500):
            make()
        before = resident()
        for _ in range(10_000):
            make()
        self.assertLess(resident() - before, 1_000_000)


class Objects(unittest.TestCase):
    def test_model(self):
        context = surrogate.Context(threads=1)
        model = surrogate.Model(context, path)
        self.assertEqual([field.name for field in model.outputs], ["pressure"])
        self.assertEqual(model.card["family"], model.family)
        with open(path, "rb") as file:
            twin = surrogate.Model.from_bytes(context, file.read())
        self.assertEqual(twin.hash, model.hash)
        statistics = model.input_statistics()
        self.assertEqual(statistics.covariance.shape, (len(statistics.mean),) * 2)
        with self.assertRaisesRegex(surrogate.FileError, "none.st"):
            surrogate.Model(context, "/none.st")
        with self.assertRaisesRegex(surrogate.BadFile, "package_test.py"):
            surrogate.Model(context, __file__)

    def test_check_case_of_the_network(self):
        context = surrogate.Context(threads=1)
        case = surrogate.CheckCase(context, path).tensors()
        inputs, truth = case["input/x"][0], case["output/y"][0]
        plan = surrogate.Plan(
            surrogate.Model(context, path), surrogate.Domain(context, inputs[:, :2])
        )
        found = numpy.empty_like(truth)
        plan.run_network({"x": inputs}, {"y": found})
        error = numpy.linalg.norm(found - truth) / numpy.linalg.norm(truth)
        self.assertLess(error, plan.model.check_bound("fp32", False))

    def test_domains(self):
        context = surrogate.Context()
        ids = numpy.arange(n)[::-1]
        domain = surrogate.Domain(context, x, global_id=ids, weight=numpy.ones(n))
        found = domain.points()
        numpy.testing.assert_array_equal(found.x, x)
        numpy.testing.assert_array_equal(found.global_id, ids)
        self.assertIsNone(found.cloud)
        ordering = surrogate.Ordering(domain, 16)
        ordered = ordering.to_canonical(x)
        numpy.testing.assert_array_equal(ordered, x[::-1])
        numpy.testing.assert_array_equal(ordering.to_local(ordered), x)
        domain.update_points(x[:5], global_id=range(5), weight=numpy.ones(5))
        self.assertEqual((domain.n_local, domain.n_clouds), (5, 1))
        with self.assertRaisesRegex(surrogate.ShapeError, r"cloud has shape \(3,\), expected"):
            surrogate.Domain(context, x, cloud=[0, 0, 1])
        with self.assertRaisesRegex(TypeError, "global_id is float64, expected integers"):
            surrogate.Domain(context, x, global_id=numpy.zeros(n))
        rows = [surrogate.partition("scattered", n, rank, 3) for rank in range(3)]
        numpy.testing.assert_array_equal(numpy.sort(numpy.concatenate(rows)), numpy.arange(n))

    def test_sphere(self):
        context = surrogate.Context(threads=1)
        model = surrogate.Model(context, sphere_path)
        kind = model.input_domain
        nodes = surrogate.sphere_nodes(*kind[:3])
        self.assertAlmostEqual(nodes.weight.sum() * kind.n_lon, 1)
        shape, fields = (kind.n_lat, kind.n_lon), {}
        for field in model.inputs:
            fields[field.name] = random.normal(field.mean, field.std, shape)
        plan = surrogate.Plan(model, surrogate.Domain.sphere(context, *kind[:3]))
        truth = plan.predict(fields)["vorticity"]
        flipped = surrogate.Domain.sphere(context, *kind[:3], latitude=nodes.latitude[::-1])
        plan = surrogate.Plan(model, flipped)
        for name, field in fields.items():
            plan.bind_input(name, field[::-1].copy())
        for field in model.outputs:
            plan.bind_output(field.name)
        vorticity = plan.bind_output("vorticity", numpy.zeros(shape))
        plan.run()
        numpy.testing.assert_array_equal(vorticity[::-1].ravel(), truth)
        with self.assertRaisesRegex(surrogate.ShapeError, "expected multiples of the domain's"):
            plan.bind_input("vorticity", fields["vorticity"].T.copy().T)
        with self.assertRaisesRegex(surrogate.ShapeError, r"\(128, 64\), expected \(.., 64, 128\)"):
            plan.bind_input("vorticity", fields["vorticity"].T)

    def test_context(self):
        context = surrogate.Context(threads=1, reproducible=True)
        said = []
        context.set_log(said.append)
        plan = surrogate.Plan(surrogate.Model(context, path), surrogate.Domain(context, x))
        self.assertIn(plan.describe().splitlines()[0], said[-1])
        self.assertEqual((plan.option("reproducible"), plan.option("threads")), ("true", "1"))
        self.assertEqual(context.reduce("max", 3), 3.0)
        numpy.testing.assert_array_equal(context.reduce("sum", [[1, 2]]), [[1, 2]])
        with self.assertRaisesRegex(surrogate.InvalidArgument, "mean"):
            context.reduce("mean", 3)
        with self.assertRaisesRegex(surrogate.UnknownName, "thread"):
            surrogate.Context(thread=1)
        with self.assertRaises(ZeroDivisionError), context.agreed():
            1 / 0
        with self.assertRaisesRegex(TypeError, "expected a communicator"):
            surrogate.Context("world")

    def test_errors_of_runs(self):
        plan = open_plan()
        with self.assertRaisesRegex(surrogate.InvalidArgument, "mobility"):
            plan.run()
        with self.assertRaisesRegex(surrogate.NotFinite, "mobility") as caught:
            plan.predict(mobility=numpy.where(numpy.arange(n) == 7, numpy.nan, k))
        self.assertEqual(caught.exception.status, surrogate.Status.NOT_FINITE)
        plan.predict(mobility=k + 100)
        self.assertEqual(plan.range("mobility").n_outside, n)
        with self.assertRaises(ZeroDivisionError):
            plan.run_with_error(ZeroDivisionError("x"))
        with self.assertRaisesRegex(surrogate.CallbackError, "no data"):
            plan.run_with_error("no data")
        strict = open_plan(range="error")
        with self.assertRaises(surrogate.OutOfRange):
            strict.predict(mobility=k + 100)
        plan.unbind()
        with self.assertRaises(surrogate.InvalidArgument):
            plan.run()


class Derivatives(unittest.TestCase):
    def test_against_differences(self):
        plan = open_plan(gradients="inputs", backend="ref", precision="fp64")
        field = plan.bind_input("mobility", k.copy())
        pressure = plan.bind_output("pressure")
        w = plan.bind_output_gradient("pressure", random.normal(size=n))
        g = plan.bind_input_gradient("mobility")
        plan.run()
        plan.run_backward()
        direction, h = random.normal(size=n), 1e-5
        ends = []
        for sign in (1, -1):
            field[:] = k + sign * h * direction
            plan.run()
            ends.append(pressure @ w)
        slope = (ends[0] - ends[1]) / (2 * h)
        self.assertAlmostEqual(slope, g @ direction, delta=1e-5 * abs(slope))
        field[:] = k
        plan.bind_input_tangent("mobility", direction)
        along = plan.bind_output_tangent("pressure")
        plan.run_tangent()
        self.assertAlmostEqual(slope, along @ w, delta=1e-5 * abs(slope))
        with self.assertRaisesRegex(surrogate.InvalidArgument, "gradients"):
            open_plan().bind_input_gradient("mobility")


class Import(unittest.TestCase):
    def test_without_a_library(self):
        """The import needs no library; the first call names the folders that were searched."""
        code = "import surrogate, numpy; surrogate.Context"
        environment = {**os.environ, "SURROGATE_LIBRARY_DIR": "/none"}
        environment["PYTHONPATH"] = os.path.join(os.environ["SURROGATE_SHARE"], "python")
        subprocess.run([sys.executable, "-c", code], env=environment, check=True)
        found = subprocess.run(
            [sys.executable, "-c", code + "()"], env=environment, capture_output=True, text=True
        )
        self.assertRegex(found.stderr, "ImportError.* is not found, expected /none/libsurrogate.so")


if __name__ == "__main__":
    unittest.main()
