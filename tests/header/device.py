#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks include/tilewright/device.cuh, the header for kernel authors.

    device.py host COMPILER   the part that needs no nvcc, as C++17 and C++20, alone and with the other
                              public headers
    device.py nvcc            everything, as C++17 and C++20, for each target, in two files of one
                              program; also a kernel for each call of each function: ptxas must accept
                              its PTX, which must have the instruction that the function's comment names

The calls are generated from the header's text, so that new functions are covered. A function that this
script cannot call is a fault."""
import itertools
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
HEADERS = ROOT / "include"
TAGS = ["@ptx", "@needs", "@calledby", "@ordering"]
OVERLOAD = "/// @overload\n"  # stands for the comment of the preceding function
FUNCTION = re.compile(r"((?:^///.*\n)+)(?:^template <([^>]*)>\n)?^__device__ __forceinline__ ([\w ]+?) (\w+)\(",
                      re.MULTILINE)
# Compilation targets: the virtual architecture of the PTX, and the target of ptxas.
TARGETS = {"sm_90": ("compute_90", "sm_90"), "sm_90a": ("compute_90a", "sm_90a"),
           "sm_100f": ("compute_100f", "sm_100f")}
# Arguments for template parameters that are numbers.
COORDINATES = ["x", "y", "z", "u", "v", "c", "w", "h", "d", "n"]
NUMBERS = {"kPending": [0, 3]}
BITS = {"u32": "b32", "u64": "b64"}


def skip(why):
    print(f"skipped: {why}")
    sys.exit(77)


class Function:
    """A device function, parsed from the header's text."""

    def __init__(self, match, text):
        self.comment, template, self.result, self.name = match.groups()
        begin, end = match.end(), balanced(text, match.end() - 1, "()")
        self.parameters = split(" ".join(text[begin:end].split()))
        body = text.index("{", end)
        self.body = text[body:balanced(text, body, "{}")]
        self.template = [p.split() for p in split(template or "")]
        self.first = True  # the first of its overloads

    def tag(self, name):
        """The text after a tag, up to the next tag."""
        words = " ".join(line[3:].strip() for line in self.comment.splitlines())
        found = re.search(rf"{name} (.*?)(?= @\w|$)", words)
        return found.group(1).strip() if found else ""

    def instruction(self):
        """The parts of the instruction's name, and names next to it."""
        return re.findall(r"`([^`]*)`", self.tag("@ptx"))

    def rank(self):
        """The number of coordinates of a tensor-map function; those of gather4 and scatter4 are rows."""
        names = [p.split()[-1] for p in self.parameters]
        return sum(n in COORDINATES for n in names) or None

    def targets(self):
        named = re.findall(r"\bsm_\w+", self.tag("@needs"))
        return list(TARGETS) if "sm_90" in named else [t for t in TARGETS if t in named]


def balanced(text, begin, pair):
    """The position of the bracket that closes the one at `begin`."""
    depth = 0
    for at in range(begin, len(text)):
        depth += (text[at] == pair[0]) - (text[at] == pair[1])
        if depth == 0:
            return at
    raise ValueError(f"{text[begin:begin + 40]}: is not closed")


def split(text):
    """Splits at commas outside of brackets."""
    parts, depth = [""], 0
    for sign in text:
        depth += (sign in "([{") - (sign in ")]}")
        if sign == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += sign
    return [part.strip() for part in parts if part.strip()]


def device_text(folder):
    """The concatenated text of the header's parts."""
    return "\n".join(path.read_text() for path in sorted((folder / "tilewright" / "device").glob("*.cuh")))


def functions(folder):
    """All functions. An overload must have the name of the function before it and shares its comment."""
    text, found = device_text(folder), []
    for match in FUNCTION.finditer(text):
        function = Function(match, text)
        if function.comment == OVERLOAD and found and found[-1].name == function.name:
            function.comment, function.first = found[-1].comment, False
        found.append(function)
    return found


def enumerators(folder, name):
    inside = re.search(rf"enum class {name} {{(.*?)}}", device_text(folder), re.DOTALL).group(1)
    return re.findall(r"\w+", re.sub(r"///.*", "", inside))


