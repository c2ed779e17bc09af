#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Builds the pages: build.py DOXYGEN ROOT OUTPUT VERSION [--self-test].

Two passes. The C header is held to everything, parameters included. The C++ header's one-line
members are held to what they do say. Every function of the C header must also say how threads may
call it, which Doxygen itself has no rule for. What has come out is read again: markdown that Doxygen
did not understand is no warning to it.
"""
import html.parser
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "package"))
import headers
CPP_HEADERS = ["tilewright.hpp", "error.hpp", "dlpack.hpp", "graph.hpp", "kernels.hpp", "supported.hpp", "device.cuh"]
DEVICE_FOLDER = "device"  # the parts of device.cuh

ROW = re.compile(r'^TW_STATUS\((\w+), (\d+), "(.*)"\)', re.MULTILINE)
RULE = re.compile(r'^TW_RULE\((\w+), "(\w+)", (\w+), (\w+),\s*((?:"(?:[^"\\]|\\.)*"\s*)+)\)', re.MULTILINE)


def returned(header):
    """status: the functions whose comments name it as a result."""
    found = {}
    for comment, name in re.findall(r"/\*\*((?:(?!\*/).)*)\*/\s*TW_API\s[^;(]*?(tw_\w+)\(",
                                    headers.text(header), re.DOTALL):
        for status in re.findall(r"@retval\s+(TW_ERROR_\w+)", comment):
            found.setdefault(status, []).append(name)
    return found


def of_groups(header):
    """status: the groups whose comments name it for their functions."""
    found = {}
    for group, comment in re.findall(r"@defgroup (\w+) ((?:(?!\*/).)*)\*/", headers.text(header), re.DOTALL):
        for status in re.findall(r"\bTW_ERROR_\w+", comment.partition("Beside what each lists")[2]):
            found.setdefault(status, []).append(group)
    return found


def of_all(header):
    """The statuses that the header's first comment gives to all functions."""
    conventions = header.read_text().partition("The lists of return values")[2].partition(" * - ")[0]
    return set(re.findall(r"\bTW_ERROR_\w+", conventions))


def catalogue(root):
    """The page of errors, from the tables that the library itself is built from."""
    header = root / "capi" / "tilewright.h"
    by, groups, general = returned(header), of_groups(header), of_all(header)
    lines = ["# Errors {#errors}", "",
             "The table lists every status and the functions whose descriptions name it; tw_last_error() "
             "says what was wrong in one case. In addition, any function that takes a handle may report "
             "that its device is lost or closed, or was opened before a fork, and any function that "
             "allocates may report that memory is exhausted. @ref TW_ERROR_INTERNAL is a fault of the "
             "library itself: please report it with its message.",
             "", "| Status | Number | Meaning | Named by |", "|---|---|---|---|"]
    for name, number, text in ROW.findall((root / "src" / "base" / "status.inc").read_text()):
        status = "TW_" + name
        who = ", ".join(f"{f}()" for f in by.get(status, [])[:6])
        more = len(by.get(status, [])) - 6
        who = [who + (f" and {more} more" if more > 0 else "")] if who else []
        who += [f"functions of @ref {group}" for group in groups.get(status, [])]
        who += ["@ref tilewright.h, of all functions"] if status in general else []
        who += ["none: it may come from any"] if status == "TW_ERROR_INTERNAL" else []
        lines.append(f"| {status} | {number} | {text} | {'; '.join(who)} |")
    lines += ["", "## Rules of tensor maps", "",
              "If a call fails with @ref TW_ERROR_RULE, tw_error_info::rule is the id of the broken rule. "
              "In its message, numbers replace {got}, {limit} and {i}; {got:x} is {got} in hexadecimal, and "
              "{got:u} is {got} without a sign.", "",
              "| Rule | Field | Maps | Message |", "|---|---|---|---|"]
    for rule, field, kinds, _, text in RULE.findall((root / "src" / "tensor_map" / "rules" / "rules.inc").read_text()):
        sentence = "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', text)).replace("|", "\\|")
        lines.append(f"| `{rule}` | {field} | {kinds} | {sentence} |")
    return "\n".join(lines) + "\n"


