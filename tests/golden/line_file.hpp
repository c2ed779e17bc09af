// SPDX-License-Identifier: Apache-2.0
#pragma once
// Reads the lines of a file of recorded answers. zlib reads plain and compressed files alike.
// Without zlib (TW_GOLDEN_ZLIB is 0, in cross builds) it reads the plain files that Meson unpacks.
#include <cstdio>
#include <string>
#if TW_GOLDEN_ZLIB
#include <zlib.h>
#endif

namespace golden {

#if TW_GOLDEN_ZLIB
using TextFile = gzFile;
inline TextFile open_text(const char* path) {
  TextFile file = gzopen(path, "rb");
  if (file) gzbuffer(file, 1 << 18);
  return file;
}
inline void close_text(TextFile file) {
  gzclose(file);
}
inline char* read_text(TextFile file, char* text, int size) {
  return gzgets(file, text, size);
}
inline bool is_text_damaged(TextFile file) {
  int error = Z_OK;
  gzerror(file, &error);
  return error != Z_OK && error != Z_STREAM_END;
}
#else
using TextFile = std::FILE*;
inline TextFile open_text(const char* path) {
  return std::fopen(path, "rb");
}
inline void close_text(TextFile file) {
  std::fclose(file);
}
inline char* read_text(TextFile file, char* text, int size) {
  return std::fgets(text, size, file);
}
inline bool is_text_damaged(TextFile file) {
  return std::ferror(file) != 0;
}
#endif

class LineFile {
 public:
  explicit LineFile(const std::string& path) : file_(open_text(path.c_str())) {}
  ~LineFile() {
    if (file_) close_text(file_);
  }
  LineFile(const LineFile&) = delete;
  LineFile& operator=(const LineFile&) = delete;
  bool is_open() const { return file_ != nullptr; }

  bool next(std::string* line) {
    line->clear();
    char part[1 << 16];
    while (read_text(file_, part, sizeof part)) {
      line->append(part);
      if (line->back() == '\n') {
        line->pop_back();
        return true;
      }
    }
    return !line->empty();
  }

  bool is_damaged() const { return is_text_damaged(file_); }

 private:
  TextFile file_;
};

}  // namespace golden
