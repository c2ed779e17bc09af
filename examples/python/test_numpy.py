#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of tilewright.py with NumPy arrays on the host device. Exit code 77 without NumPy."""
import ctypes
import gc
import sys
import unittest

import tilewright as tw

try:
    import numpy
except ImportError:
    numpy = None


class Numpy(unittest.TestCase):
    def setUp(self):
        self.device = tw.Device("host")
        self.stream = self.device.stream()

    def wait(self, plan):
        plan.run(self.stream)
        self.stream.synchronize()

    def test_a_transpose_of_a_window(self):
        x = numpy.arange(100 * 90, dtype=numpy.float32).reshape(100, 90)
        y = numpy.zeros((60, 50), numpy.float32)
        self.wait(self.device.copy(x[7:57, 11:71].T, y))
        self.assertTrue((y == x[7:57, 11:71].T).all())

    def test_gather_and_scatter(self):
        table = numpy.random.rand(50, 24).astype(numpy.float32)
        index = numpy.array([3, 49, 0, 7], numpy.int64)
        packed = numpy.zeros((4, 24), numpy.float32)
        self.wait(self.device.gather(table, index, packed))
        self.assertTrue((packed == table[index]).all())
        back, wanted = numpy.zeros_like(table), numpy.zeros_like(table)
        wanted[index] = packed
        self.wait(self.device.scatter(packed, index, back))
        self.assertTrue((back == wanted).all())

    def test_gemm_in_every_order(self):
        rng = numpy.random.default_rng(1)
        a = rng.integers(-4, 5, (33, 40)).astype(numpy.float16)
        b = rng.integers(-4, 5, (40, 17)).astype(numpy.float16)
        wanted = a.astype(numpy.float32) @ b.astype(numpy.float32)
        for first in (a, numpy.asfortranarray(a)):
            for second in (b, numpy.asfortranarray(b)):
                out = numpy.zeros((33, 17), numpy.float32)
                self.wait(self.device.gemm(first, second, out))
                self.assertTrue((out == wanted).all())
                self.wait(self.device.gemm(first, second, out, alpha=2.0, beta=1.0))
                self.assertTrue((out == 3 * wanted).all())

    def test_scaled_products(self):
        rng = numpy.random.default_rng(5)
        a, b = rng.integers(-8, 9, (9, 300)).astype(numpy.int8), rng.integers(-8, 9, (300, 140)).astype(numpy.int8)
        exact = numpy.zeros((9, 140), numpy.int32)
        self.wait(self.device.gemm(a, b, exact))
        self.assertTrue((exact == a.astype(numpy.int32) @ b.astype(numpy.int32)).all())

        def scales(*shape):
            return 2.0 ** rng.integers(-1, 2, shape).astype(numpy.float32)

        def wide(of, axis, end):
            return numpy.repeat(of, 128, axis=axis).take(range(end), axis=axis)
        of_a, of_b, blocks = scales(9, 3), scales(3, 140), scales(3, 2)
        k_of_a, k_of_b = wide(of_a, 1, 300), wide(of_b, 0, 300)
        k_of_blocks = wide(wide(blocks, 0, 300), 1, 140)
        one, rows, columns = scales(1), scales(9), scales(140)
        out = numpy.zeros((9, 140), numpy.float32)
        for first, second, times_a, times_b in (
                (one, one, one, one), (rows, columns, rows[:, None], columns),
                (of_a, of_b, k_of_a, k_of_b), (of_a, blocks, k_of_a, k_of_blocks),
                (numpy.asfortranarray(of_a), numpy.asfortranarray(blocks), k_of_a, k_of_blocks)):
            out[:] = 0
            self.wait(self.device.gemm(a, b, out, a_scale=first, b_scale=second))
            self.assertTrue((out == (a * times_a).astype(numpy.float32) @ (b * times_b).astype(numpy.float32)).all())
        with self.assertRaises(ValueError):
            self.device.gemm(a, b, out, a_scale=rows[:8], b_scale=columns)
        with self.assertRaises(tw.Error):
            self.device.gemm(a, b, out, a_scale=rows)

    def test_groups_of_rows_with_a_matrix_each(self):
        rng = numpy.random.default_rng(3)
        a = rng.integers(-4, 5, (20, 24)).astype(numpy.float16)
        b = rng.integers(-4, 5, (4, 24, 16)).astype(numpy.float16)
        bias = rng.integers(-9, 10, (4, 16)).astype(numpy.float32)
        for kind in (numpy.int32, numpy.int64):
            ends = numpy.zeros(4, kind)
            for second in (b, numpy.ascontiguousarray(b.transpose(0, 2, 1)).transpose(0, 2, 1)):
                out = numpy.zeros((20, 16), numpy.float32)
                plan = self.device.grouped(a, second, ends, out, alpha=2.0, bias=bias, activation=tw.ACTIVATION_RELU)
                for ends[:] in ((3, 3, 10, 18), (20, 20, 20, 20), (0, 1, 2, 3)):
                    out[:] = -1
                    self.wait(plan)
                    wanted, begin = numpy.full((20, 16), -1, numpy.float32), 0
                    for group, end in enumerate(ends):
                        rows = 2 * (a[begin:end].astype(numpy.float32) @ b[group].astype(numpy.float32))
                        wanted[begin:end], begin = numpy.maximum(rows + bias[group], 0), end
                    self.assertTrue((out == wanted).all())

    def test_groups_of_rows_with_scales(self):
        rng = numpy.random.default_rng(7)
        a = rng.integers(-8, 9, (12, 300)).astype(numpy.int8)
        b = rng.integers(-8, 9, (3, 300, 140)).astype(numpy.int8)
        ends = numpy.array([5, 5, 12], numpy.int32)

        def scales(*shape):
            return 2.0 ** rng.integers(-1, 2, shape).astype(numpy.float32)

        def wide(of, axis, end):
            return numpy.repeat(of, 128, axis=axis).take(range(end), axis=axis)
        one, each, rows, columns = scales(1), scales(3), scales(12), scales(3, 140)
        of_a, of_b, blocks = scales(12, 3), scales(3, 3, 140), scales(3, 3, 2)
        k_of_a, k_of_b, k_of_blocks = wide(of_a, 1, 300), wide(of_b, 1, 300), wide(wide(blocks, 1, 300), 2, 140)
        other = numpy.ascontiguousarray(blocks.transpose(0, 2, 1)).transpose(0, 2, 1)
        for first, second, times_a, times_b in (
                (one, each, one, each[:, None, None]), (rows, columns, rows[:, None], columns[:, None]),
                (of_a, of_b, k_of_a, k_of_b), (of_a, blocks, k_of_a, k_of_blocks), (of_a, other, k_of_a, k_of_blocks)):
            out = numpy.zeros((12, 140), numpy.float32)
            self.wait(self.device.grouped(a, b, ends, out, a_scale=first, b_scale=second))
            left, right = (a * times_a).astype(numpy.float32), (b * times_b).astype(numpy.float32)
            self.assertTrue((out == numpy.concatenate([left[:5] @ right[0], left[5:] @ right[2]])).all())
        with self.assertRaises(ValueError):
            self.device.grouped(a, b, ends, out, a_scale=rows, b_scale=columns[:2])
        with self.assertRaises(tw.Error):
            self.device.grouped(a, b, ends, out, a_scale=rows)

    def test_a_grouped_product_whose_sums_need_a_workspace(self):
        a, b = numpy.ones((2, 9000), numpy.float16), numpy.ones((1, 9000, 8), numpy.float16)
        out = numpy.zeros((2, 8), numpy.float32)
        plan = self.device.grouped(a, b, numpy.array([2], numpy.int32), out)
        size = plan.info().workspace_bytes
        space = numpy.zeros(size + 256, numpy.uint8)
        known = self.device.register(space)
        plan.run(self.stream, workspace=-(-space.ctypes.data // 256) * 256, workspace_bytes=size)
        self.stream.synchronize()
        known.close()
        self.assertTrue((out == 9000).all())

    def test_groups_that_do_not_fit_are_refused(self):
        a, b, out = (numpy.ones((6, 8), numpy.float16), numpy.ones((2, 8, 4), numpy.float16),
                     numpy.zeros((6, 4), numpy.float32))
        ends = numpy.array([2, 6], numpy.int32)
        for wrong in ({"ends": ends[:1]}, {"ends": numpy.array([2, 0, 6, 0], numpy.int32)[::2]}, {"b": b[0]},
                      {"bias": numpy.ones(4, numpy.float32)}, {"bias": numpy.ones((4, 2), numpy.float32).T}):
            with self.assertRaises(ValueError):
                self.device.grouped(**{"a": a, "b": b, "ends": ends, "out": out, **wrong})
        for wrong in ({"a": a[:, :4]}, {"out": out[:3]}, {"ends": ends.astype(numpy.uint32)}, {"a": a.astype("f4")}):
            with self.assertRaises(tw.Error):
                self.device.grouped(**{"a": a, "b": b, "ends": ends, "out": out, **wrong})

    def test_quantisation_and_back(self):
        rng = numpy.random.default_rng(4)
        x = rng.integers(-127, 128, (10, 300)).astype(numpy.float32)
        x[:, ::128] = 127  # all scales become powers of two
        x *= 2.0 ** rng.integers(-3, 4, (10, 1))
        narrow, again = numpy.zeros((10, 300), numpy.int8), numpy.zeros((10, 300), numpy.float16)
        for scales in (numpy.zeros((10, 3), numpy.float32), numpy.zeros((3, 12), numpy.float32).T[:10]):
            self.wait(self.device.quantize(x, narrow, scales))
            self.assertTrue((narrow * numpy.repeat(scales, 128, axis=1)[:, :300] == x).all())
            again[:] = 0
            self.wait(self.device.quantize(narrow, again, scales))
            self.assertTrue((again == x).all())
        scale, amax = numpy.array([0.5], numpy.float32), numpy.zeros(1, numpy.float32)
        self.wait(self.device.quantize(x, narrow, scale, tw.SCALE_TENSOR, tw.QUANTIZE_GIVEN_SCALE, amax=amax))
        self.assertEqual(amax[0], numpy.abs(x).max())
        self.assertTrue((narrow == numpy.clip(numpy.rint(x * 2), -128, 127)).all())
        with self.assertRaises(tw.Error):
            self.device.quantize(x, narrow[:9], scales)

    def refused(self, name, plan):
        with self.assertRaisesRegex(ValueError, f"^{name} of shape .* has the strides "):
            plan()

    def test_matrices_whose_lines_meet_are_refused(self):
        strided = numpy.lib.stride_tricks.as_strided
        a, b, out = (numpy.ones((4, 16), numpy.float16), numpy.ones((16, 8), numpy.float16),
                     numpy.zeros((4, 8), numpy.float32))
        backwards = numpy.zeros((8, 8), numpy.float32)
        self.refused("out", lambda: self.device.gemm(a, b, backwards[:4][::-1]))
        self.refused("out", lambda: self.device.gemm(a, b, strided(backwards, (4, 8), (4, 12))))
        self.refused("a", lambda: self.device.gemm(numpy.broadcast_to(a[0], (4, 16)), b, out))
        self.refused("a", lambda: self.device.gemm(strided(a, (4, 16), (16, 2)), b, out))
        self.refused("b", lambda: self.device.gemm(a, strided(b, (16, 8), (2, 14)), out))
        self.refused("b", lambda: self.device.gemm(a, b.T[::-1].T, out))
        self.refused("a", lambda: self.device.gemm(a.repeat(2, 1)[:, ::2], b, out))
        self.assertFalse(backwards.any())

    def test_matrices_of_one_line_or_none(self):
        rng = numpy.random.default_rng(2)
        whole = rng.integers(-4, 5, (40, 40)).astype(numpy.float16)
        for m, n, k in ((1, 6, 5), (5, 1, 6), (5, 6, 1), (1, 1, 1), (0, 6, 5), (5, 0, 6), (5, 6, 0),
                        (0, 0, 0)):
            views = (lambda r, c: whole[:r, :c], lambda r, c: whole.T[:r, :c],
                     lambda r, c: numpy.zeros((r, c), numpy.float16) + numpy.float16(2),
                     lambda r, c: whole[:r, 1::3][:, :c] if r == 1 else whole[3:r + 3, 2:c + 2])
            for first in views:
                a, b = first(m, k), views[0](k, n)
                out = numpy.ones((m, n), numpy.float32)
                self.wait(self.device.gemm(a, b, out, beta=2.0))
                self.assertTrue((out == a.astype(numpy.float32) @ b.astype(numpy.float32) + 2).all())

    def test_rows_that_meet_are_refused(self):
        table, packed = numpy.ones((50, 24), numpy.float32), numpy.zeros((4, 24), numpy.float32)
        index = numpy.array([3, 49, 0, 7], numpy.int64)
        row = numpy.broadcast_to(table[0], (50, 24))
        self.refused("table", lambda: self.device.gather(row, index, packed))
        self.refused("table", lambda: self.device.gather(table[::-1], index, packed))
        self.refused("packed", lambda: self.device.scatter(row[:4], index, table))
        self.refused("packed", lambda: self.device.scatter(packed[::-1], index, table))
        flat = numpy.lib.stride_tricks.as_strided(packed, (4, 24), (0, 4))
        self.refused("out", lambda: self.device.gather(table, index, flat))
        self.refused("out", lambda: self.device.scatter(packed, index, flat))
        self.wait(self.device.gather(row[:1], index[2:3], packed[:1]))  # a single row has no pitch
        self.assertTrue((packed[0] == 1).all())
        self.wait(self.device.gather(table, index[:0], packed[:0]))
        self.wait(self.device.gather(table[:, :1], index, packed[:, 3:4]))
        self.assertEqual(packed.sum(), 24 + 3)

    def test_read_only_memory(self):
        x = numpy.zeros(8, numpy.float32)
        x.flags.writeable = False
        tensor, _ = tw.tensor(x)
        self.assertEqual((tensor.flags, tensor.address), (tw.TENSOR_READ_ONLY, x.ctypes.data))
        with self.assertRaises(ValueError):
            self.device.copy(numpy.ones(8, numpy.float32), x)

    def test_dlpack_lets_go(self):
        x = numpy.zeros(8, numpy.float32)
        before = sys.getrefcount(x)
        tensor, keep = tw.tensor(x)
        self.assertGreater(sys.getrefcount(x), before)
        del tensor, keep
        gc.collect()
        self.assertEqual(sys.getrefcount(x), before)


if __name__ == "__main__":
    if not numpy:
        print("skipped: there is no NumPy")
        sys.exit(77)
    unittest.main(verbosity=2 if "-v" in sys.argv else 1)