def catalogue_faults(page, root):
    """Rows of the tables that are not on the page, or that nobody is named for; signs in the rules'
    sentences that it does not explain."""
    for row in re.findall(r"^\| (TW_ERROR_\w+) \|.*\|\s*\|$", page, re.MULTILINE):
        yield f"the page of errors names nobody for {row}"
    signs = set(re.findall(r"\{[a-z:]+\}", (root / "src" / "tensor_map" / "rules" / "rules.inc").read_text()))
    for sign in sorted(signs):
        if sign not in page.partition("| Rule |")[0]:
            yield f"the page of errors does not explain {sign}"
    for table, macro in (("base/status.inc", "TW_STATUS"), ("tensor_map/rules/rules.inc", "TW_RULE")):
        for name in re.findall(rf"^{macro}\((\w+)", (root / "src" / table).read_text(), re.MULTILINE):
            if not re.search(rf"^\| (TW_{name}|`{name}`) \|", page, re.MULTILINE):
                yield f"the page of errors lacks {name} of {table}"


TIERS = ["library", "device", "memory", "graph", "tensor", "tensor_map", "kernel", "plan", "table", "layout"]
TEACHES = ["Ways in", "A first program", "What holds for every call", "Errors"]
PAGES = ["mainpage.md", "engine.md", "products.md", "moves.md", "layouts.md", "tensor_maps.md", "kernels.md", "languages.md",
         "glossary.md"]


def out_of_order(header, page):
    """Groups of the header that are not in the order of the tiers, the main page's sections likewise."""
    for path, pattern, wanted in ((header, r"@defgroup (\w+)", TIERS), (page, r"^## (.*)$", TEACHES)):
        found = re.findall(pattern, headers.text(path), re.MULTILINE)
        if found != wanted:
            yield f"{path.name} has {found}, in an order or with a part other than {wanted}"


def unbuilt_examples(root, pages=HERE):
    """Code on the pages that no test builds: they show files, which meson.build or run.sh name."""
    built = "".join((root / path).read_text() for path in
                    ("examples/c/guide/meson.build", "examples/run.sh", "tests/consumer/consume.py"))
    for page in PAGES:
        if not (pages / page).exists():  # The pages that check themselves have two.
            continue
        text = (pages / page).read_text()
        for shown in re.findall(r"^@(?:include|snippet) (\S+)", text, re.MULTILINE):
            name = pathlib.PurePath(shown)
            if not (root / "examples" / shown).exists():
                yield f"{page}: there is no examples/{shown}"
            elif name.stem not in built and name.parent.as_posix().split("/")[0] not in ("rust", "go"):
                yield f"{page}: no test builds examples/{shown}"
        for fence in re.findall(r"^```(\w*)$", text, re.MULTILINE):
            if fence and fence != "sh":
                yield f"{page}: code in {fence} that no test builds: show a file of examples/"