def faults_of_text(folder):
    """Faults visible in the text: functions that FUNCTION does not match, comments that lack a tag."""
    text = device_text(folder)
    found = functions(folder)
    code = re.sub(r"^\s*//.*$", "", text, flags=re.MULTILINE)
    plain = len(re.findall(r"(?<!__host__ )\b__device__\b", code))
    if plain != len(found):
        yield f"{plain} device functions, of which {len(found)} have a comment and are __forceinline__"
    for f in found:
        for tag in TAGS:
            if not f.tag(tag):
                yield f"{f.name}: its comment has no {tag}"
        if not f.instruction():
            yield f"{f.name}: @ptx names no instruction in `...`"
        if not f.targets():
            yield f"{f.name}: @needs names none of {', '.join(TARGETS)}"
        if "asm volatile(" in f.body and '"memory"' not in f.body and f.parameters:
            yield f"{f.name}: an asm statement does not clobber memory"
        told = ",".join(re.findall(r"@param ([\w,]+) ", f.comment)).split(",")
        for parameter in f.parameters if f.first else []:
            if parameter.split()[-1] not in told:
                yield f"{f.name}: its comment has no @param {parameter.split()[-1]}"
    umbrella = (folder / "tilewright" / "device.cuh").read_text()
    parts = [p.name for p in (folder / "tilewright" / "device").glob("*.cuh") if f"device/{p.name}" not in umbrella]
    nested = device_text(folder)
    for part in sorted(parts):
        if f"#include <tilewright/device/{part}>" not in nested:
            yield f"device.cuh does not include {part}"


def values_of(f, folder, kind, name):
    """The arguments to test for a template parameter."""
    if kind == "int" and name in NUMBERS:
        return [str(n) for n in NUMBERS[name]]
    if kind in ("ReduceOp", "ReduceType"):
        return [f"{kind}::{e}" for e in enumerators(folder, kind)]
    raise ValueError(f"{f.name}: this script has no values for the template parameter {kind} {name}")


def kernel(f, number, chosen):
    """A kernel that calls the function and passes its own parameters on."""
    takes, gives = [], []
    for at, parameter in enumerate(f.parameters):
        scalar = re.fullmatch(r"((?:const )?[\w ]+?(?:\*| )) ?(\w+)", parameter)
        if scalar:
            takes.append(f"{scalar.group(1).strip()} p{at}")
            gives.append(f"p{at}")
        else:
            raise ValueError(f"{f.name}: this script has no argument for {parameter}")
    name = f.name + (f"<{', '.join(chosen.values())}>" if chosen else "")
    call = f"{name}({', '.join(gives)});"
    if f.result != "void":
        takes.append(f"{f.result}* out")
        call = "*out = " + call
    condition = re.search(r"static_assert\((\w+\(k\w+(?:, k\w+)*\)), ", f.body)
    if condition:  # some of the values exclude each other
        names = [p[1] for p in f.template]
        call = (f"[&]<{', '.join(' '.join(p) for p in f.template)}>() {{ if constexpr ({condition.group(1)}) "
                f"{f.name}<{', '.join(names)}>({', '.join(gives)}); else asm volatile(\"// refused\"); }}"
                f".template operator()<{', '.join(chosen.values())}>();")
    return f'extern "C" __global__ void call_{number}({", ".join(takes)}) {{ {call} }}\n'


def calls(folder, target):
    """Yields (function, template arguments, the kernel's text) for all that the target can call."""
    for f in functions(folder):
        if target not in f.targets():
            continue
        names = [p[1] for p in f.template]
        lists = [values_of(f, folder, *p) for p in f.template]
        for values in itertools.product(*lists):
            yield f, dict(zip(names, values))


def wrong_instruction(f, chosen, text):
    """What an entry's PTX lacks of the instruction that the comment and template arguments demand."""
    if "// refused" in text:
        return None
    *parts, last = f.instruction()
    ending = r"(?=[\s;]|\.(?:add|min|max|inc|dec|and|or|xor)\b)"
    for wanted in [*map(re.escape, parts), re.escape(last) + ending]:
        if not re.search(wanted, text):
            return f"{f.name}{list(chosen.values())}: its PTX has no {wanted}"
    op = chosen.get("kOp", "").replace("ReduceOp::", "").replace("bit_", "")
    kind = chosen.get("kType", "").replace("ReduceType::", "")
    kind = BITS.get(kind, kind) if op in ("and", "or", "xor") else kind
    rank = f.rank()
    for name, wanted in (("rank", rank and rf"\.{rank}d\."), ("operation", op and rf"\.{op}\b"),
                         ("type", kind and rf"\.{kind}\b")):
        if wanted and not re.search(rf"bulk[^;]*{wanted}", text):
            return f"{f.name}({', '.join(f.parameters)}) {list(chosen.values())}: its PTX has another {name}"
    return None


