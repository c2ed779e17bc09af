# SPDX-License-Identifier: Apache-2.0
"""Makes the inputs of run.sh and checks its results with NumPy, in float64 where rounding matters.

npy_check.c is the same program for machines without NumPy. Both have the commands:
  make DIR                     writes the input files
  gemm A B C                   C = A B, rounded to the type of C
  gather T INDEX R             R[i] = T[INDEX[i]], bit for bit
  scatter T INDEX S R          R = T with R[INDEX[i]] = S[i], bit for bit
  copy A R R0 R1 C0 C1         R = A[R0:R1, C0:C1], bit for bit
Exit code 0 and one line on stdout, or 1 and one line on stderr.
"""

import os
import sys

import numpy as np

M, K, N = 1001, 1503, 705
TABLE_ROWS, TABLE_COLUMNS = 8192, 512


def bf16(values):
    """The nearest bf16 of finite float32 values, as uint16."""
    bits = values.astype(np.float32).view(np.uint32)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)


def wide(array):
    """The array as float64; uint16 means bf16."""
    if array.dtype == np.uint16:
        return (array.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    return array.astype(np.float64)


def make(folder):
    rng = np.random.default_rng(20)

    def uniform(*shape):
        return rng.uniform(-1, 1, shape).astype(np.float32)

    def save(name, array):
        np.save(os.path.join(folder, name + ".npy"), array)

    save("a_bf16", bf16(uniform(M, K)))
    save("b_bf16", bf16(uniform(K, N)))
    save("b_bf16_f", np.asfortranarray(bf16(uniform(K, N))))
    save("a_f16", uniform(201, 137).astype(np.float16))
    save("a_f16_f", np.asfortranarray(uniform(201, 137).astype(np.float16)))
    save("b_f16", uniform(137, 119).astype(np.float16))
    save("b_f16_f", np.asfortranarray(uniform(137, 119).astype(np.float16)))
    save("t_f32", uniform(TABLE_ROWS, TABLE_COLUMNS))
    save("t_f32_f", np.asfortranarray(uniform(1000, 333)))
    save("t_f16", uniform(1000, 333).astype(np.float16))
    save("index", rng.integers(0, TABLE_ROWS, 5000))
    save("index_unique", rng.permutation(TABLE_ROWS)[:3001].astype(np.int32))
    save("index_small", rng.permutation(1000)[:777].astype(np.int32))
    save("s_f32", uniform(3001, TABLE_COLUMNS))
    save("s_f16", uniform(777, 333).astype(np.float16))
    # Inputs that npy_ops must refuse.
    save("bad_f64", rng.uniform(-1, 1, (8, 8)))
    save("bad_rank", np.zeros((2, 3, 4), np.float32))
    save("bad_empty", np.zeros((0, 4), np.float32))
    save("bad_index_high", np.array([0, TABLE_ROWS, 1], np.int64))
    save("bad_index_negative", np.array([5, -1], np.int32))
    save("bad_index_wide", np.array([2**32 + 3], np.int64))
    save("bad_index_rank", np.zeros((3, 1), np.int32))
    save("bad_index_twice", np.array([7, 3, 7], np.int32))


def check_gemm(a_path, b_path, c_path):
    a, b, c = np.load(a_path), np.load(b_path), np.load(c_path)
    if c.dtype != a.dtype or c.shape != (a.shape[0], b.shape[1]):
        raise ValueError(f"{c_path} is {c.dtype} {c.shape}")
    exact = wide(a) @ wide(b)
    error = np.abs(wide(c) - exact)
    # One rounding to the result's type, and the error of accumulation in f32. The worst case of that, half the
    # number of terms times 2^-24, is far larger than what occurs.
    unit = 2.0**-8 if c.dtype == np.uint16 else 2.0**-11
    allowed = unit * np.abs(exact) + 2.0**-18 * (np.abs(wide(a)) @ np.abs(wide(b)))
    if not np.all(error <= allowed + 2.0**-25):
        worst = np.unravel_index(np.argmax(error - allowed), error.shape)
        raise ValueError(f"{c_path}{list(map(int, worst))} is {wide(c)[worst]}, not {exact[worst]}")
    return f"{c.size} elements, largest error {error.max():.3g}, largest element {np.abs(exact).max():.3g}"


def equal(path, expected):
    got = np.load(path)
    if got.dtype != expected.dtype or got.shape != expected.shape:
        raise ValueError(f"{path} is {got.dtype} {got.shape}, not {expected.dtype} {expected.shape}")
    bits = np.dtype(f"u{got.dtype.itemsize}")
    wrong = int(np.count_nonzero(got.view(bits) != np.asarray(expected, order="A").view(bits)))
    if wrong:
        raise ValueError(f"{path}: {wrong} of {got.size} elements are wrong")
    return f"{got.size} elements, bit for bit"


def check_scatter(table_path, index_path, source_path, result_path):
    expected = np.load(table_path)
    expected[np.load(index_path)] = np.load(source_path)
    return equal(result_path, expected)


def check_copy(a_path, result_path, *box):
    r0, r1, c0, c1 = map(int, box)
    return equal(result_path, np.load(a_path)[r0:r1, c0:c1].copy(order="K"))


def main(command, *args):
    if command == "make":
        return make(*args)
    if command == "gemm":
        return check_gemm(*args)
    if command == "gather":
        return equal(args[2], np.load(args[0])[np.load(args[1])])
    if command == "scatter":
        return check_scatter(*args)
    if command == "copy":
        return check_copy(*args)
    raise ValueError(f"{command}: make, gemm, gather, scatter or copy is needed")


if __name__ == "__main__":
    try:
        print(main(*sys.argv[1:]) or "inputs by NumPy " + np.__version__)
    except (ValueError, OSError) as failure:
        sys.exit(f"npy_check: {failure}")
