/* SPDX-License-Identifier: Apache-2.0 */
#define _XOPEN_SOURCE 700 /* realpath() */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tune.h"

static int failed(const char* path) {
  tune_complain(path, "%s", strerror(errno));
  return TUNE_FAILED;
}

static int exhausted(const char* path) {
  tune_complain(path, "memory is exhausted");
  return TUNE_FAILED;
}

/* Reads a stream to its end, and zero-terminates the bytes. */
static char* read_all(FILE* file, const char* path, size_t* length) {
  size_t capacity = 1 << 16;
  char* text = malloc(capacity);
  *length = 0;
  while (text) {
    char* longer;
    *length += fread(text + *length, 1, capacity - 1 - *length, file);
    if (*length < capacity - 1) break;
    longer = realloc(text, capacity *= 2);
    if (!longer) free(text);
    text = longer;
  }
  if (text)
    text[*length] = '\0';
  else
    exhausted(path);
  return text;
}

char* file_read(const char* path) {
  const int standard = strcmp(path, "-") == 0;
  FILE* const file = standard ? stdin : fopen(path, "rb");
  size_t length = 0;
  char* text = NULL;
  if (!file) {
    failed(path);
    return NULL;
  }
  text = read_all(file, path, &length);
  if (text && ferror(file)) {
    failed(path);
    free(text);
    text = NULL;
  } else if (text && strlen(text) != length) {
    tune_complain(path, "has a zero byte, which no text has");
    free(text);
    text = NULL;
  }
  if (!standard) fclose(file);
  return text;
}

int file_exists(const char* path) {
  struct stat info;
  return stat(path, &info) == 0;
}

/* Whether the path is a device, a pipe or the like, which cannot be replaced by rename(). */
static int is_special(const char* path) {
  struct stat info;
  return stat(path, &info) == 0 && !S_ISREG(info.st_mode);
}

static int check_special(const char* path) {
  struct stat info;
  const int good = stat(path, &info) == 0 && access(path, W_OK) == 0;
  if (good && S_ISDIR(info.st_mode)) errno = EISDIR;
  return good && !S_ISDIR(info.st_mode) ? TUNE_DONE : failed(path);
}

/* The folder of a path; the caller frees it. */
static char* folder_of(const char* path) {
  const char* const slash = strrchr(path, '/');
  if (!slash) return strdup(".");
  return strndup(path, slash == path ? 1 : (size_t)(slash - path));
}

/* The file that a link points to, or the path itself; the caller frees it. */
static char* target_of(const char* path) {
  char* const target = realpath(path, NULL);
  return target ? target : strdup(path);
}

int file_check(const char* path) {
  char *target, *folder;
  int status = TUNE_DONE;
  if (!path) return TUNE_DONE;
  if (is_special(path)) return check_special(path);
  target = target_of(path);
  folder = target ? folder_of(target) : NULL;
  if (!folder)
    status = exhausted(path);
  else if (access(folder, W_OK | X_OK))
    status = failed(folder);
  free(folder);
  free(target);
  return status;
}

static int write_stream(FILE* file, const char* text) {
  return fputs(text, file) < 0 || fflush(file) != 0;
}

/* The permissions of the file, or those of a new file. */
static mode_t mode_of(const char* path) {
  struct stat info;
  const mode_t mask = umask(0);
  umask(mask);
  return stat(path, &info) == 0 ? info.st_mode & 07777 : 0666 & ~mask;
}

/* Writes a temporary file beside the target and renames it: readers see the old or the new file,
 * even if this program or the machine stops halfway. */
static int replace(const char* target, const char* text) {
  const size_t size = strlen(target) + 8;
  char* const made = malloc(size);
  int handle, bad;
  FILE* file;
  if (!made) return exhausted(target);
  snprintf(made, size, "%s.XXXXXX", target);
  handle = mkstemp(made);
  file = handle < 0 ? NULL : fdopen(handle, "w");
  bad = !file || fchmod(handle, mode_of(target)) || write_stream(file, text) || fsync(handle);
  if (file) bad |= fclose(file) != 0;
  if (handle >= 0 && !file) close(handle);
  if (bad || rename(made, target)) {
    failed(target);
    bad = 1;
    if (handle >= 0) unlink(made);
  }
  free(made);
  return bad ? TUNE_FAILED : TUNE_DONE;
}

static int write_special(const char* path, const char* text) {
  FILE* const file = fopen(path, "w");
  int bad = !file || write_stream(file, text);
  if (file) bad |= fclose(file) != 0;
  return bad ? failed(path) : TUNE_DONE;
}

int file_write(const char* path, const char* text) {
  char* target;
  int status;
  if (!path) return write_stream(stdout, text) ? failed("standard output") : TUNE_DONE;
  if (is_special(path)) return write_special(path, text);
  target = target_of(path);
  if (!target) return exhausted(path);
  status = replace(target, text);
  free(target);
  return status;
}
