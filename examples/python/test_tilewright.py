#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of tilewright.py without other packages, and with torch if it is installed (test_numpy.py
covers NumPy). `test_tilewright.py cuda` runs the torch tests on the first GPU. Exit code 77 if the
requested device does not exist."""
import array
import ctypes
import gc
import multiprocessing
import struct
import sys
import threading
import unittest

import tilewright as tw

DEVICE = sys.argv.pop() if sys.argv[-1] in ("host", "cuda") else "host"
PLACE = "cuda" if DEVICE == "cuda" else "cpu"  # torch's name
try:
    import numpy  # covered by test_numpy.py
except ImportError:
    numpy = None
try:
    import torch
except ImportError:
    torch = None


DLPACK = {tw.DLPACK_TENSOR: b"dltensor", tw.DLPACK_VERSIONED: b"dltensor_versioned"}


def capsule(form, **fields):
    """A tensor as __dlpack__ returns it. The few bytes of its description are never freed."""
    managed, new = ctypes.c_void_p(), ctypes.pythonapi.PyCapsule_New
    new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    tw.check(tw.lib.tw_tensor_to_dlpack(tw.struct("tensor", **fields), form, tw.ReleaseCallback(), None,
                                        ctypes.byref(managed)))
    return new(managed, DLPACK[form], None)


class Plain(unittest.TestCase):
    """Without other packages: arrays, bytes and memoryviews."""

    def setUp(self):
        self.device = tw.Device("host")
        self.stream = self.device.stream()

    def test_the_header_is_here(self):
        self.assertEqual(tw.version(), "%d.%d.%d" % (tw.VERSION_MAJOR, tw.VERSION_MINOR,
                                                    tw.VERSION_PATCH))
        self.assertEqual(tw.lib.tw_status_name(tw.ERROR_RULE), b"TW_ERROR_RULE")
        self.assertEqual(tw.struct("gemm_args").alpha, 1.0)

    def test_every_struct_is_initialised(self):
        marks = set()
        for name, kind in tw._structs.items():
            value = tw.struct(name[3:])
            self.assertEqual(value.struct_size, ctypes.sizeof(kind), name)
            marks.add(value.struct_mark)
        self.assertEqual(len(marks), len(tw._structs))
        self.assertNotIn(0, marks)

    def test_what_was_not_set_is_refused(self):
        plan = ctypes.c_void_p()
        desc = tw.struct("rows_desc", dtype=tw.DTYPE_F32, table_rows=4, columns=4)
        self.assertEqual(desc.count, tw.UNSET)
        for given, status, argument in ((desc, tw.ERROR_INVALID_ARGUMENT, "count"),
                                        (tw._structs["tw_rows_desc"](), tw.ERROR_STRUCT, "desc")):
            with self.assertRaises(tw.Error) as caught:
                tw.check(tw.lib.tw_gather_plan(self.device.handle, given, ctypes.byref(plan)))
            self.assertEqual((caught.exception.status, caught.exception.argument), (status, argument))
        with self.assertRaisesRegex(tw.Error, "beta"):  # there is no b
            self.device.elementwise(array.array("f", [1]), array.array("f", [0]), beta=2).run(self.stream)

    def test_a_product_of_a_type_that_python_lacks(self):
        def bf16(*values):  # of small integers
            return array.array("H", (struct.unpack("<I", struct.pack("<f", v))[0] >> 16 for v in values))

        a, b = (tw.Typed(bf16(*each), tw.DTYPE_BF16, (2, 2)) for each in ((1, 2, 3, 4), (1, 0, 0, 1)))
        c, out = (tw.Typed(array.array("f", each), tw.DTYPE_F32, (2, 2)) for each in ((1, 1, -100, 1), [0] * 4))
        bias = array.array("f", [10, 20])
        self.device.gemm(a, b, out, beta=2.0, c=c, bias=bias,
                         activation=tw.ACTIVATION_RELU).run(self.stream)
        self.stream.synchronize()
        self.assertEqual(out.source.tolist(), [13, 24, 0, 26])
        for source, says in ((array.array("f", [0] * 4), "4 bytes cannot be .*bf16"),
                             (bf16(1, 2, 3), r"shape \(3,\) .* \(2, 2\)")):
            with self.assertRaisesRegex(ValueError, says):
                tw.tensor(tw.Typed(source, tw.DTYPE_BF16, (2, 2)))
        with self.assertRaisesRegex(ValueError, "read-only"):
            tw.tensor(tw.Typed(bytes(8), tw.DTYPE_F8E4M3, (8,)), writable=True)
        with self.assertRaisesRegex(ValueError, "vector of 2"):
            self.device.gemm(a, b, out, bias=array.array("f", [10]))

    def test_a_grouped_product(self):
        def f16(*values):
            return array.array("H", struct.unpack(f"<{len(values)}H", struct.pack(f"<{len(values)}e", *values)))

        a = tw.Typed(f16(1, 2, 3, 4, 5, 6), tw.DTYPE_F16, (3, 2))
        b = tw.Typed(f16(1, 0, 0, 1, 0, 10, 10, 0), tw.DTYPE_F16, (2, 2, 2))
        out, ends = tw.Typed(array.array("f", [0] * 6), tw.DTYPE_F32, (3, 2)), array.array("i", [1, 3])
        self.device.grouped(a, b, ends, out).run(self.stream)
        self.stream.synchronize()
        self.assertEqual(out.source.tolist(), [1, 2, 40, 30, 60, 50])

    def test_what_is_embedded(self):
        seen = {}
        for name, target, entry in tw.kernels():
            seen.setdefault(target, (name, entry.image_bytes))
        for target, (name, size) in seen.items():  # empty in a build without the CUDA device
            image = tw.kernel_image(name, target)
            self.assertEqual(len(image), size)
            self.assertIn(b".entry " + name.encode() if target.startswith("compute_") else b"\x7fELF", image)
        with self.assertRaises(tw.Error) as caught:
            tw.kernel_image("none", "sm_90a")
        self.assertEqual(caught.exception.status, tw.ERROR_NOT_FOUND)

    def test_a_sum_of_arrays(self):
        a, b = array.array("f", range(8)), array.array("f", [10] * 8)
        out = array.array("f", [0] * 8)
        self.device.elementwise(a, out, b, alpha=2, beta=0.5).run(self.stream)
        self.stream.synchronize()
        self.assertEqual(out.tolist(), [2 * x + 5 for x in range(8)])
        self.device.elementwise(a, out, alpha=3).run(self.stream)
        self.stream.synchronize()
        self.assertEqual(out.tolist(), [3 * x for x in range(8)])
        with self.assertRaises(ValueError):
            self.device.elementwise(a, array.array("f", [0] * 7))

    def test_a_product_with_an_activation_and_a_factor_in_memory(self):
        a, b = array.array("f", range(-4, 4)), array.array("f", [10] * 8)
        out, factor = array.array("f", [0] * 8), array.array("f", [2])
        plan = self.device.elementwise(a, out, b, alpha=factor, multiply=True,
                                       activation=tw.ACTIVATION_RELU)
        for factor[0] in (2, 3):
            plan.run(self.stream)
            self.stream.synchronize()
            self.assertEqual(out.tolist(), [max(factor[0] * x, 0) * 10 for x in range(-4, 4)])
        with self.assertRaises(ValueError):
            self.device.elementwise(a, out, alpha=b)

    def test_a_copy_of_arrays(self):
        src, dst = array.array("i", range(100)), array.array("i", [0] * 100)
        self.device.copy(src, dst).run(self.stream)
        self.stream.synchronize()
        self.assertEqual(src, dst)
        out = bytearray(16)
        plan = self.device.copy(bytes(range(16)), out).run(self.stream)
        # the plan must live until here, because it keeps the operands alive
        self.stream.synchronize()
        plan.close()
        self.assertEqual(out, bytes(range(16)))

    def test_a_plan_keeps_its_operands(self):
        dst = array.array("q", [0] * 1000)
        plan = self.device.copy(array.array("q", range(1000)), dst)
        gc.collect()
        plan.run(self.stream)
        self.stream.synchronize()
        self.assertEqual(list(dst), list(range(1000)))

    def test_errors_carry_their_numbers(self):
        with self.assertRaises(tw.Error) as caught:
            tw.Layout("(2,3")
        self.assertEqual(caught.exception.status, tw.ERROR_PARSE)
        desc = tw.struct("tensor_map_desc", global_address=4096, global_dim=[64, 64],
                         global_stride_bytes=[129], box_dim=[8, 8])
        map_ = ctypes.c_void_p()
        with self.assertRaises(tw.Error) as caught:
            tw.check(tw.lib.tw_tensor_map_create(self.device.handle, desc, ctypes.byref(map_)))
        error = caught.exception
        self.assertEqual((error.name, error.argument, error.index, error.got),
                         ("TW_ERROR_RULE", "global_stride_bytes", 0, 129))
        self.assertTrue(error.rule)

    def test_what_cannot_work_is_refused(self):
        with self.assertRaises(ValueError):
            self.device.copy(array.array("i", [1, 2]), bytes(8))  # read-only, and of another type
        with self.assertRaises(ValueError):
            self.device.copy(array.array("i", [1, 2]), array.array("i", [1]))
        with self.assertRaises(TypeError):
            tw.tensor(3)
        lent = tw.struct("tensor", dtype=tw.DTYPE_I8, flags=tw.TENSOR_READ_ONLY)
        with self.assertRaisesRegex(ValueError, "read-only"):
            tw.tensor(lent, writable=True)
        for kind, ordinal in (("gpu", 0), ("host", 2**32)):
            with self.assertRaisesRegex(ValueError, "'host' or 'cuda', not 'gpu'|4294967296"):
                tw.Device(kind, ordinal)
        with self.assertRaisesRegex(ValueError, "position 5"):
            tw.Layout("(2,3)\0junk")

    def test_memory_of_another_device_is_refused(self):
        gpu = tw.Device.__new__(tw.Device)  # as if it had been opened
        gpu.kind, gpu.ordinal = tw.DEVICE_CUDA, 0
        theirs = tw.struct("tensor", device_kind=tw.DEVICE_CUDA, ordinal=1)
        for device, tensor, says in ((gpu, theirs, "GPU 1 .* GPU 0"), (gpu, bytes(8), "the CPU .* GPU 0"),
                                     (self.device, theirs, "GPU 1 .* the CPU")):
            with self.assertRaisesRegex(ValueError, says):
                device._here(tensor)
        theirs.ordinal = 0
        self.assertIs(gpu._here(theirs)[0], theirs)

    def test_names_and_numbers_that_a_struct_cannot_hold(self):
        plan = self.device.copy(array.array("i", [1]), array.array("i", [0]))
        for attempt in (lambda: plan.run(self.stream, source=1), lambda: tw.struct("gemm_desc", mm=8)):
            with self.assertRaisesRegex(TypeError, "no field '(source|mm)': it has struct_size, .*(src|k, )"):
                attempt()
        with self.assertRaisesRegex(AttributeError, "mm"):
            tw.struct("gemm_desc").mm = 8
        with self.assertRaisesRegex(ValueError, "no struct tw_gem_desc; it has .*gemm_desc"):
            tw.struct("gem_desc")
        self.assertFalse(hasattr(tw.lib, "tw_gem_plan"))
        # rounded to f32, and infinity itself
        args = tw.struct("gemm_args", alpha=0.1, beta=float("-inf"))
        self.assertEqual((round(args.alpha, 7), args.beta), (0.1, float("-inf")))
        for value in (1e300, -3.5e38):
            with self.assertRaisesRegex(OverflowError, "alpha"):
                tw.struct("gemm_args", alpha=value)
        for field, value in (("src_alignment", 2**32 + 4), ("src_alignment", -1), ("shape", [1, 2**64])):
            with self.assertRaisesRegex(OverflowError, field):
                tw.struct("copy_desc", **{field: value})

    def test_what_dlpack_refuses_is_told(self):
        class Stubborn:
            def __dlpack__(self):
                raise BufferError("not while it is being trained")

        class Empty:
            def __dlpack__(self):
                return 3

        with self.assertRaisesRegex(BufferError, "being trained"):
            tw.tensor(Stubborn())
        with self.assertRaisesRegex(TypeError, "Empty.__dlpack__.*3"):
            tw.tensor(Empty())

    def test_a_producer_is_asked_whether_its_memory_may_be_written(self):
        memory = array.array("i", [7] * 4)
        fields = dict(dtype=tw.DTYPE_I32, rank=1, shape=[4], stride=[1], address=memory.buffer_info()[0])

        class Immutable:  # like jax's arrays: DLPack before 1.0 cannot express read-only
            def __dlpack__(self, *, max_version=None):
                if max_version is None:
                    return capsule(tw.DLPACK_TENSOR, **fields)
                return capsule(tw.DLPACK_VERSIONED, flags=tw.TENSOR_READ_ONLY, **fields)

        class Old:
            def __dlpack__(self):
                return capsule(tw.DLPACK_TENSOR, **fields)

        with self.assertRaisesRegex(ValueError, "read-only"):
            self.device.copy(array.array("i", [1] * 4), Immutable())
        self.assertEqual(tw.tensor(Immutable())[0].flags, tw.TENSOR_READ_ONLY)
        out, ones = array.array("i", [0] * 4), array.array("i", [1] * 4)
        plans = [self.device.copy(Immutable(), out), self.device.copy(ones, Old())]
        for plan in plans:
            plan.run(self.stream)
        self.stream.synchronize()
        self.assertEqual((list(out), list(memory)), ([7] * 4, [1] * 4))

    def test_buffers_whatever_letters_they_call_their_elements_by(self):
        for memory, dtype, shape in (
                ((ctypes.c_float * 4)(), tw.DTYPE_F32, [4]), ((ctypes.c_uint8 * 4)(), tw.DTYPE_U8, [4]),
                (((ctypes.c_int32 * 3) * 2)(), tw.DTYPE_I32, [2, 3]),
                ((ctypes.c_long * 2)(), tw.DTYPE_I64 if ctypes.sizeof(ctypes.c_long) == 8 else
                 tw.DTYPE_I32, [2]),
                (multiprocessing.RawArray("d", 5), tw.DTYPE_F64, [5]),
                (multiprocessing.RawArray("H", 5), tw.DTYPE_U16, [5]),
                (memoryview(bytearray(16)).cast("n"), tw.DTYPE_I64, [2]),
                (memoryview(bytearray(16)).cast("@L"), tw.DTYPE_U64, [2]),
                (memoryview(bytearray(2)).cast("?"), tw.DTYPE_U8, [2])):
            with self.subTest(format=memoryview(memory).format):
                tensor, _ = tw.tensor(memory, writable=True)
                self.assertEqual((tensor.dtype, list(tensor.shape[:tensor.rank])), (dtype, shape))
        src, dst = (ctypes.c_float * 4)(1, 2, 3, 4), multiprocessing.RawArray("f", 4)
        self.device.copy(src, dst).run(self.stream)
        self.stream.synchronize()
        self.assertEqual(list(dst), [1, 2, 3, 4])
        other = ctypes.c_int32.__ctype_be__ if sys.byteorder == "little" else ctypes.c_int32.__ctype_le__
        with self.assertRaisesRegex(TypeError, "'[<>]i' .*byte order"):
            tw.tensor((other * 4)())
        with self.assertRaisesRegex(TypeError, "'c' .*view"):
            tw.tensor(memoryview(bytearray(4)).cast("c"))

    def test_a_run_brings_its_own_addresses(self):
        first, other = array.array("i", [1] * 64), array.array("i", [2] * 64)
        out = array.array("i", [0] * 64)
        plan, known = self.device.copy(first, out), self.device.register(other)
        for keywords, wanted in (({"src": other.buffer_info()[0]}, other), ({}, first)):
            plan.run(self.stream, **keywords)
            self.stream.synchronize()
            self.assertEqual(out, wanted)
        known.close()
        with self.assertRaisesRegex(tw.Error, "src needs 256 bytes .* tw_memory_unregister"):
            plan.run(self.stream, src=other.buffer_info()[0])

    def test_memory_is_known_as_long_as_a_plan_lives(self):
        src, dst = array.array("i", [1] * 64), array.array("i", [0] * 64)
        address, size = dst.buffer_info()[0], dst.itemsize * len(dst)
        plan = self.device.copy(src, dst)
        tw.check(tw.lib.tw_memset(self.stream.handle, address, 1, size))
        del plan
        gc.collect()
        with self.assertRaisesRegex(tw.Error, f"dst needs {size} bytes"):
            tw.check(tw.lib.tw_memset(self.stream.handle, address, 1, size))
        part = memoryview(dst)[40:8:-3]  # its lowest element is its last
        known = self.device.register(part)
        self.assertEqual(known.address, address + 4 * 10)
        tw.check(tw.lib.tw_memset(self.stream.handle, known.address, 1, 4 * 31))
        with self.assertRaisesRegex(tw.Error, "dst needs 125 bytes .* ends after 124 bytes"):
            tw.check(tw.lib.tw_memset(self.stream.handle, known.address, 1, 4 * 31 + 1))
        self.stream.synchronize()

    def test_threads_share_a_plan(self):
        """Each thread has its own operands, which no other run may see."""
        size, plan = 256, self.device.copy(bytes(256), bytearray(256))
        wrong, finished, together = [], [], threading.Barrier(8)

        def work(k):
            src, out = array.array("B", [k] * size), array.array("B", [0] * size)
            known = self.device.register(src), self.device.register(out)
            with self.device.stream() as stream:
                together.wait()
                for _ in range(300):
                    plan.run(stream, src=src.buffer_info()[0], dst=out.buffer_info()[0])
                    stream.synchronize()
                    if out != src:
                        wrong.append((k, out[0]))
                    out[0] = out[-1] = 255
            finished.append(known)

        threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
        interval = sys.getswitchinterval()
        sys.setswitchinterval(1e-6)
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        sys.setswitchinterval(interval)
        self.assertEqual((wrong, len(finished)), ([], 8))

    def test_handles_close_once(self):
        with tw.Layout("(2,3):(3,1)") as layout:
            self.assertEqual(str(layout), "(2,3):(3,1)")
        layout.close()
        self.assertIsNone(layout.handle)

    def test_threads_have_their_own_errors(self):
        wrong = []

        def work(k):
            text = "(%d,%d" % (k, k)
            for _ in range(50):
                try:
                    tw.Layout(text)
                except tw.Error as error:
                    if text not in str(error):
                        wrong.append(str(error))

        threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])


@unittest.skipUnless(torch, "there is no torch")
class Torch(unittest.TestCase):
    """On the CPU, or in place on a GPU and on a torch stream."""

    def setUp(self):
        self.device = tw.Device(DEVICE)
        current = torch.cuda.current_stream() if DEVICE == "cuda" else None
        # The NULL stream waits for all others and is refused; use another torch stream.
        if current is not None and current.cuda_stream == 0:
            current = torch.cuda.Stream()
        self.theirs = current
        self.stream = self.device.stream(current and current.cuda_stream)

    def wait(self, plan):
        if DEVICE == "cuda":
            torch.cuda.synchronize()
        plan.run(self.stream)
        self.stream.synchronize()

    def test_bf16_gemm(self):
        a = torch.randint(-4, 5, (256, 192), device=PLACE).to(torch.bfloat16)
        b = torch.randint(-4, 5, (192, 320), device=PLACE).to(torch.bfloat16)
        for second in (b, b.t().contiguous().t()):
            out = torch.zeros(256, 320, device=PLACE)
            self.wait(self.device.gemm(a, second, out))
            self.assertTrue(torch.equal(out, a.float() @ b.float()))

    def test_groups_of_rows_with_a_matrix_each(self):
        a = torch.randint(-4, 5, (96, 64), device=PLACE).to(torch.bfloat16)
        b = torch.randint(-4, 5, (3, 40, 64), device=PLACE).to(torch.bfloat16).transpose(1, 2)
        ends = torch.tensor([30, 30, 96], dtype=torch.int32, device=PLACE)
        out = torch.zeros(96, 40, device=PLACE)
        self.wait(self.device.grouped(a, b, ends, out))
        self.assertTrue(torch.equal(out[:30], a[:30].float() @ b[0].float()))
        self.assertTrue(torch.equal(out[30:], a[30:].float() @ b[2].float()))

    def test_copies_of_views(self):
        x = torch.arange(64 * 96 * 8, dtype=torch.int32, device=PLACE).view(64, 96, 8)
        y = torch.zeros(96, 8, 64, dtype=torch.int32, device=PLACE)
        self.wait(self.device.copy(x.permute(1, 2, 0), y))
        self.assertTrue(torch.equal(y, x.permute(1, 2, 0)))

    def test_gather(self):
        table = torch.randn(500, 128, device=PLACE)
        index = torch.randint(0, 500, (77,), device=PLACE)
        out = torch.empty(77, 128, device=PLACE)
        self.wait(self.device.gather(table, index, out))
        self.assertTrue(torch.equal(out, table[index]))

    def test_a_tensor_in_training(self):
        with self.assertRaisesRegex((BufferError, RuntimeError), "grad"):
            tw.tensor(torch.zeros(8, device=PLACE, requires_grad=True))

    def test_memory_of_the_other_kind_is_refused(self):
        if DEVICE == "cuda":
            with self.assertRaises(ValueError):
                self.device.copy(torch.zeros(8), torch.zeros(8, device="cuda"))


if __name__ == "__main__":
    if DEVICE == "cuda":
        try:
            tw.Device("cuda")
        except tw.Error as error:
            print("skipped:", error)
            sys.exit(77)
    print("tilewright", tw.version(), "NumPy", numpy and numpy.__version__, "torch",
          torch and torch.__version__, "on", DEVICE, flush=True)
    unittest.main(verbosity=2 if "-v" in sys.argv else 1)
