# SPDX-License-Identifier: Apache-2.0
"""simulate.py beside closed forms: simulate_test.py FOLDER, which has simulate.py."""
import math
import sys
import unittest

sys.path.insert(0, sys.argv.pop(1))
import formulas  # noqa: E402
import simulate  # noqa: E402
from formulas import Layer  # noqa: E402


class Device(simulate.Network):
    """Devices: a reduction takes 8 microseconds in a node of eight, more beyond; a message travels while ranks compute (450 and 48 GB/s)."""

    def reduce(self, ranks, collectives, n_byte):
        return collectives * (8e-6 if ranks <= 8 else 25e-6 + 5e-6 * math.log2(ranks / 8)) + n_byte / (370e9 if ranks <= 8 else 48e9)


def flare_on_devices(n, ranks, latents=128, block_seconds=0.67e-3):
    """Efficiency of one reduction per block, when a block of a million points takes 0.67 ms on one device."""
    tables = [[line._replace(collectives=min(line.collectives, 1)) for line in table] for table in formulas.flare(dict(simulate.FLARE, latents=latents), n, ranks,
                                                                                                              formulas.shares("contiguous", n, ranks))]
    alone = sum(map(simulate.operations, formulas.flare(dict(simulate.FLARE, latents=latents), n, 1, [n])[0]))
    rate = simulate.FLARE["blocks"] * block_seconds * n / 1e6 / alone
    seconds, _ = simulate.simulate(tables, rate, Device())
    return alone * rate / (ranks * seconds)


class Simulation(unittest.TestCase):
    def near(self, found, expected, part=0.05):
        self.assertLessEqual(abs(found - expected), part * expected, f"{found:g}, expected {expected:g}")

    def test_flare_is_its_closed_form(self):
        network, rate = simulate.Network(2e-6, 1e10), 5e-11
        m, c, h, blocks = (simulate.FLARE[key] for key in ("latents", "channels", "heads", "blocks"))
        for n in (10 ** 5, 10 ** 6, 10 ** 8):
            alone = sum(map(simulate.operations, simulate.tables_of("flare", n, 1)[0])) * rate
            for ranks in (1, 2, 16, 64, 1024):
                found, _ = simulate.simulate(simulate.tables_of("flare", n, ranks), rate, network)
                self.near(found, alone / ranks + blocks * math.log2(ranks) * (2 * 2e-6 + 4 * m * (c + 2 * h) / 1e10))

    def test_flare_on_devices_has_the_predicted_efficiencies(self):
        # Strong scaling of 1, 8 and 160 million points, weak of a million on each; published constants of devices.
        predicted = {(10 ** 6, 8): 0.91, (10 ** 6, 64): 0.20, (10 ** 6, 512): 0.02, (8 * 10 ** 6, 8): 0.99, (8 * 10 ** 6, 64): 0.67, (8 * 10 ** 6, 512): 0.16,
                     (160 * 10 ** 6, 64): 0.98, (160 * 10 ** 6, 512): 0.79, (160 * 10 ** 6, 1024): 0.63, (64 * 10 ** 6, 64): 0.94, (512 * 10 ** 6, 512): 0.92}
        for (n, ranks), efficiency in predicted.items():
            self.assertLessEqual(abs(flare_on_devices(n, ranks) - efficiency), 0.01 + 0.05 * efficiency, f"{n} points on {ranks}")
        self.near(flare_on_devices(8 * 10 ** 6, 64, 2048, 8.02e-3), 0.95)

    def test_a_ring_hides_the_shorter_of_work_and_messages(self):
        for work, n_byte in ((1.0, 1e6), (1e-3, 1e9)):
            ranks = 8
            tables = [[Layer("attention", flops=2 * work, bytes=n_byte, collectives=ranks - 1, call="ring")]] * ranks
            found, _ = simulate.simulate(tables, 1, simulate.Network(1e-6, 1e9))
            step = max(1e-6 + n_byte / (ranks - 1) / 1e9, work / ranks)
            self.near(found, work / ranks + (ranks - 1) * step)

    def test_the_slowest_rank_counts(self):
        tables = [[Layer("a", flops=2), Layer("b", flops=6, bytes=10, collectives=1, call="reduce")], [Layer("a", flops=20), Layer("b", bytes=10, collectives=1, call="reduce")]]
        found, work = simulate.simulate(tables, 1, simulate.Network(0.5, 10))
        self.assertEqual((found, work), (10 + 0.5 + 1, 10))

    def test_formulas_divide_all_work(self):
        for name in simulate.CASES:
            n = 40_000
            alone = sum(map(simulate.operations, simulate.tables_of(name, n, 1)[0]))
            for ranks in (2, 16):
                together = sum(simulate.operations(line) for table in simulate.tables_of(name, n, ranks) for line in table)
                self.assertGreaterEqual(together, 0.999 * alone, name)
                self.assertLessEqual(together, (2.5 if name in ("hept", "sequoia") else 1.001) * alone, name)


if __name__ == "__main__":
    unittest.main()
