#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Folders reflect ownership: no folder of src, capi or tests may have more than 30 files, and no folders may
include one another in a cycle. A fuzzer's corpus may have any number of inputs."""
import collections

import common
import layers

LIMIT = 30
ROOTS = ("src", "capi", "include", "tests")


def crowded(root, files):
    counts = collections.Counter(file.relative_to(root).parent.as_posix() for file in files)
    for folder, count in sorted(counts.items()):
        if folder.split("/")[0] in ROOTS and not folder.endswith("_corpus") and count > LIMIT:
            yield f"{folder}: {count} files side by side, at most {LIMIT}"


def includes(root, files):
    """folder -> the folders that its files include, each with one of those files."""
    found = collections.defaultdict(dict)
    for source in files:
        path = source.relative_to(root)
        if source.suffix not in layers.SOURCES or path.parts[0] not in ROOTS:
            continue
        for kind, name in layers.INCLUDE.findall(source.read_text(errors="replace")):
            target = layers.resolve(root, source, name) if kind == '"' else None
            folder = path.parent.as_posix()
            if target and (other := target.rpartition("/")[0]) != folder:
                found[folder].setdefault(other, f"{path.as_posix()} includes {name}")
    return found


def circles(root, files):
    """Each cycle of folders once, with the includes that cause it."""
    found = includes(root, files)
    reached = {}

    def reach(folder):
        if folder not in reached:
            reached[folder], to_see = set(), [folder]
            while to_see:
                for other in found.get(to_see.pop(), {}):
                    if other not in reached[folder]:
                        reached[folder].add(other)
                        to_see.append(other)
        return reached[folder]

    seen = set()
    for folder in sorted(found):
        circle = sorted(other for other in reach(folder) if folder in reach(other))
        if circle and tuple(circle) not in seen:
            seen.add(tuple(circle))
            whys = [why for one in circle for other, why in sorted(found[one].items()) if other in circle]
            yield f"{', '.join(circle)} include one another: {'; '.join(whys)}"


def faults_of(root, files):
    yield from crowded(root, files)
    yield from circles(root, files)


def check(_):
    yield from faults_of(common.ROOT, common.tracked())


def planted(folder):
    texts = {"src/a/a.hpp": '#include "b/b.hpp"\n', "src/b/b.hpp": '#include "c/c.hpp"\n',
             "src/c/c.hpp": '#include "a/a.hpp"\n', "src/d/d.hpp": '#include "a/a.hpp"\n#include <d>\n',
             "tests/e/e.hpp": '#include "f/f.hpp"\n#include "tests/e/f/f.hpp"\n', "tests/e/f/f.hpp": '#include "../e.hpp"\n'}
    texts |= {f"src/many/{number}.hpp": "" for number in range(LIMIT + 1)}
    texts |= {f"src/most/{number}.hpp": "" for number in range(LIMIT)}
    texts |= {f"tests/fuzz/x_corpus/{number}": "" for number in range(LIMIT + 1)}
    for name, text in texts.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    common.expect(faults_of(folder, [folder / name for name in texts]), "src/many: 31 files",
                  "src/a, src/b, src/c include one another", "tests/e, tests/e/f include one another")


if __name__ == "__main__":
    common.run(check, planted)
