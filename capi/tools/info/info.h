/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TILEWRIGHT_INFO_H
#define TILEWRIGHT_INFO_H
#include <stdio.h>
#include <tilewright/tilewright.h>

/* Prints the message of the library's last failure after `what`, and returns 1. */
int complain(const char* what);

/* Print the precompiled kernels: their sizes by family and target, or each with its resources. */
int print_families(int json);
int print_kernels(int json);

/* Writes the images of the kernel `name`, one file for each target, into the current folder and
 * prints the file names. `target` NULL means all targets. */
int dump_kernel(const char* name, const char* target);

#endif