def entries(ptx):
    """Each kernel's PTX by its number."""
    bodies = re.split(r"\.visible \.entry call_(\d+)\(", ptx)
    return {int(number): body for number, body in zip(bodies[1::2], bodies[2::2])}


def run(*command, cwd=None):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, cwd=cwd)
    return done.returncode == 0, done.stdout + done.stderr


def faults_of_calls(nvcc, folder, target, work):
    """Compiles a call of everything that the target has."""
    try:
        made = list(calls(folder, target))
        text = "".join(kernel(f, number, chosen) for number, (f, chosen) in enumerate(made))
    except ValueError as error:
        yield str(error)
        return
    virtual, real = TARGETS[target]
    source, ptx = work / f"calls_{target}.cu", work / f"calls_{target}.ptx"
    source.write_text("#include <tilewright/device.cuh>\nusing namespace tilewright;\n" + text)
    good, report = run(nvcc, "-std=c++20", "-ptx", f"-arch={virtual}", "-I", folder, source, "-o", ptx)
    if not good:
        yield f"{target}: {report}"
        return
    found, refused, called = entries(ptx.read_text()), 0, {f.name for f, _ in made}
    for number, (f, chosen) in enumerate(made):
        refused += "// refused" in found[number]
        wrong = wrong_instruction(f, chosen, found[number])
        if wrong:
            yield f"{target}: {wrong}"
    good, report = run(nvcc, "-cubin", f"-arch={real}", ptx, "-o", work / "calls.cubin")
    if not good:
        yield f"{target}: ptxas: {report}"
    print(f"{target}: {len(made) - refused} calls of {len(called)} functions")


def faults_of_programs(nvcc, folder, work):
    """Compiles the header alone, in two files of one program."""
    for number in (1, 2):
        (work / f"part_{number}.cu").write_text(
            "#include <tilewright/device.cuh>\n#include <tilewright/device.cuh>\n"
            f"__global__ void part_{number}(const __grid_constant__ tilewright::TensorMapParam map) {{\n"
            "  tilewright::prefetch_map(&map);\n}\n")
    for standard, target in itertools.product(("c++17", "c++20"), TARGETS):
        virtual, real = TARGETS[target]
        for number in (1, 2):
            good, report = run(nvcc, f"-std={standard}", "-rdc=true", "-c", "-Werror", "all-warnings", "-Xcompiler",
                               "-Wall,-Wextra,-Werror", "-gencode", f"arch={virtual},code={real}", "-I", folder,
                               work / f"part_{number}.cu", "-o", work / f"part_{number}.o")
            if not good:
                yield f"{standard} for {target}: {report}"
                break
        else:
            linked = [run(nvcc, "-dlink", "-gencode", f"arch={virtual},code={real}", work / "part_1.o",
                          work / "part_2.o", "-o", work / "device.o"),
                      run("ld", "-r", work / "part_1.o", work / "part_2.o", "-o", work / "host.o")]
            for good, report in linked:
                if not good:
                    yield f"{standard} for {target}, linked: {report}"


def faulty(folder, name, *changes):
    """A copy of the headers with these changes."""
    copy = folder / name
    shutil.copytree(HEADERS, copy)
    for file, before, after in changes:
        path = copy / "tilewright" / "device" / file
        text = path.read_text()
        assert before in text, before
        path.write_text(text.replace(before, after, 1))
    return copy


ADDED = "/// @}\n\n}  // namespace tilewright"
GOOD = "/// Does it.\n/// @ptx `nanosleep.u32`\n/// @needs PTX ISA 6.3, sm_90\n/// @calledby Any thread.\n/// @ordering None.\n"


def planted_texts(folder):
    """Faults that the text shows."""
    for name, change, word in [
            ("bare", ("store.cuh", ADDED, "__device__ __forceinline__ void bare() {}\n" + ADDED), "device functions, of which"),
            ("slow", ("store.cuh", ADDED, GOOD + "__device__ void slow() {}\n" + ADDED), "device functions, of which"),
            ("untold", ("barrier.cuh", "/// @ordering Call it before an arrival", "/// Call it before an arrival"), "mbarrier_expect: its comment has no @ordering"),
            ("unnamed", ("fence.cuh", "@param address of", "of"), "no @param address"),
            ("alone", ("load.cuh", OVERLOAD + "__device__ __forceinline__ void load_tile(", OVERLOAD + "__device__ __forceinline__ void load_title("), "load_ti"),
            ("unclobbered", ("fence.cuh", '"r"(shared)\n      : "memory");', '"r"(shared));'), "does not clobber")]:
        found = [*faults_of_text(faulty(folder, name, change))]
        assert found and all(word in fault for fault in found), (name, found)


