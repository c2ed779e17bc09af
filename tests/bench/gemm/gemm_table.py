#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""gemm_table.py FILE...: joins JSON lines of bench_gemm into tables.

Several measurements of one shape become medians, each figure by itself. --below=1.0 lists only shapes
with a lower ratio. --candidates prints what the choice lost to the best candidate. --counters=FILE of
gemm_counters.py adds a reason to shapes slower than the peer. --torch=FILE of peers_gemm.py checks that
cuBLASLt was as fast as torch.mm on the same shapes; otherwise the run is void.
"""
import argparse
import collections
import json
import math
import pathlib
import statistics

KEY = ("set", "m", "n", "k", "orders", "dtype", "out", "mode")


def read(files):
    classes, plans, candidates = [], collections.OrderedDict(), collections.OrderedDict()
    for file in files:
        for text in pathlib.Path(file).read_text().splitlines():
            line = json.loads(text)
            if line["kind"] == "class":
                if line not in classes:
                    classes.append(line)
                continue
            if line["kind"] not in ("plan", "candidate"):
                continue
            key = tuple(line[name] for name in KEY)
            if line["kind"] == "plan":
                plans.setdefault(key, []).append(line)
            else:
                candidates.setdefault(key, {}).setdefault(line["kernel"], []).append(line)
    return classes, plans, candidates


def joined(lines):
    one = dict(lines[-1])
    for name in ("us", "peer_us", "limit_us", "tflops", "gbs"):
        one[name] = statistics.median(line[name] for line in lines)
    ratios = [line["peer_us"] / line["us"] for line in lines if line["peer_us"] > 0]
    one["ratio"] = statistics.median(ratios) if ratios else None
    one["right"] = all(line["right"] for line in lines)
    return one


def reason(ours, peer):
    """The likeliest reason for a slower kernel, by the counters of ours and the peer's."""
    pair = lambda name: f"{ours[name]:.0f} and {peer[name]:.0f}"
    if ours["l2"] > max(75, peer["l2"] + 8):
        return f"L2 busy {pair('l2')} %"
    if ours["busy"] < peer["busy"] - 3:
        return f"SMs busy {pair('busy')} % of the time: last wave, ends"
    if ours["mb_read"] > 1.15 * peer["mb_read"] and ours["dram"] > 20:
        return f"reads {pair('mb_read')} MB"
    if ours["l2"] > peer["l2"] + 8:
        return f"L2 busy {pair('l2')} %"
    if ours["dram"] > 75:
        return f"memory busy {pair('dram')} %"
    if ours["tensor"] < peer["tensor"] - 2:
        return f"tensor cores busy {pair('tensor')} %, SMs as busy: waits inside tiles"
    return f"tensor cores busy {pair('tensor')} %: the clock"


def read_counters(file):
    found = {}
    for text in pathlib.Path(file).read_text().splitlines():
        line = json.loads(text)
        if line["peer"]:
            peer = max(line["peer"], key=lambda kernel: kernel["us"])
            found[tuple(line[name] for name in KEY[:5]) + (line["out"],)] = reason(line["ours"], peer)
    return found


def print_plans(plans, below, counters):
    print("| set | m, n, k | A, B | D | us | TFLOP/s | GB/s | limit, us | cuBLASLt, us | ratio | kernel |"
          + (" below 1, because |" if counters else ""))
    print("|---|---|---|---|---|---|---|---|---|---|---|" + ("---|" if counters else ""))
    for p in plans:
        if p["ratio"] is None or p["ratio"] >= below:
            continue
        why = counters.get(tuple(p[name] for name in KEY[:5]) + (p["out"],), "") if p["ratio"] < 1 else ""
        why = f" {why} |"
        print(f"| {p['set']} | {p['m']}, {p['n']}, {p['k']} | {p['orders']} | {p['out']} | {p['us']:.1f} | "
              f"{p['tflops']:.0f} | {p['gbs']:.0f} | {p['limit_us']:.1f} | {p['peer_us']:.1f} | {p['ratio']:.2f} | "
              f"{p['kernel']}{'' if p['right'] else ' WRONG'} |{why if counters else ''}")


def print_classes(classes, plans):
    print("\n| class | shapes | geometric mean | wanted | least | wanted | where |")
    print("|---|---|---|---|---|---|---|")
    groups = sorted({(p["dtype"], p["mode"]) for p in plans})
    for dtype, mode in groups:
        floor = 0.97 if mode == "hot" else 1.0
        for number, c in enumerate(classes):
            of = [p for p in plans if number in p["classes"] and p["ratio"] and (p["dtype"], p["mode"]) == (dtype, mode)]
            if not of:
                continue
            mean = math.exp(statistics.fmean(math.log(p["ratio"]) for p in of))
            worst = min(of, key=lambda p: p["ratio"])
            print(f"| {dtype} {mode}: {c['name']} | {len(of)} | {mean:.3f} | {c['mean'] * floor:.3f} | "
                  f"{worst['ratio']:.3f} | {c['least'] * floor:.3f} | {worst['m']}, {worst['n']}, {worst['k']} |")


def print_torch(plans, file):
    times = {}
    for text in pathlib.Path(file).read_text().splitlines():
        words = text.split()
        if words[:1] == ["torch.mm"]:
            times[tuple(map(int, words[1].split("x")))] = float(words[2])
    cold = {(p["m"], p["n"], p["k"]): p["peer_us"] for p in plans
            if (p["orders"], p["dtype"], p["out"], p["mode"]) == ("rc", "bf16", "bf16", "cold")}
    both = [times[shape] / cold[shape] for shape in times if cold.get(shape)]
    if both:
        mean = math.exp(statistics.fmean(map(math.log, both)))
        print(f"\ntorch.mm takes {mean:.3f} of cuBLASLt's time on {len(both)} shapes"
              f"{': the run is VOID' if mean < 0.95 else ''}")


def print_candidates(plans, candidates):
    print("\n| m, n, k | A, B | D | choice, us | best, us | lost | best candidate |")
    print("|---|---|---|---|---|---|---|")
    for key, plan in plans.items():
        if key not in candidates:
            continue
        us, name = min((joined(lines)["us"], kernel) for kernel, lines in candidates[key].items())
        ours = joined(plan)
        print(f"| {ours['m']}, {ours['n']}, {ours['k']} | {ours['orders']} | {ours['out']} | {ours['us']:.1f} | {us:.1f} | "
              f"{(ours['us'] / us - 1) * 100:.1f} % | {name} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+")
    parser.add_argument("--below", type=float, default=math.inf)
    parser.add_argument("--candidates", action="store_true")
    parser.add_argument("--counters")
    parser.add_argument("--torch")
    options = parser.parse_args()
    classes, plans, candidates = read(options.files)
    all_plans = [joined(lines) for lines in plans.values()]
    print_plans(all_plans, options.below, read_counters(options.counters) if options.counters else {})
    print_classes(classes, all_plans)
    if options.torch:
        print_torch(all_plans, options.torch)
    if options.candidates:
        print_candidates(plans, candidates)


if __name__ == "__main__":
    main()
