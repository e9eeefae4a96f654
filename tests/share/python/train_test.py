#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trainer and TimeLoop of the package surrogate on one rank."""

import os
import sys
import tempfile
import unittest

try:
    import numpy
except ModuleNotFoundError:
    print("SKIPPED: this Python has no numpy")
    sys.exit(0)

sys.path.insert(0, os.path.join(os.environ["SURROGATE_SHARE"], "python"))
import surrogate  # noqa: E402

path = os.path.join(os.environ["SURROGATE_SHARE"], "models/shallow_water.safetensors")
random = numpy.random.default_rng(2)
n = 80
x = random.random((n, 2))
field = random.normal(size=n)
target = numpy.sin(3 * x[:, 0]) + field

axis = {"role": "coordinate", "unit": "m", "mean": 0.5, "std": 0.3}
card = {
    "format": 1,
    "family": "flare",
    "network": {
        "model": "FLAREModel",
        "in_dim": 3,
        "out_dim": 1,
        "channel_dim": 16,
        "num_heads": 2,
        "num_latents": 8,
        "num_blocks": 1,
    },
    "inputs": [
        {"name": "x", "axis": 0, **axis},
        {"name": "y", "axis": 1, **axis},
        {"name": "f", "unit": "m", "mean": 0, "std": 1, "min": -1, "max": 1},
    ],
    "outputs": [{"name": "u", "unit": "K", "mean": 0, "std": 1}],
}


def make(context, **settings):
    """Returns a trainer of a new model with all arrays bound."""
    model = surrogate.Model.initialize(context, card, seed=3)
    plan = surrogate.Plan(model, surrogate.Domain(context, x), gradients=True)
    plan.bind_input("f", field.copy(), "m")
    trainer = surrogate.Trainer(plan, learning_rate=3e-3, seed=1, **settings)
    return trainer


class Training(unittest.TestCase):
    def setUp(self):
        self.context = surrogate.Context(threads=1, reproducible=True)

    def test_steps_lower_the_loss(self):
        trainer = make(self.context, ema_decay=0.9)
        trainer.bind_target("u", target.copy(), "K")
        reports = [trainer.step() for _ in range(60)]
        self.assertLess(reports[-1].loss, 0.5 * reports[0].loss)
        self.assertEqual((reports[-1].step, reports[-1].was_skipped), (60, False))
        loss, errors = trainer.validate()
        self.assertAlmostEqual(loss, errors[0], places=6)
        self.assertEqual(trainer.end_validation(), (loss, True))
        self.assertGreater(trainer.widen_ranges(), 0)
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, "new.safetensors")
            trainer.save_model(file, "best")
            prediction = surrogate.Plan.open(file, x).predict(f=field)["u"]
            error = numpy.linalg.norm(prediction - target) / numpy.linalg.norm(target)
            self.assertAlmostEqual(error, loss, places=4)
            checkpoint = os.path.join(folder, "checkpoint")
            trainer.save(checkpoint, "sample 7")
            after = trainer.step().loss
            twin = make(self.context, ema_decay=0.9)
            twin.bind_target("u", target)
            self.assertEqual(twin.restore(checkpoint), "sample 7")
            self.assertEqual(twin.step().loss, after)
        with self.assertRaisesRegex(surrogate.InvalidArgument, "'last', expected weights"):
            trainer.save_model("x", "last")

    def test_own_loss_is_the_built_in_one(self):
        """loss=custom with the derivatives of the mean square gives the steps of loss=mse."""
        own, built_in = make(self.context, loss="custom"), make(self.context, loss="mse")
        built_in.bind_target("u", target)
        u = own.plan.bind_output("u")
        derivative = own.bind_gradient("u", numpy.zeros(n), "K")
        for _ in range(5):
            own.forward()
            derivative[:] = 2 * (u - target) / n
            own.backward(numpy.mean((u - target) ** 2))
            report, expected = own.apply(), built_in.step()
            self.assertAlmostEqual(report.loss, expected.loss, delta=1e-5 * expected.loss)

    def test_reservoir_and_errors(self):
        trainer = make(self.context, reservoir=4)
        with self.assertRaisesRegex(surrogate.InvalidArgument, "target"):
            trainer.step()
        trainer.bind_target("u", target)
        self.assertEqual([trainer.reservoir_add() for _ in range(5)], [1, 2, 3, 4, 4])
        self.assertEqual(trainer.reservoir_step(3).step, 3)
        self.assertEqual(trainer.counter("samples_offered"), 5)
        with self.assertRaisesRegex(surrogate.UnknownName, "learning_rate"):
            surrogate.Trainer(trainer.plan, learning_rat=1)
        with self.assertRaisesRegex(surrogate.ShapeError, "79"):
            trainer.bind_target("u", target[1:])

    def test_plan_and_trainer_close_in_any_order(self):
        trainer = make(self.context)
        trainer.bind_target("u", target.copy())
        trainer.plan.close()
        trainer.step()
        trainer.close()
        with self.assertRaisesRegex(surrogate.InvalidArgument, "the Trainer is closed"):
            trainer.step()


