/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TILEWRIGHT_INFO_H
#define TILEWRIGHT_INFO_H
#include <stdio.h>
#include <tilewright/tilewright.h>

/* Says what the last call of the library said, and returns 1. */
int complain(const char* what);

/* The precompiled kernels: sizes by family and target, or each with its resources. */
int print_families(int json);
int print_kernels(int json);

/* Writes the images of the kernels whose name is `name`, one file for each target, into the current
 * folder, and says which. `target` may be NULL: all of them. */
int dump_kernel(const char* name, const char* target);

#endif
