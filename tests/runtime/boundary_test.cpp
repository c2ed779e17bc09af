// SPDX-License-Identifier: Apache-2.0
// The C API boundary: the struct_size rule, translation of exceptions, and text outputs.
#include "capi/common/boundary.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "doctest_main.hpp"
#include "host_fixture.hpp"

// A struct of the next version: it appends `extra` to `b`.
struct Grown {
  uint32_t struct_size;
  uint32_t struct_mark;
  int64_t b;
  int64_t extra;
};
// The same struct one more version later.
struct Future {
  Grown known;
  int64_t unknown;
};

namespace tw::capi {
namespace {

constexpr uint32_t kMark = kStructMark + 0x7777;
constexpr StructType kType{"tw_grown", kMark, 16, sizeof(Grown), alignof(Grown)};

TEST_CASE("a description may be shorter, equal or longer") {
  Future in{{.struct_size = 16, .struct_mark = kMark, .b = 2, .extra = 3}, 0};
  Grown out{.struct_size = 0, .struct_mark = 0, .b = -1, .extra = 77};
  REQUIRE(read_struct_bytes(&in, "desc", kType, &out).ok());
  CHECK(out.struct_size == sizeof(Grown));
  CHECK(out.struct_mark == kMark);
  CHECK(out.b == 2);
  CHECK(out.extra == 77);  // the default

  in.known.struct_size = sizeof(Grown);
  REQUIRE(read_struct_bytes(&in, "desc", kType, &out).ok());
  CHECK(out.extra == 3);

  in.known.struct_size = sizeof(Future);
  REQUIRE(read_struct_bytes(&in, "desc", kType, &out).ok());
  in.unknown = int64_t{1} << 56;  // the last byte of the unknown field
  CHECK(read_struct_bytes(&in, "desc", kType, &out).code() == Code::ERROR_STRUCT);
}

TEST_CASE("a struct_size of no version is refused before anything is read") {
  Grown in{};
  Grown out{};
  in.struct_mark = kMark;
  for (const uint32_t size : {0u, 4u, 8u, 15u, 17u, 20u, 4097u, 4104u, 0xffffffffu}) {
    CAPTURE(size);
    in.struct_size = size;
    CHECK(read_struct_bytes(&in, "desc", kType, &out).code() == Code::ERROR_STRUCT);
    CHECK(clear_struct_bytes(&in, "desc", kType).code() == Code::ERROR_STRUCT);
    CHECK(in.struct_size == size);
  }
  CHECK(read_struct_bytes(nullptr, "desc", kType, &out).code() == Code::ERROR_INVALID_ARGUMENT);
  CHECK(std::string(last_failure().message) == "desc is NULL");
}

TEST_CASE("a struct without its own mark is refused, and the missing call is named") {
  Grown in{.struct_size = sizeof(Grown), .struct_mark = 0, .b = 0, .extra = 0};
  Grown out{};
  for (const uint32_t mark : {0u, 1u, kMark + 1, ~kMark}) {
    CAPTURE(mark);
    in.struct_mark = mark;
    CHECK(read_struct_bytes(&in, "desc", kType, &out).code() == Code::ERROR_STRUCT);
    CHECK(std::string(last_failure().message).find("tw_grown_init(desc, 24)") != std::string::npos);
    CHECK(clear_struct_bytes(&in, "desc", kType).code() == Code::ERROR_STRUCT);
  }
  in.struct_mark = kStructType<tw_gemm_args>.mark;
  CHECK(read_struct_bytes(&in, "desc", kType, &out).code() == Code::ERROR_STRUCT);
  CHECK(std::string(last_failure().message).find("initialized as a tw_gemm_args") !=
        std::string::npos);
}

TEST_CASE("initialising writes the caller's bytes and no others") {
  const Grown defaults{.struct_size = 99, .struct_mark = 99, .b = 5, .extra = 6};
  for (const size_t size : {size_t{16}, size_t{24}, size_t{32}, size_t{4096}}) {
    CAPTURE(size);
    std::vector<unsigned char> bytes(size + 8, 0xee);
    REQUIRE(init_struct_bytes(bytes.data(), size, "desc", kType, &defaults).ok());
    Grown out{};
    std::memcpy(&out, bytes.data(), std::min(size, sizeof out));
    CHECK(out.struct_size == size);
    CHECK(out.struct_mark == kMark);
    CHECK(out.b == 5);
    CHECK(out.extra == (size >= 24 ? 6 : 0));
    for (size_t i = sizeof out; i < size; ++i) CHECK(bytes[i] == 0);
    for (size_t i = size; i < bytes.size(); ++i) CHECK(bytes[i] == 0xee);
  }
  Grown out{};
  for (const size_t size : {size_t{0}, size_t{8}, size_t{17}, size_t{4104}, ~size_t{7}})
    CHECK(init_struct_bytes(&out, size, "desc", kType, &defaults).code() == Code::ERROR_STRUCT);
  CHECK(init_struct_bytes(nullptr, 24, "desc", kType, &defaults).code() ==
        Code::ERROR_INVALID_ARGUMENT);
}

TEST_CASE("information goes out no further than the caller has room") {
  const Grown value{.struct_size = 99, .struct_mark = 99, .b = 2, .extra = 3};
  Future out;
  for (const uint32_t size : {16u, 24u, 32u}) {
    std::memset(static_cast<void*>(&out), 0xee, sizeof out);
    out.known.struct_size = size;
    out.known.struct_mark = kMark;
    REQUIRE(clear_struct_bytes(&out, "info", kType).ok());
    write_struct_bytes(&out, kType, &value);
    CHECK(out.known.struct_size == size);
    CHECK(out.known.struct_mark == kMark);
    CHECK(out.known.b == 2);
    CHECK(out.known.extra == (size >= 24 ? 3 : static_cast<int64_t>(0xeeeeeeeeeeeeeeeeu)));
    CHECK(out.unknown == (size >= 32 ? 0 : static_cast<int64_t>(0xeeeeeeeeeeeeeeeeu)));
  }
}

TEST_CASE("no exception leaves the library") {
  CHECK(guard([]() -> Status { throw std::bad_alloc(); }) == TW_ERROR_OUT_OF_MEMORY);
  CHECK(guard([]() -> Status { throw std::runtime_error("broken"); }) == TW_ERROR_INTERNAL);
  CHECK(std::string(last_failure().message).find("broken") != std::string::npos);
  CHECK(guard([]() -> Status { throw 1; }) == TW_ERROR_INTERNAL);
  CHECK(guard([]() -> Status { return Code::OK; }) == TW_OK);
}

TEST_CASE("texts are cut and terminated, and say what they need") {
  char buffer[8];
  size_t length = 0;
  CHECK(write_text("1234567", buffer, sizeof buffer, &length).ok());
  CHECK(std::string(buffer) == "1234567");
  CHECK(length == 8);
  CHECK(write_text("12345678", buffer, sizeof buffer, &length).code() ==
        Code::ERROR_BUFFER_TOO_SMALL);
  CHECK(std::string(buffer) == "1234567");
  CHECK(length == 9);
  CHECK(write_text("12345678", nullptr, 0, &length).ok());  // only asks for the length
  CHECK(length == 9);
  CHECK(write_text("x", nullptr, 0, nullptr).code() == Code::ERROR_BUFFER_TOO_SMALL);
  CHECK(write_text("x", nullptr, 8, &length).code() == Code::ERROR_INVALID_ARGUMENT);
}

// Two kernels: one runs until the test lets it go, the other loses the device.
struct Held {
  std::atomic<bool>* begun;
  std::atomic<bool>* let_go;
  std::atomic<bool>* done;
};
void held_kernel(HostEngine&, const void* arguments) {
  const auto& a = *static_cast<const Held*>(arguments);
  *a.begun = true;
  while (!*a.let_go) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  *a.done = true;
}
void faulting_kernel(HostEngine& engine, const void*) {
  engine.load_bulk(0, 0, 8);  // not a multiple of 16 bytes
}

// After a wait, even a failed one, the caller may free the host memory of a copy.
TEST_CASE("waiting waits for what a lost device has begun") {
  for (const bool by_event : {false, true}) {
    const auto device = test::open_host();
    tw_stream stream{test::make_stream(*device)};
    tw_event event{test::make_event(*device)};
    const auto other = test::make_stream(*device);
    const KernelEntry entries[] = {test::host_entry("held", held_kernel),
                                   test::host_entry("faulting", faulting_kernel)};
    const auto held = test::make_kernel(*device, entries[0]);
    const auto faulting = test::make_kernel(*device, entries[1]);
    std::atomic<bool> begun = false;
    std::atomic<bool> let_go = false;
    std::atomic<bool> done = false;
    const Held arguments{&begun, &let_go, &done};
    REQUIRE(stream.value->launch(*held, {}, &arguments, sizeof arguments).ok());
    REQUIRE(stream.value->record(*event.value).ok());
    while (!begun) std::this_thread::yield();
    REQUIRE(other->launch(*faulting, {}, nullptr, 0).ok());
    CHECK(other->synchronize().code() == Code::ERROR_DEVICE_LOST);
    let_go = true;
    const tw_status status =
        by_event ? tw_event_synchronize(&event) : tw_stream_synchronize(&stream);
    CHECK(done);
    CHECK(status == TW_ERROR_DEVICE_LOST);
    while (!done) std::this_thread::yield();  // the kernel's arguments live in this stack frame
  }
}

}  // namespace
}  // namespace tw::capi
