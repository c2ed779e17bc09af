#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Generates a C test of what tilewright.h promises about every function, from the header's text, so that new
functions are covered:

- With all arguments zero a call fails with a message, and output handles become NULL.
- With valid arguments except for one NULL pointer it fails and names that parameter, unless the
  parameter's description mentions NULL other than as "not NULL".
- With valid arguments except for one destroyed handle it fails, names that parameter and says so.
- With a struct of an invalid size, or one that was not initialized, it fails and says so.
- With valid handles and extreme numbers it does not crash, whatever it returns.
- No call, here or in another test of this folder, returns a status that the header does not list. No
  call that succeeds, and no destroy function, replaces the thread's last failure (--documented).
- Texts and images: a call can ask for the length alone. Otherwise a capacity of 0 is too small, and
  so is one byte less than the length.
- After each of these failures output numbers (@param[out]) are 0, and output arrays ("numbers that x
  can hold") are unchanged.
- On a GPU the caller's current context is the same after the call, failed or not.
- A destroy function accepts NULL.

contract.py HEADER OUT. contract_samples.h holds the valid arguments.

contract.py HEADER OUT --documented writes documented.h, which the harness includes.

contract.py HEADER OUT --calls writes a table with a valid call of each function instead, for tests
that make allocations and driver calls fail: contract_calls.h defines it.
"""
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "capi" / "package"))
import headers

EXTREMES = {"int32_t": ["0", "-1", "INT32_MIN", "INT32_MAX"],
            "int64_t": ["0", "-1", "INT64_MIN", "INT64_MAX", "((int64_t)1 << 32)"],
            "uint32_t": ["0", "UINT32_MAX"],
            "size_t": ["0"],
            "tw_": ["0", "-1", "INT32_MIN", "INT32_MAX", "9999"]}

STRUCTS = re.findall(r"TW_STRUCT\((\w+),",
                     (pathlib.Path(__file__).parents[2] / "capi" / "common" / "structs.inc").read_text())

# Structs in arrays that functions fill.
ARRAYS = ("tw_rule_violation", "tw_gemm_candidate")


class Parameter:
    def __init__(self, text, comment):
        match = re.match(r"^(.*?)(\w+)$", " ".join(text.split()))
        self.type, self.name = match.group(1).strip(), match.group(2)
        self.pointer = self.type.endswith("*")
        words = re.search(rf"@param(?:\[[\w,]+\])?\s+{self.name}\b(.*?)(?=@\w|$)", comment, re.DOTALL)
        words = re.sub(r"[\s*]+", " ", words.group(1)) if words else ""
        self.nullable = bool(re.search(r"(?<!not )\bNULL\b(?! is refused)", words))
        self.base = re.sub(r"\bconst\b|\bstruct\b|[\s*]", "", self.type)
        # A count that is described as "is set" is set on failure, too.
        self.said_out = bool(re.search(rf"@param\[out\]\s+{self.name}\b", comment)) and \
            not re.search(rf"\b{self.name} is set\b", comment)
        self.array = bool(re.search(rf"(that|of)[\s*]+{self.name}[\s*]+can[\s*]+hold"
                                    rf"|@param\[out\]\s+{self.name}\s+room for", comment))

    def out_number(self):
        """Whether it returns a number, an array of numbers, or a pointer that is not a handle."""
        return self.said_out and (self.type in ("int32_t *", "int64_t *", "uint64_t *", "float *",
                                                "size_t *") or self.out_pointer())

    def out_pointer(self):
        """Whether it returns memory or a CUDA handle."""
        return self.type in ("struct CUctx_st **", "struct CUstream_st **", "struct CUevent_st **") or \
            self.type == "void **" and self.name == "memory"

    def out_handle(self):
        return re.fullmatch(r"tw_\w+ \*\*", self.type)


class Function:
    def __init__(self, comment, result, name, parameters):
        self.name, self.result = name, result
        self.statuses = set(re.findall(r"@retval\s+(TW_\w+)", comment))
        self.external = "@threadsafety{external" in comment
        self.parameters = [Parameter(p, comment) for p in parameters.split(",")
                           if p.strip() != "void"]


def functions(header):
    text = headers.text(header)
    for match in re.finditer(r"/\*\*((?:(?!\*/).)*)\*/\s*TW_API\s+([\w ]+?[ *]+)(tw_\w+)\(([^;]*)\);",
                             text, re.DOTALL):
        yield Function(match.group(1), match.group(2).strip(), match.group(3), match.group(4))


# Samples that the host device does not have.
GPU_ONLY = {"tw_module": "s->module", "tw_kernel": "s->kernel", "CUctx_st": "s->cuda_context",
            "CUstream_st": "s->cuda_stream", "CUevent_st": "s->cuda_event"}

# Samples that depend on the function.
SPECIAL = {("tw_stream_begin_capture", "stream"): "s->idle",
           ("tw_stream_end_capture", "stream"): "s->capturing",
           ("tw_graph_instantiate", "graph"): "s->captured",
           ("tw_graph_update", "captured"): "s->captured"}


# Value types, whose possible statuses the header lists once for all functions.
OF_LAYOUT = {"tw_layout", "tw_tuple", "tw_tiler", "tw_linear"}

# Handles that become invalid with their device.
OF_DEVICE = {"tw_device", "tw_stream", "tw_event", "tw_graph", "tw_tensor_map", "tw_module", "tw_kernel",
             "tw_plan"}


def right(function, parameter):
    """A valid C expression for this parameter, or None if the host device has none."""
    name, base = parameter.name, parameter.base
    if (function.name, name) in SPECIAL:
        return SPECIAL[function.name, name]
    if parameter.out_pointer():
        return f"s->{base}_out" if base != "void" else "s->void_pointer_out"
    if base in GPU_ONLY and not parameter.out_handle():
        return None
    if name in ("dst_device", "src_device"):
        return "s->device"
    if function.name in ("tw_embedded_kernel_info", "tw_embedded_kernel_image") and name in ("name", "target"):
        return f"s->kernel_{name}"
    if function.name == "tw_layout_draw_boxes" and name == "boxes":
        return "s->boxes"
    if function.name == "tw_memory_register" and name == "address":
        return "s->memory"
    if name == "image":
        return "s->image"
    if function.name == "tw_module_load" and name == "size":
        return "s->image_size"
    if function.name.endswith("_init") and name == "size":
        return f"sizeof({function.parameters[0].base})"
    if parameter.out_handle():
        return f"(tw_{base[3:]} **)&made"
    if base == "tw_plan":
        family = function.name.split("_")[1]
        families = ('copy', 'prefetch', 'gather', 'scatter', 'gemm', 'elementwise', 'ragged', 'copies', 'route',
                    'grouped', 'quantize')
        return f"s->{family if family in families else 'copy'}"
    if base in ("tw_device", "tw_stream", "tw_event", "tw_graph", "tw_layout", "tw_linear", "tw_tuple", "tw_tiler",
                "tw_tensor_map", "tw_gemm_tuning"):
        return f"(const tw_{base[3:]} *const *)s->{base[3:]}s" if parameter.type.count("*") > 1 \
            else f"s->{base[3:]}"
    if base.endswith("_callback"):
        return "NULL"
    if parameter.type == "void **":
        return "&s->managed"
    if base.startswith("tw_") and parameter.pointer:
        return f"s->{base[3:]}" if base in ARRAYS else f"&s->{base[3:]}"
    if parameter.pointer:
        return {"char": "s->text" if "const" in parameter.type else "s->buffer"}.get(
            base, f"s->{base}_array" if "const" in parameter.type else f"s->{base}_out")
    # A number: as the function or the parameter's name requires, else 1.
    numbers = {"capacity": "8", "rank": "1", "count": "1", "mode": "0", "begin": "0", "end": "1",
               "index": "0", "linear": "0", "arch": "TW_ARCH_SM_90", "kind": "TW_DEVICE_HOST",
               "ordinal": "0", "level": "TW_LOG_ERROR", "dst": "s->memory", "src": "s->memory + 64",
               "address": "0", "bytes": "16", "size": "16", "bits": "0", "base": "4", "shift": "3",
               "from_bits": "16", "to_bits": "8", "form": "TW_DLPACK_TENSOR", "param_count": "2"}
    return numbers.get(name, "1")


# Handles that a destroy function accepts.
HANDLES = OF_DEVICE | OF_LAYOUT | {"tw_gemm_tuning"}


def destroyed_handles(function):
    """Calls with one destroyed handle. Functions check handles before arguments of which the host device has no
    sample, so that any pointer will do for these."""
    samples = [right(function, p) or f"({p.type})s" for p in function.parameters]
    outs = [p for p in function.parameters if p.out_handle()]
    lines = []
    for i, parameter in enumerate(function.parameters):
        if parameter.base not in HANDLES or parameter.out_handle():
            continue
        gone = "gone"
        if parameter.type.count("*") > 1:  # an array, whose first element is checked
            gone = f"(const {parameter.base} *const *)&gone"
        arguments = samples[:i] + [gone] + samples[i + 1:]
        set_before, zero_after = numbers(function)
        lines += ["  {", "    refresh(s);", f"    {parameter.base} *gone = destroyed_{parameter.base[3:]}(s);",
                  "    if (gone) {", "  refresh(s);", "  made = s;", *set_before,
                  f'  FAILS(TW_ERROR_INVALID_ARGUMENT, "{parameter.name}", {call(function, arguments)});',
                  f'  CHECK(strstr(tw_last_error(), " was destroyed with {parameter.base}_destroy()"));',
                  *zero_after, *(["  CHECK(made == NULL);"] if outs else []), "    }", "  }"]
    return lines


def cleaned(parameters):
    outs = [p for p in parameters if p.out_handle()]
    return "".join(f" tw_{p.base[3:]}_destroy(({p.base} *)made);" for p in outs)


def numbers(function, left_out=None):
    """Lines that set the output numbers, and lines that check that they are 0."""
    given = {p.base: p for p in function.parameters if p.out_number()}
    # Outputs of the same type share a variable.
    if left_out is not None and left_out.out_number():
        given.pop(left_out.base)
    places = {f"s->{'void_pointer' if base == 'void' else base}_out[0]": p for base, p in given.items()}
    return ([f"  {place} = {'(void *)1' if p.out_pointer() else '1'};" for place, p in places.items()],
            [f"  CHECK({place} == {int(p.array)});" for place, p in places.items()])


def call(function, arguments):
    return f"{function.name}({', '.join(arguments)})"


def body(function):
    lines = [f"static void {function.name}_keeps_its_word(samples *s) {{",
             "  void *made = NULL;", "  tw_status status = TW_OK;", "  (void)s;", "  (void)made;",
             "  (void)status;"]
    outs = [p for p in function.parameters if p.out_handle()]
    # All arguments zero.
    zeros = ["NULL" if p.pointer or p.base.endswith("_callback") else "0"
             for p in function.parameters]
    if any(p.pointer and not p.nullable for p in function.parameters):
        lines.append(f"  FAILS(TW_ERROR_INVALID_ARGUMENT, NULL, {call(function, zeros)});")
    samples = [right(function, p) for p in function.parameters]
    lines += destroyed_handles(function)
    if None not in samples:
        for i, parameter in enumerate(function.parameters):
            if not parameter.pointer or parameter.nullable:
                continue
            arguments = samples[:i] + ["NULL"] + samples[i + 1:]
            set_before, zero_after = numbers(function, parameter)
            lines += ["  refresh(s);", "  made = s;", *set_before,
                      f'  NULL_FAILS("{parameter.name}", {call(function, arguments)});', *zero_after]
            if outs and not parameter.out_handle():
                lines.append("  CHECK(made == NULL);")
        for parameter, sample in zip(function.parameters, samples):
            # An init function writes the head of the struct; all other functions read it.
            if sample.startswith("&s->") and parameter.base != "void" and \
                    not function.name.endswith("_init"):
                for field, value in [("struct_size", "0"), ("struct_size", "4"),
                                     ("struct_size", "UINT32_MAX"), ("struct_size", "UINT32_MAX - 7"),
                                     ("struct_mark", "0"), ("struct_mark", "UINT32_MAX")]:
                    set_before, zero_after = numbers(function)
                    lines += ["  refresh(s);", f"  {sample[1:]}.{field} = {value};", *set_before,
                              f"  FAILS(TW_ERROR_STRUCT, NULL, {call(function, samples)});",
                              *zero_after]
        for i, parameter in enumerate(function.parameters):
            if parameter.pointer or parameter.base.endswith("_callback"):
                continue
            # The library cannot check the caller's memory: addresses and sizes stay valid.
            if function.name.startswith(("tw_mem", "tw_malloc", "tw_free")):
                continue
            values = EXTREMES.get("tw_" if parameter.base.startswith("tw_") else parameter.base, [])
            for value in values:
                # A capacity beyond the array would be the caller's error.
                if parameter.name in ("capacity", "count", "rank", "size") and "MAX" in value \
                        and "tw_layout_create" not in function.name:
                    continue
                cast = f"({parameter.type}){value}"
                arguments = samples[:i] + [cast] + samples[i + 1:]
                set_before, zero_after = numbers(function)
                lines += ["  refresh(s);", "  made = s;", *set_before,
                          f"  if (answered(status = {call(function, arguments)})) {{{cleaned(outs)} }} else {{"]
                if zero_after:  # a required length is reported, not cleared
                    lines += ["  if (status != TW_ERROR_BUFFER_TOO_SMALL) {", *zero_after, "  }"]
                lines += [*(["  CHECK(made == NULL);"] if outs else []), "  }"]
    if None not in samples:
        lines += text_question(function, samples)
    lines.append("}")
    return lines


def text_question(function, samples):
    """A function with (buffer, capacity, length): the header's convention, checked with output numbers."""
    names = [p.name for p in function.parameters]
    if names[-3:-1] != ["buffer", "capacity"] or function.parameters[-1].type != "size_t *":
        return []

    def asked(buffer, capacity, length):
        return call(function, [*samples[:-3], buffer, capacity, length])
    return ["  if (s->has_kernels) {" if function.name == "tw_embedded_kernel_image" else "  {", "    size_t needed = 0, told = 0;", "    char *whole;", "    refresh(s);",
            f"    OK({asked('NULL', '0', '&needed')});",
            "    CHECK(needed > 0);",
            "    whole = malloc(needed);",
            f'    FAILS(TW_ERROR_BUFFER_TOO_SMALL, "capacity", {asked("NULL", "0", "NULL")});',
            f'    FAILS(TW_ERROR_BUFFER_TOO_SMALL, "capacity", {asked("whole", "0", "&told")});',
            "    EQUAL(told, needed);",
            f'    FAILS(TW_ERROR_BUFFER_TOO_SMALL, "capacity", {asked("whole", "needed - 1", "&told")});',
            "    EQUAL(told, needed);",
            f"    OK({asked('whole', 'needed', 'NULL')});",
            *(["    EQUAL(strlen(whole) + 1, needed);"]
              if function.parameters[-3].base == "char" else []),
            "    free(whole);", "  }"]


def calls(header):
    """Generates a function for each call, one that undoes it, and the table of both."""
    lines = ["/* Made by contract.py. */", "#define HARNESS_STORAGE static __thread",
             '#include "tests/capi/common/contract_calls.h"', "", "unsigned contract_call_failures(void) {",
             "  const unsigned failures = harness.failures;", "  harness.failures = 0;",
             "  return failures;", "}", ""]
    table = []
    for function in functions(header):
        if function.result != "tw_status":
            continue
        samples = [right(function, p) or GPU_ONLY[p.base] for p in function.parameters]
        gpu = any(right(function, p) is None for p in function.parameters)
        of_device = any(p.base in OF_DEVICE and not p.out_handle() for p in function.parameters)
        undo, place = [], 0
        for i, parameter in enumerate(function.parameters):
            if parameter.out_handle():
                samples[i] = f"({parameter.base} **)&made[{place}]"
                undo.append(f"  {parameter.base}_destroy(({parameter.base} *)made[{place}]);")
                place += 1
        if function.name == "tw_malloc":
            undo.append("  tw_free(s->device, s->uint64_t_out[0]);")
        if function.name == "tw_memory_register":
            undo.append("  tw_memory_unregister(s->device, s->memory);")
        if function.name == "tw_malloc_host":
            undo.append("  tw_free_host(s->device, s->void_pointer_out[0]);")
        if function.name == "tw_stream_begin_capture":
            undo += ["  tw_stream_destroy(s->idle);", "  s->idle = NULL;"]
        if any(p.type == "void **" and not p.out_pointer() for p in function.parameters):
            undo.append("  release_managed(s);")
        lines += [f"static tw_status call_{function.name}(samples *s, void **made) {{",
                  "  (void)s;", "  (void)made;", f"  return {call(function, samples)};", "}",
                  f"static void undo_{function.name}(samples *s, void **made) {{",
                  "  (void)s;", "  (void)made;", *undo, "}"]
        table.append(f'  {{"{function.name}", call_{function.name}, undo_{function.name}, '
                     f'{int(gpu)}, {int(function.external)}, {int(of_device)}, '
                     f'{int(any(p.base == "tw_device" for p in function.parameters))}}},')
    return lines + ["", "const contract_call contract_calls[] = {", *table, "};",
                    "const int contract_call_count = sizeof contract_calls / sizeof *contract_calls;",
                    ""]


def statuses(function):
    """The statuses that it may return: its comment's list, and those that the header lists for all functions
    with such arguments. The harness accepts TW_ERROR_INVALID_ARGUMENT for NULL pointers and destroyed handles."""
    may = function.statuses | {"TW_OK", "TW_ERROR_OUT_OF_MEMORY"}
    parameters = function.parameters
    if any(p.base in STRUCTS for p in parameters) and not function.name.endswith("_init"):
        may.add("TW_ERROR_STRUCT")
    if any(p.base in OF_DEVICE or p.base == "CUctx_st" for p in parameters):
        may |= {"TW_ERROR_" + name for name in ("DEVICE_CLOSED", "FORKED", "DEVICE_LOST", "DRIVER",
                                                "CAPTURE", "SHUTDOWN")}
    if sum(p.base in OF_DEVICE and not p.out_handle() for p in parameters) > 1:
        may.add("TW_ERROR_WRONG_DEVICE")
    if any(p.base in OF_LAYOUT for p in parameters):
        may |= {"TW_ERROR_OVERFLOW", "TW_ERROR_CAPACITY", "TW_ERROR_UNSUPPORTED"}
    if any(p.base == "tw_plan" and p.out_handle() for p in parameters):
        may |= {"TW_ERROR_UNSUPPORTED", "TW_ERROR_NO_KERNEL_IMAGE", "TW_ERROR_DRIVER_TOO_OLD"}
    return may


def documented(header):
    """Generates a macro for each function that can fail, which checks that the header lists the returned
    status, and for each function that can fail or returns void, which checks that only a failure changes the
    last failure."""
    lines = ["/* Made by contract.py. */"]
    by_name = {function.name: function for function in functions(header)}
    for function in functions(header):
        if function.result == "tw_status":
            # A support query returns planning's statuses.
            answers = by_name.get(function.name.replace("_supported", "_plan"), function)
            names = " ".join(sorted(statuses(answers)))
            lines += [f"#define {function.name}(...) \\",
                      f'  (remember_(), documented_({function.name}(__VA_ARGS__), \\',
                      f'                            "{function.name}", " {names} ", \\',
                      "                            __FILE__, __LINE__))"]
        elif function.result == "void":
            lines += [f"#define {function.name}(...) \\",
                      f'  (remember_(), {function.name}(__VA_ARGS__), \\',
                      f'   kept_("{function.name}", __FILE__, __LINE__))']
    return lines + [""]


def main():
    header, out = map(pathlib.Path, sys.argv[1:3])
    if sys.argv[3:] == ["--calls"]:
        out.write_text("\n".join(calls(header)))
        return
    if sys.argv[3:] == ["--documented"]:
        out.write_text("\n".join(documented(header)))
        return
    lines = ["/* Made by contract.py. */", '#include "tests/capi/common/contract_samples.h"', ""]
    run = []
    for function in functions(header):
        if function.result == "tw_status":
            lines += body(function) + [""]
            run.append(f"  harness.test = \"{function.name}\";\n"
                       f"  {function.name}_keeps_its_word(&s);\n  neutral_check();")
        elif function.result == "void":
            run.append(f"  {function.name}(NULL);")
    declared = len(re.findall(r"^TW_API\s", headers.text(header), re.MULTILINE))
    found = len(list(functions(header)))
    if declared != found:
        sys.exit(f"{header} declares {declared} functions, of which {found} were understood")
    lines += ["int main(int argc, char **argv) {", "  samples s;", "  harness_start(argc, argv);",
              "  open_samples(&s);", "  neutral_start();", *run, "  neutral_end();",
              "  close_samples(&s);", "  return harness_end();", "}", ""]
    out.write_text("\n".join(lines))


if __name__ == "__main__":
    main()
