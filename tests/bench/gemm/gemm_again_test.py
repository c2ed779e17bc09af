#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests gemm_again.py on made-up records."""
import json

import gemm_again


def line(m, us, kind="plan"):
    return json.dumps({"kind": kind, "set": "decode", "m": m, "n": 64, "k": 64, "orders": "rc", "dtype": "bf16",
                       "out": "bf16", "mode": "cold", "peer_us": 10.0, "us": us})


def key(m):
    return ("decode", m, 64, 64, "rc", "bf16", "bf16", "cold")


first = gemm_again.ratios("\n".join(["# words", line(1, 12.5), line(1, 1, "candidate"), json.dumps({"kind": "noise"})]
                                    + [line(m, 10.0) for m in range(2, 61)]))
assert len(first) == 60 and first[key(1)] == 0.8 and first[key(2)] == 1
assert gemm_again.verdict(first, [{key(1): 0.95}, {key(1): 0.91}], 0.9) == ({key(1): 0.91}, True)
assert gemm_again.verdict(first, [{key(1): 0.85}, {key(1): 0.91}], 0.9) == ({key(1): 0.85}, True)
assert gemm_again.verdict(first, [{key(1): 0.7}, {key(1): 0.81}], 0.9) == ({key(1): 0.8}, False)
first[key(2)] = 0.89
assert not gemm_again.verdict(first, [{key(1): 0.85, key(2): 0.88}] * 2, 0.9)[1]
try:
    gemm_again.verdict(first, [{}, {}], 0.9)
except SystemExit as said:
    assert "not raced again" in str(said)
else:
    raise AssertionError("a shape that was not raced again is accepted")