class Words(html.parser.HTMLParser):
    """The words of a page that are not code."""
    CODE = ("code", "pre", "script", "style")

    def __init__(self, text):
        super().__init__()
        self.inside, self.words = [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        listing = dict(attributes).get("class") in ("fragment", "line")
        if tag in self.CODE or tag == "div" and (listing or self.inside):
            self.inside.append(tag)

    def handle_endtag(self, tag):
        if self.inside and self.inside[-1] == tag:
            self.inside.pop()

    def handle_data(self, data):
        if not self.inside:
            self.words.append(data)


def misread(pages):
    """Pages whose markdown Doxygen took for something else: without their name or title, or with marks
    of code among the words. Headers that they do not name as programs include them."""
    for name, title in (("index", "tilewright"), ("languages", "Languages"), ("glossary", "Glossary"),
                        ("errors", "Errors")):
        page = pages / f"{name}.html"
        if not page.exists():
            yield f"there is no {page.name}: its heading is not its page's first line"
        elif not re.search(rf"<title>[^<]*\b{title}</title>", page.read_text()):
            yield f'{page.name} has not the title "{title}"'
    for page in sorted(pages.glob("*.html")):
        text = page.read_text()
        for words in Words(text).words:
            if "`" in words or "\u2018" in words:
                yield f"{page.name}: code that is none: {' '.join(words.split())[:100]}"
        for header in re.findall(r"#include &lt;([^&\s]+)&gt;", re.sub(r"<[^>]*>", "", text)):
            folder, _, name = header.rpartition("/")
            if (name.startswith("tilewright") or name in CPP_HEADERS) and folder != "tilewright":
                yield f"{page.name}: #include <{header}>"


def laid_out(root, output):
    """A folder with the headers as they are installed."""
    folder = pathlib.Path(output) / "headers"
    (folder / "tilewright").mkdir(parents=True, exist_ok=True)
    for source in (*headers.paths(root / "capi" / "tilewright.h"), *(root / "include" / "tilewright" / n for n in CPP_HEADERS)):
        link = folder / "tilewright" / source.name
        link.unlink(missing_ok=True)
        link.symlink_to(source)
    parts = folder / "tilewright" / DEVICE_FOLDER
    parts.mkdir(exist_ok=True)
    for source in (root / "include" / "tilewright" / DEVICE_FOLDER).glob("*.cuh"):
        link = parts / source.name
        link.unlink(missing_ok=True)
        link.symlink_to(source)
    return folder


def doxygen(tool, root, output, version, undocumented, inputs=None):
    """Exit status and warnings of a run."""
    text = (HERE / "Doxyfile.in").read_text()
    errors = pathlib.Path(output) / "errors.md"
    pathlib.Path(output).mkdir(parents=True, exist_ok=True)
    errors.write_text(catalogue(root))
    for name, value in (("VERSION", version), ("OUTPUT", output), ("ROOT", root), ("ERRORS", errors),
                        ("PAGES", " ".join(f'"{root}/capi/doc/{page}"' for page in PAGES)),
                        ("HEADERS", laid_out(root, output)), ("UNDOCUMENTED", "YES" if undocumented else "NO")):
        text = text.replace(f"@{name}@", str(value))
    if inputs:
        text += "INPUT = " + " ".join(f'"{i}"' for i in inputs) + "\nUSE_MDFILE_AS_MAINPAGE =\n"
    # Pages of a run before this one, whose names may be others by now, are not of this one.
    shutil.rmtree(pathlib.Path(output) / "html", ignore_errors=True)
    done = subprocess.run([tool, "-"], input=text, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def silent_functions(header):
    """Functions whose comment lacks @threadsafety, @since or, where they enqueue work, @capture, or where they
    run a plan, @repeats."""
    text = headers.text(header)
    for match in re.finditer(r"/\*\*((?:(?!\*/).)*)\*/\s*TW_API\s[^;(]*?(tw_\w+)\(", text, re.DOTALL):
        for command in ("@threadsafety{", "@since"):
            if command not in match.group(1):
                yield f"{match.group(2)}: its comment has no {command.rstrip('{')}"
        # What a stream does later, a capture of it makes part of a graph, or not.
        works = match.group(2).startswith("tw_mem") or match.group(2).endswith("_run")
        if "@capture{" not in match.group(1) and (works or re.search(r"\bEnqueues\b", match.group(1))):
            yield f"{match.group(2)}: its comment has no @capture"
        if match.group(2).endswith("_run") and "@repeats{" not in match.group(1):
            yield f"{match.group(2)}: its comment has no @repeats"
    commented = len(re.findall(r"\*/\s*TW_API\s", text))
    if commented != len(re.findall(r"^TW_API\s", text, re.MULTILINE)):
        yield "a function has no comment"


def self_test(tool, root, version):
    """A parameter without words, and a function without its thread-safety, are seen."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        header = folder / "planted.h"
        header.write_text("/** @file */\n/** Does it. @param a one. @since 0.1 */\n"
                          "TW_API int tw_f(int a, int b);\n")
        status, report = doxygen(tool, root, folder / "out", version, True, [header])
        assert status != 0 and "'b'" in report.replace('"', "'"), report
        assert list(silent_functions(header)) == ["tw_f: its comment has no @threadsafety"]
        header.write_text("/** Enqueues it. @threadsafety{any thread} @since 0.1 */\nTW_API int tw_g(int a);\n")
        assert list(silent_functions(header)) == ["tw_g: its comment has no @capture"]
        header.write_text("/** Runs it. @capture{allowed} @threadsafety{any thread} @since 0.1 */\n"
                          "TW_API int tw_h_run(int a);\n")
        assert list(silent_functions(header)) == ["tw_h_run: its comment has no @repeats"]
        (folder / "mainpage.md").write_text("@include c/none.c\n@snippet c/missing.c part\n@include check/npy_check.c\n"
                                            "```c\nint main(void);\n```\n")
        (folder / "languages.md").write_text("@include python/tilewright.py\n```sh\nls\n```\n")
        found = [*unbuilt_examples(root, folder)]
        wanted = ("there is no examples/c/none.c", "there is no examples/c/missing.c", "code in c that")
        assert len(found) == len(wanted) and all(map(lambda word, fault: word in fault, wanted, found)), found
        header.write_text(" ".join(f"@defgroup {tier}\n" for tier in ["device", *TIERS[:1], *TIERS[2:]]))
        (folder / "mainpage.md").write_text("## Errors\n")
        assert len([*out_of_order(header, folder / "mainpage.md")]) == 2
        self_test_of_pages(tool, root, version, folder)
    page = catalogue(root)
    assert not list(catalogue_faults(page, root))
    assert re.search(r"^\| TW_ERROR_NO_KERNEL_IMAGE .*@ref plan", page, re.MULTILINE)
    short = "\n".join(line for line in page.split("\n") if "TW_ERROR_RULE |" not in line)
    assert [*catalogue_faults(short, root)] == ["the page of errors lacks ERROR_RULE of base/status.inc"]
    bare = re.sub(r"(TW_ERROR_SHUTDOWN .*) \| .* \|", r"\1 | |", page).replace("{got:x}", "")
    assert [*catalogue_faults(bare, root)] == ["the page of errors names nobody for TW_ERROR_SHUTDOWN",
                                               "the page of errors does not explain {got:x}"]


def self_test_of_pages(tool, root, version, folder):
    """A heading behind a comment, a quote in code and a header without its folder are seen."""
    (folder / "languages.md").write_text("<!-- first -->\n# Languages {#languages}\nM's `f('a')`, `b`\n")
    (folder / "error.hpp").write_text("/** @file */\n/** A type. */\nstruct A { int a; /**< a */ };\n")
    doxygen(tool, root, folder / "pages", version, False, [folder / "languages.md", folder / "error.hpp"])
    found = [*misread(folder / "pages" / "html")]
    for word in ("no languages.html", "code that is none: M's", "#include <"):
        assert any(word in fault for fault in found), (word, found)


def main():
    tool, root, output, version, *rest = sys.argv[1:]
    root = pathlib.Path(root).resolve()
    if rest:
        self_test(tool, root, version)
    header = root / "capi" / "tilewright.h"
    faults = [*silent_functions(header), *catalogue_faults(catalogue(root), root),
              *unbuilt_examples(root), *out_of_order(header, HERE / "mainpage.md")]
    with tempfile.TemporaryDirectory() as name:
        status, report = doxygen(tool, root, name, version, True, headers.paths(header))
    if status:
        faults.append(report)
    status, report = doxygen(tool, root, pathlib.Path(output).resolve(), version, False)
    if status:
        faults.append(report)
    faults += misread(pathlib.Path(output).resolve() / "html")
    print("\n".join(faults))
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