def planted_calls(nvcc, folder):
    """Faults that nvcc or ptxas shows."""
    for name, change, word in [
            ("other", ("fence.cuh", '"fence.proxy.async.global;"', '"fence.proxy.async;"'), "fence_async_global[]: its PTX has no"),
            ("misspelt", ("store.cuh", '"cp.async.bulk.commit_group;"', '"cp.async.bulk.commit_groups;"'), "commit"),
            ("other_op", ("reduce.cuh", 'instruction("add")', 'instruction("min")'), "its PTX has another operation"),
            ("other_rank", ("store.cuh", '.2d.global.shared::cta.tile.bulk_group"\n      " [%0, {%2, %3}]', '.1d.global.shared::cta.tile.bulk_group"\n      " [%0, {%2}]'), "its PTX has another rank"),
            ("uncallable", ("store.cuh", ADDED, GOOD + "__device__ __forceinline__ void odd(float (*f)(int)) {}\n" + ADDED), "has no argument for")]:
        work = folder / (name + "_work")
        work.mkdir()
        found = [*faults_of_calls(nvcc, faulty(folder, name, change), "sm_90", work)]
        assert found and any(word in fault for fault in found), (name, found)
    work = folder / "twice_work"
    work.mkdir()
    copy = faulty(folder, "twice", ("fence.cuh", ADDED, "__device__ int counter;\nvoid twice() {}\n" + ADDED))
    assert any("multiple definition" in fault for fault in faults_of_programs(nvcc, copy, work))


def faults_of_install():
    listed = re.findall(r"tilewright/device/(\w+\.cuh)", (HEADERS / "meson.build").read_text())
    for part in sorted({p.name for p in (HEADERS / "tilewright" / "device").glob("*.cuh")} ^ set(listed)):
        yield f"include/meson.build: device/{part} is in one of the list and the folder"


def check_nvcc():
    nvcc = shutil.which("nvcc") or shutil.which("/usr/local/cuda/bin/nvcc")
    if not nvcc:
        skip("there is no nvcc")
    version = re.search(r"release (\d+)\.(\d+)", run(nvcc, "--version")[1])
    if not version or tuple(map(int, version.groups())) < (12, 9):
        skip("nvcc is older than 12.9, which knows sm_100f")
    with tempfile.TemporaryDirectory() as name:
        work = pathlib.Path(name)
        planted_calls(nvcc, work)
        yield from faults_of_programs(nvcc, HEADERS, work)
        for target in TARGETS:
            yield from faults_of_calls(nvcc, HEADERS, target, work)


HOST = """
static_assert(tilewright::swizzled_offset(tilewright::SwizzleMode::bytes_128, 128, 1, 0) == 128 + 16, "");
static_assert(sizeof(tilewright::TensorMapParam) == 128 && tilewright::kEvictFirst != 0, "");
int main() {}
"""


def check_host(compiler):
    if not shutil.which(compiler):
        skip(f"there is no {compiler}")
    with tempfile.TemporaryDirectory() as name:
        planted_texts(pathlib.Path(name))
        public = pathlib.Path(name) / "public" / "tilewright"
        shutil.copytree(HEADERS / "tilewright", public)
        for header in (ROOT / "capi").glob("tilewright*.h"):
            shutil.copy(header, public)
        source = pathlib.Path(name) / "host.cpp"
        for standard, beside in itertools.product(("c++17", "c++20"), ("", "#include <tilewright/tilewright.hpp>\n")):
            if beside and standard == "c++17":  # the classes need C++20
                continue
            for order in ((beside, "#include <tilewright/device.cuh>\n"), ("#include <tilewright/device.cuh>\n", beside)):
                source.write_text("".join(order) + HOST + ("using namespace tilewright;\n" if beside else ""))
                good, report = run(compiler, f"-std={standard}", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow",
                                   "-Werror", "-fsyntax-only", "-I", public.parent, source)
                if not good:
                    yield f"{compiler} -std={standard}: {report}"
    yield from faults_of_text(HEADERS)
    yield from faults_of_install()


def main():
    faults = list(check_nvcc() if sys.argv[1] == "nvcc" else check_host(sys.argv[2]))
    for fault in faults:
        print(fault)
    print(f"{len(faults)} faults")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
