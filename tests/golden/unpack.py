# SPDX-License-Identifier: Apache-2.0
"""unpack.py FOLDER FILE...: unpacks each KIND/NAME.jsonl.gz to FOLDER/KIND/NAME.jsonl."""
import gzip
import pathlib
import shutil
import sys

folder = pathlib.Path(sys.argv[1])
shutil.rmtree(folder, ignore_errors=True)
for name in map(pathlib.Path, sys.argv[2:]):
    plain = folder / name.parent.name / name.stem
    plain.parent.mkdir(parents=True, exist_ok=True)
    plain.write_bytes(gzip.decompress(name.read_bytes()))