class Loops(unittest.TestCase):
    def setUp(self):
        context = surrogate.Context(reproducible=True)
        model = surrogate.Model(context, path)
        kind = model.input_domain
        self.shape = (kind.n_lat, kind.n_lon)
        self.plan = surrogate.Plan(model, surrogate.Domain.sphere(context, *kind[:3]))
        self.state = {one.name: numpy.full(self.shape, one.mean) for one in model.inputs}
        self.units = {one.name: one.unit for one in model.inputs}

    def loop(self, **options):
        loop = surrogate.TimeLoop(self.plan, distance="off", drift="off", **options)
        for name, array in self.state.items():
            loop.bind(name, array, self.units[name])
        return loop

    def test_steps_advance_arrays_in_place(self):
        first = {name: array.copy() for name, array in self.state.items()}
        truth = self.plan.predict(first)
        loop = self.loop(range="warn", bounds="off")
        count = loop.bind_state("count", numpy.zeros(self.shape).ravel())
        loop.snapshot()
        self.assertEqual(loop.step(600), surrogate.StepOutcome.ACCEPTED)
        for name, array in self.state.items():
            numpy.testing.assert_array_equal(array.ravel(), truth[name])
        self.assertEqual((loop.time, loop.n_step), (600.0, 1))
        with tempfile.TemporaryDirectory() as folder:
            loop.save(os.path.join(folder, "state.h5"))
            count[:] = 1
            loop.rollback()
            numpy.testing.assert_array_equal(self.state["vorticity"], first["vorticity"])
            self.assertEqual(count.sum(), 0)
            loop.restore(os.path.join(folder, "state.h5"))
        numpy.testing.assert_array_equal(self.state["vorticity"].ravel(), truth["vorticity"])
        self.assertEqual(loop.rollout(2, 600), (2, surrogate.StepOutcome.ACCEPTED))
        self.assertIn("steps", loop.report())

    def test_guards_and_fallback(self):
        loop = self.loop(range="fallback", bounds="off")
        self.state["vorticity"][:] = 1.0
        said = []
        loop.set_log(said.append)
        self.assertEqual(loop.step(600), surrogate.StepOutcome.REJECTED)
        self.assertEqual(loop.guard("range").field, "vorticity")
        self.assertIn("vorticity", loop.reason())
        self.assertTrue(said)
        calls = []
        loop.set_fallback(lambda time_s, dt_s: calls.append((time_s, dt_s)))
        self.assertEqual(loop.step(600), surrogate.StepOutcome.FALLBACK)
        self.assertEqual((calls, loop.time), ([(0.0, 600.0)], 600.0))

        def fail(time_s, dt_s):
            raise KeyError("no solver")

        loop.set_fallback(fail)
        with self.assertRaisesRegex(KeyError, "no solver"):
            loop.step(600)
        self.assertEqual(loop.n_step, 1)
        with self.assertRaisesRegex(surrogate.CallbackError, "no array"):
            loop.step_with_error("no array")
        with self.assertRaisesRegex(surrogate.UnknownName, "range"):
            loop.set("rang", "off")
        loop.unbind()
        with self.assertRaises(surrogate.InvalidArgument):
            loop.step(600)


if __name__ == "__main__":
    unittest.main()
