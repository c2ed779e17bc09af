/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FAIL_H
#define FAIL_H
/* The two kinds of failure. Each prints one line to stderr and returns the program's exit code. */

enum { EXIT_FAILED = 1, EXIT_BAD_INPUT = 2 };

/* The arguments or the files are invalid. */
int bad_input(const char* format, ...) __attribute__((format(printf, 1, 2)));

/* The machine or the library failed: out of memory, no GPU, disk full. */
int failed(const char* format, ...) __attribute__((format(printf, 1, 2)));

#endif
