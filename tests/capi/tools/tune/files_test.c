/* SPDX-License-Identifier: Apache-2.0 */
#define _POSIX_C_SOURCE 200809L
#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/capi/tools/tune/tune_harness.h"

static char folder[] = "files_test_XXXXXX";

/* The text of a file, or what was said instead. */
static const char *text_of(const char *path) {
  static char copy[4096];
  char *const text = file_read(path);
  snprintf(copy, sizeof copy, "%s", text ? text : said());
  free(text);
  return copy;
}

static void put(const char *path, const char *text, size_t length) {
  FILE *const file = fopen(path, "wb");
  if (!CHECK(file != NULL)) exit(1);
  EQUAL(fwrite(text, 1, length, file), length);
  fclose(file);
}

static int count_files(void) {
  DIR *const all = opendir(".");
  int count = 0;
  if (!all) return -1;
  while (readdir(all)) ++count;
  closedir(all);
  return count - 2;
}

static unsigned mode_of(const char *path) {
  struct stat info;
  return stat(path, &info) == 0 ? (unsigned)info.st_mode & 0777u : 0;
}

static void writes(void) {
  umask(027);
  EQUAL(file_check("new"), TUNE_DONE);
  EQUAL(file_exists("new"), 0);
  EQUAL(count_files(), 0); /* a check makes nothing */
  EQUAL(file_write("new", "one\n"), TUNE_DONE);
  TEXT(text_of("new"), "one\n");
  EQUAL(mode_of("new"), 0640);
  chmod("new", 0604);
  EQUAL(file_write("new", "two\n"), TUNE_DONE);
  TEXT(text_of("new"), "two\n");
  EQUAL(mode_of("new"), 0604);
  /* A link stays one. */
  EQUAL(symlink("new", "link"), 0);
  EQUAL(file_write("link", "three\n"), TUNE_DONE);
  TEXT(text_of("new"), "three\n");
  CHECK(readlink("link", said_text, 10) == 3);
  EQUAL(file_exists("link"), 1);
  EQUAL(count_files(), 2); /* and nothing else is left */
  TEXT(said(), "");
}

/* Who has the old file open reads all of it: the new one is another file. */
static void replaces(void) {
  char text[16] = "";
  FILE *old;
  put("old", "before\n", 7);
  old = fopen("old", "r");
  EQUAL(file_write("old", "after it\n"), TUNE_DONE);
  CHECK(old && fgets(text, sizeof text, old));
  TEXT(text, "before\n");
  if (old) fclose(old);
  TEXT(text_of("old"), "after it\n");
}

static void special(void) {
  struct stat before, after;
  EQUAL(stat("/dev/null", &before), 0);
  EQUAL(file_check("/dev/null"), TUNE_DONE);
  EQUAL(file_write("/dev/null", "text"), TUNE_DONE);
  EQUAL(stat("/dev/null", &after), 0);
  CHECK(S_ISCHR(after.st_mode) && before.st_ino == after.st_ino);
  if (access("/dev/full", W_OK) == 0) {
    EQUAL(file_write("/dev/full", "text"), TUNE_FAILED);
    SAYS("/dev/full: No space left");
  }
}

static void refuses(void) {
  char *const long_text = malloc(300000);
  EQUAL(file_check("no/such"), TUNE_FAILED);
  SAYS("tilewright-tune: no: No such file or directory\n");
  EQUAL(file_write("no/such", "text"), TUNE_FAILED);
  SAYS("no/such: No such file or directory\n");
  EQUAL(file_check("."), TUNE_FAILED);
  SAYS(".: Is a directory\n");
  EQUAL(file_check(NULL), TUNE_DONE);
  if (geteuid() != 0) {
    EQUAL(mkdir("closed", 0500), 0);
    EQUAL(file_check("closed/file"), TUNE_FAILED);
    SAYS("closed: Permission denied\n");
    rmdir("closed");
  }
  TEXT(text_of("absent"), "tilewright-tune: absent: No such file or directory\n");
  TEXT(text_of("."), "tilewright-tune: .: Is a directory\n");
  put("zero", "a\0b", 3);
  TEXT(text_of("zero"), "tilewright-tune: zero: has a zero byte, which no text has\n");
  if (!CHECK(long_text != NULL)) return;
  memset(long_text, 'x', 299999);
  long_text[299999] = '\0';
  EQUAL(file_write("long", long_text), TUNE_DONE);
  char *const read = file_read("long");
  CHECK(read && strcmp(read, long_text) == 0);
  free(read);
  free(long_text);
}

static void clean(void) {
  static const char *const kNames[] = {"new", "link", "old", "zero", "long"};
  for (size_t i = 0; i < COUNT(kNames); ++i) unlink(kNames[i]);
}

int main(int argc, char **argv) {
  harness_start(argc, argv);
  if (!mkdtemp(folder) || chdir(folder)) return 1;
  said();
  RUN(writes);
  RUN(replaces);
  RUN(special);
  RUN(refuses);
  clean();
  EQUAL(count_files(), 0);
  if (chdir("..") || rmdir(folder)) return 1;
  return harness_end();
}
