// SPDX-License-Identifier: Apache-2.0
// The checker of module images accepts well-formed images and names what is wrong in others.
#include "runtime/cuda/image.hpp"

#include <memory>
#include <random>

#include "doctest_main.hpp"
#include "test_images.hpp"

namespace tw::test {
namespace {

Status check(const Image& image, ImageSummary* summary) {
  // A heap block of exactly this size, so that sanitizers detect a read past it.
  const std::unique_ptr<unsigned char[]> exact(new unsigned char[image.size()]);
  if (!image.empty()) std::memcpy(exact.get(), image.data(), image.size());
  return check_image(exact.get(), image.size(), summary);
}

Image as_image(const std::string& text) {
  return Image(text.begin(), text.end());
}

void check_refused(const Image& image, const char* part) {
  ImageSummary summary;
  CHECK(check(image, &summary).code() == Code::ERROR_INVALID_IMAGE);
  CAPTURE(last_failure().message);
  CHECK(std::string(last_failure().message).find(part) != std::string::npos);
}

TEST_CASE("whole images are accepted and described") {
  ImageSummary summary;
  CHECK(check(make_cubin(), &summary).ok());
  CHECK(summary.kind == ImageKind::cubin);
  CHECK_FALSE(summary.has_ptx);
  CHECK(std::string(summary.contents) == "sm_90 code");

  CHECK(check(make_fatbin(), &summary).ok());
  CHECK(summary.kind == ImageKind::fatbin);
  CHECK(summary.has_ptx);
  CHECK(std::string(summary.contents) == "sm_90 code, compute_90 PTX");

  CHECK(check(as_image(make_ptx()), &summary).ok());
  CHECK(summary.kind == ImageKind::ptx);
  CHECK(std::string(summary.contents) == "PTX for sm_90");
  CHECK(check(as_image(make_ptx() + '\0'), &summary).ok());
}

TEST_CASE("every truncation of a cubin and of a fatbin is refused") {
  ImageSummary summary;
  for (const Image& whole : {make_cubin(), make_fatbin()})
    for (size_t size = 0; size < whole.size(); ++size) {
      CAPTURE(size);
      CHECK(check(Image(whole.begin(), whole.begin() + static_cast<long>(size)), &summary).code() ==
            Code::ERROR_INVALID_IMAGE);
    }
}

TEST_CASE("damage is named") {
  check_refused({}, "0 bytes");
  check_refused(Image(100, 0xab), "begins with ab ab ab ab");
  check_refused(as_image("hello, this is text"), "begins with 68 65 6c 6c");
  check_refused(as_image("// only a comment"), ".version");
  check_refused(as_image(".version 8.0\n"), ".target");
  check_refused(as_image(".version 8.0\n.target sm_90"), "truncated");
  check_refused(as_image(std::string(".version 8.0\n\0.target sm_90\n", 28)), "byte 0x00");

  Image image = make_cubin();
  put<uint16_t>(&image, 18, 62);  // x86-64
  check_refused(image, "machine 62");
  image = make_cubin();
  image[4] = 1;
  check_refused(image, "64-bit");
  image = make_cubin();
  put<uint64_t>(&image, 80 + 32, 1000);  // size of the first section
  check_refused(image, "section 0");
  image = make_cubin();
  // offset of the first section: offset + size would wrap
  put<uint64_t>(&image, 80 + 24, ~uint64_t{0});
  check_refused(image, "section 0");
  image = make_cubin();
  put<uint64_t>(&image, 40, ~uint64_t{0} - 10);
  check_refused(image, "section headers");
  image = make_cubin();
  put<uint16_t>(&image, 62, 2);
  check_refused(image, "string section");
  image = make_cubin();
  put<uint16_t>(&image, 60, 0);
  check_refused(image, "no sections");

  image = make_fatbin();
  put<uint64_t>(&image, 8, ~uint64_t{0});
  check_refused(image, "the fatbin's header declares");
  image = make_fatbin();
  put<uint64_t>(&image, 8, 0);
  check_refused(image, "empty");
  image = make_fatbin();
  put<uint32_t>(&image, 16 + 4, 8);  // an entry's header is shorter than its fields
  check_refused(image, "entry at byte 16");
  image = make_fatbin();
  put<uint64_t>(&image, 16 + 8, ~uint64_t{0} - 70);
  check_refused(image, "entry at byte 16");
  image = make_fatbin();
  put<uint32_t>(&image, 16 + 16, 1u << 30);
  check_refused(image, "compressed bytes");
  image = make_fatbin();
  image[16 + 64] = 0;  // magic of the embedded cubin
  check_refused(image, "does not begin as an ELF file");
  image = Image(24);
  put<uint32_t>(&image, 0, 0x466243b1);
  check_refused(image, "wrapper");
}

TEST_CASE("random damage never reads out of bounds") {
  std::mt19937 random(1);
  ImageSummary summary;
  for (int round = 0; round < 20000; ++round) {
    Image image = round % 2 ? make_cubin() : make_fatbin();
    for (int i = 0; i < 3; ++i)
      image[random() % image.size()] = static_cast<unsigned char>(random());
    (void)check(image, &summary);  // only sanitizers judge the result
    CHECK(std::strlen(summary.contents) < sizeof summary.contents);
  }
}

}  // namespace
}  // namespace tw::test
