#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fits the GEMM cost model (src/ops/gemm/select/gemm_model.inc) to recorded times of all candidates.

    gemm_fit.py pack fit/NAME.csv.xz FILE.jsonl...   from bench_gemm --all_candidates --within=1e9 --json
    gemm_fit.py fit BUILD                            fits, writes gemm_model.inc, builds, reports
    gemm_fit.py report BUILD [--folds=8]             regret of the values that BUILD has, and "left out" (see below)

BUILD is a build folder with the tests. The records are all files of fit/, which are named after their
chip (gemm_fit.cpp). h200_f (seeds f908 to f90a, f90d to f910) and h100_a (f911 to f914) have products of all sizes. In the rounds of
the older files every candidate ran after the same two others. After one that takes little power the chip's clock is
higher, so of these files only products of less than 50 us are left. The files of h200cool were drawn by the seeds f601
to f609, f701 to f704 (files a and b), f801 to f80e (file c), f810 to f82a (file d), f830 to f83b (file e) and f902 to
f90c (files f and g) with --rounds_only, so that the chip stayed below its power limit. The others are older. Files a
and b have no times of stream-K kernels, file c none of those whose tiles have another width since, and only the files
from e on have those without swap-AB. For the seeds f805, f807 and f80a, the times of stream-K kernels with clusters
come from earlier code, which was up to 7 % slower. There are no records of epilogue kernels and of batches.
The regret of a shape is how much longer the kernel that the model prefers takes than the fastest one. The
fit first matches the logarithms of all times, with less weight for kernels far from the fastest, then
minimizes a smooth form of the regret. "left out" reports each shape from a fit without any shape of the
same (n, k).
Needs numpy and scipy.
"""
import argparse
import collections
import json
import lzma
import pathlib
import re
import subprocess
import tempfile

import numpy
import scipy.optimize

FOLDER = pathlib.Path(__file__).resolve().parent
TABLE = FOLDER.parents[2] / "src/ops/gemm/select/gemm_model.inc"
PARAMETER = re.compile(r"^TW_GEMM_(FITTED|GIVEN)\((\w+), ([-+.e\d]+)\)", re.MULTILINE)
SHAPE = ("set", "mode", "dtype", "out", "orders", "m", "n", "k")
CLASS = ("set", "mode", "dtype", "out")


def pack(target, files):
    """Writes a line per shape: the shape, the peer's time, the plan's, then kernel=time per candidate."""
    shapes = collections.OrderedDict()
    for file in files:
        for text in pathlib.Path(file).read_text().splitlines():
            line = json.loads(text)
            if line["kind"] in ("plan", "candidate"):
                times = shapes.setdefault(tuple(line[name] for name in SHAPE), collections.defaultdict(list))
                times["peer"].append(line["peer_us"])
                times["plan" if line["kind"] == "plan" else line["kernel"]].append(line["us"])
    text = ""
    for shape, times in shapes.items():
        if "plan" not in times:  # the run ended within this shape
            continue
        median = {kernel: numpy.median(us) for kernel, us in times.items()}
        text += ",".join(map(str, shape)) + f",{median.pop('peer'):.5g},{median.pop('plan'):.5g}"
        prefix = f"gemm_{shape[2]}_{shape[3]}_"
        text += "".join(f",{kernel.replace(prefix, '.')}={us:.4g}" for kernel, us in sorted(median.items())) + "\n"
    pathlib.Path(target).write_bytes(lzma.compress(text.encode(), preset=9 | lzma.PRESET_EXTREME))


class Shape:
    def __init__(self, file, line):
        self.chip = re.match("[a-z0-9]+", file.name).group()
        fields = line.split(",")
        for name, value in zip(SHAPE, fields):
            setattr(self, name, int(value) if name in "mnk" else value)
        self.peer, self.plan = map(float, fields[len(SHAPE):len(SHAPE) + 2])
        prefix = f"gemm_{self.dtype}_{self.out}_"
        pairs = (field.split("=") for field in fields[len(SHAPE) + 2:])
        self.times = {kernel.replace(".", prefix): float(us) for kernel, us in pairs}

    def cases(self):
        head = f"{self.chip} {self.dtype} {self.out} {self.orders} {int(self.mode == 'programmatic')} {self.m} {self.n} {self.k}"
        return [(f"{head} {kernel}\n", us) for kernel, us in self.times.items()]

    def in_class(self):
        return " ".join(getattr(self, name) for name in CLASS)


class Model:
    """The library's cost model, evaluated for all records at once by a process (gemm_fit.cpp)."""

    def __init__(self, build):
        files = sorted((FOLDER / "fit").glob("*.csv.xz"))
        self.shapes = [Shape(file, line) for file in files for line in lzma.open(file, "rt").read().splitlines()]
        cases = [(i, *case) for i, shape in enumerate(self.shapes) for case in shape.cases()]
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as text:
            text.write("".join(case[1] for case in cases))
            text.flush()
            self.process = subprocess.Popen([pathlib.Path(build) / "tests/bench/gemm_fit", text.name],
                                            stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            known = self.process.stdout.readline().decode()
        # Leave out kernels that the library no longer has, and shapes without any kernel.
        cases = [case for case, has in zip(cases, known) if has == "1"]
        kept = sorted({case[0] for case in cases})
        self.shapes = [self.shapes[i] for i in kept]
        self.kernel = [case[1].split()[-1] for case in cases]
        self.shape = numpy.searchsorted(kept, [case[0] for case in cases])
        self.begin = numpy.searchsorted(self.shape, numpy.arange(len(kept)))
        self.us = numpy.array([case[2] for case in cases])
        self.best = numpy.minimum.reduceat(self.us, self.begin)[self.shape]
        self.over = self.us / self.best - 1
        self.weight = (self.best / self.us) ** 2
        kinds, self.names, values = zip(*PARAMETER.findall(TABLE.read_text()))
        self.values = numpy.array(list(map(float, values)))
        self.free = numpy.array([kind == "FITTED" for kind in kinds])

    def times(self, values):
        self.process.stdin.write(values.tobytes())
        self.process.stdin.flush()
        return numpy.frombuffer(self.process.stdout.read(8 * len(self.us))) / 1e3

    def regret(self, values):
        order = numpy.lexsort((self.times(values), self.shape))
        return self.over[order[self.begin]]


def derivative(function, x, step=1e-5):
    """The function's value at x and its derivative by each element of x."""
    value, columns = function(x), []
    for i in range(len(x)):
        moved = x.copy()
        moved[i] += step
        columns.append((function(moved) - value) / step)
    return value, numpy.array(columns).T


def fit(model, taken, begin):
    """All parameters, with the free ones fitted to the shapes that `taken` marks, starting from `begin`."""
    scale = numpy.maximum(numpy.abs(begin[model.free]), 1e-2)
    mine = taken[model.shape]

    def values(x):
        out = model.values.copy()
        out[model.free] = x * scale
        return out

    def errors(x):
        return numpy.log(numpy.maximum(model.times(values(x)), 1e-3) / model.us)

    def residuals(x):
        return numpy.concatenate([(errors(x) * numpy.sqrt(model.weight))[mine], 0.02 * (x - 1)])

    least = scipy.optimize.least_squares(residuals, numpy.ones(len(scale)), loss="soft_l1", f_scale=0.1,
                                         jac=lambda x: derivative(residuals, x)[1], bounds=(0, numpy.inf))
    return values(lower_regret(model, taken, mine, errors, least.x))


def lower_regret(model, taken, mine, errors, start):
    """Minimizes a smooth regret: candidates are weighted by how close the model puts them to its best one."""
    weight = model.weight * mine / numpy.sum(model.weight * mine)

    def loss(x, width):
        error = errors(x)
        behind = error + numpy.log(model.us)
        behind -= numpy.minimum.reduceat(behind, model.begin)[model.shape]
        chance = numpy.exp(-behind / width)
        regret = (numpy.add.reduceat(chance * numpy.minimum(model.over, 1), model.begin)
                  / numpy.add.reduceat(chance, model.begin))[taken]
        return (numpy.mean(regret + regret**2) + numpy.sum(weight * numpy.minimum(error**2, 0.5))
                + 0.001 * numpy.sum((x - start) ** 2))

    x = start
    for width in (0.03, 0.015):
        x = scipy.optimize.minimize(lambda x: derivative(lambda y: loss(y, width), x), x, jac=True,
                                    method="L-BFGS-B", bounds=[(0, None)] * len(x), options={"maxiter": 150}).x
    return x


def left_out(model, folds):
    """Regret of each shape by a fit to the folds without its (n, k). Each fit starts from today's values, each
    changed at random by up to a third, so that the start does not know the shapes that are left out."""
    layers = sorted({(s.n, s.k) for s in model.shapes})
    random = numpy.random.default_rng(1)
    order = random.permutation(len(layers))
    fold = {layers[layer]: i % folds for i, layer in enumerate(order)}
    of = numpy.array([fold[(s.n, s.k)] for s in model.shapes])
    regret = numpy.zeros(len(model.shapes))
    for i in range(folds):
        begin = model.values * numpy.exp(random.uniform(-0.3, 0.3, len(model.values)) * model.free)
        regret[of == i] = model.regret(fit(model, of != i, begin))[of == i]
    return regret


def report(model, values, folds):
    # A plan may have taken a stream-K kernel that the older records lack.
    plans = numpy.array([s.plan for s in model.shapes]) / model.best[model.begin] - 1
    columns = {"the plans then": numpy.maximum(plans, 0),
               "fitted": model.regret(values)}
    if folds > 1:
        columns["left out"] = left_out(model, folds)
    classes = [s.in_class() for s in model.shapes]
    fastest = model.best[model.begin]
    groups = {name: numpy.array([name == one for one in classes]) for name in dict.fromkeys(classes)}
    groups |= {"m up to 256": numpy.array([s.m <= 256 for s in model.shapes]), "over 200 us": fastest > 200,
               "over 1 ms": fastest > 1000}
    groups |= {f"all of {chip}": numpy.array([s.chip == chip for s in model.shapes])
               for chip in sorted({s.chip for s in model.shapes})}
    print(f"{'regret in %: mean, 95th percentile, most':42}" + "".join(f"{name:>23}" for name in columns))
    for name, mine in groups.items():
        text = f"{name:34}{mine.sum():4d}    "
        for regret in columns.values():
            of = 100 * regret[mine]
            text += f"{numpy.mean(of):9.1f}{numpy.percentile(of, 95):7.1f}{numpy.max(of):7.1f}"
        print(text)
    error = numpy.abs(numpy.log(model.times(values) / model.us))[model.over < 0.5]
    print(f"of the kernels within 1.5 times the fastest the model is off by {100 * numpy.median(error):.1f} % in the median")


def write(model, values):
    text = TABLE.read_text()
    for name, value in zip(model.names, values):
        text = re.sub(rf"^(TW_GEMM_FITTED\({name}, )[^)]*", rf"\g<1>{value:.4g}", text, flags=re.MULTILINE)
    TABLE.write_text(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=("pack", "fit", "report"))
    parser.add_argument("target", help="the packed file, or the build folder")
    parser.add_argument("files", nargs="*", help="JSON lines to pack")
    parser.add_argument("--folds", type=int, default=8, help="parts into which shapes are divided for \"left out\"; 0: none")
    arguments = parser.parse_args()
    if arguments.command == "pack":
        return pack(arguments.target, arguments.files)
    build = ["ninja", "-C", arguments.target, "tests/bench/gemm_fit"]
    subprocess.run(build, check=True, stdout=subprocess.DEVNULL)
    model = Model(arguments.target)
    values = model.values
    if arguments.command == "fit":
        values = fit(model, numpy.ones(len(model.shapes), bool), model.values)
        write(model, values)
    report(model, values, arguments.folds)


if __name__ == "__main__":
    main()
