#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a command and passes its output on, so that a reader sees a line at least every ten seconds: progress.py
LABEL COMMAND... Of ninja's lines `[done/all] ...` it prints one every five seconds, all other lines
immediately. While the command is silent it prints the elapsed time and ninja's last line. The exit status is
the command's."""
import os
import re
import selectors
import subprocess
import sys
import time

QUIET_SECONDS = 8
STEP_SECONDS = 5
STEP = re.compile(rb"^\[\d+/\d+\] ")


class Printer:
    def __init__(self, label):
        self.label = label
        self.begun = self.printed = time.monotonic()
        self.step = b""  # ninja's last line
        self.shown = True

    def write(self, text):
        sys.stdout.buffer.write(text)
        sys.stdout.buffer.flush()
        self.printed = time.monotonic()

    def line(self, line):
        if STEP.match(line):
            self.step, self.shown = line, False
            if time.monotonic() - self.printed < STEP_SECONDS:
                return
        elif not self.shown:
            self.write(self.step)  # the step to which the line belongs
        self.shown = True
        self.write(line)

    def silence(self):
        if time.monotonic() - self.printed < QUIET_SECONDS:
            return
        step = self.step.decode(errors="replace").strip()
        seconds = int(time.monotonic() - self.begun)
        self.write(f"== {self.label}: {seconds} s{', ' if step else ''}{step}\n".encode())


def main():
    label, *command = sys.argv[1:]
    printer = Printer(label)
    running = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
    waiting = selectors.DefaultSelector()
    waiting.register(running.stdout, selectors.EVENT_READ)
    rest = b""
    while True:
        if waiting.select(timeout=1):
            read = os.read(running.stdout.fileno(), 1 << 16)
            if not read:
                break
            *lines, rest = (rest + read).split(b"\n")
            for line in lines:
                printer.line(line + b"\n")
        printer.silence()
    if rest:
        printer.write(rest + b"\n")
    if not printer.shown:
        printer.write(printer.step)
    status = running.wait()
    sys.exit(status if status >= 0 else 128 - status)


if __name__ == "__main__":
    main()
