// SPDX-License-Identifier: Apache-2.0
// Compares the tensor cores' dot products with recorded ones of a GPU, on a GPU and on the PTX
// machine, whose arithmetic this proves.
//
// TW_RECORD_TENSOR_CORES=FOLDER records instead: dots.txt, for tests/golden/tensor_cores, and
// dots.bin, the results of the first tiles of each form. TW_TENSOR_CORES_RAW=FILE names a dots.bin,
// with which the test shows the dot products that differ.
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <sstream>

#include "tensor_cores_image.hpp"
#include "tensor_cores_ptx.hpp"
#include "tests/device/common/fixture.hpp"
#include "tests/device/tensor_cores/draw_tiles.hpp"
#include "tests/ptx_machine/instructions/handlers.hpp"
#include "tests/ptx_machine/machine/launch.hpp"
#include "tests/ptx_machine/program/reader.hpp"

using namespace tw;
using namespace tw::test;

namespace {

constexpr uint32_t kTilesOfLine = 8;
constexpr uint32_t kRawTiles = 45;  // tiles per form in dots.bin

/// Operands of all tiles of a form, in its kernel's layout.
struct Operands {
  std::vector<uint8_t> a, b, c;

  explicit Operands(const DotForm& form) {
    for (uint32_t number = 0; number < kTiles; ++number) {
      DotTile tile;
      draw_tile(form, number, &tile);
      a.insert(a.end(), tile.a[0], tile.a[0] + sizeof tile.a);
      b.insert(b.end(), tile.b[0], tile.b[0] + sizeof tile.b);
      c.insert(c.end(), tile.c, tile.c + result_bytes(form));
    }
  }
};

/// Runs a form's kernel on the PTX machine, with the judge.
std::vector<uint8_t> run_on_machine(const DotForm& form, const Operands& operands) {
  using namespace ptx_machine;
  static const ptx_machine::Module module = read_module(
      std::string(reinterpret_cast<const char*>(kTensorCoresPtx), sizeof kTensorCoresPtx),
      "tensor_cores.ptx");
  const Image image = link(module, form.name, find_handler);
  std::vector<uint8_t> d(operands.c.size());
  GlobalMemory memory;
  uint64_t arguments[4] = {};
  const std::vector<uint8_t>* all[] = {&operands.a, &operands.b, &operands.c, &d};
  for (int i = 0; i < 4; ++i) {
    arguments[i] = reinterpret_cast<uintptr_t>(all[i]->data());
    memory.add(arguments[i], all[i]->size());
  }
  Shape shape;
  shape.grid[0] = kTiles;
  shape.block[0] = 128;
  Options options;
  options.judge = options.strict_reads = true;
  run_launch(image, memory, shape, arguments, sizeof arguments, options);
  return d;
}

std::vector<uint8_t> run_on_gpu(const std::shared_ptr<Device>& device, const DotForm& form,
                                const Operands& operands) {
  const auto stream = new_stream(device);
  std::unique_ptr<tw::Module> module;
  TW_REQUIRE_OK(device->load_module(kTensorCoresImage, sizeof kTensorCoresImage, &module));
  std::unique_ptr<Kernel> kernel;
  TW_REQUIRE_OK(module->kernel(form.name, &kernel));
  std::vector<uint8_t> d(operands.c.size());
  const std::vector<uint8_t>* all[] = {&operands.a, &operands.b, &operands.c, &d};
  uint64_t addresses[4] = {};
  void* params[4] = {};
  for (int i = 0; i < 4; ++i) {
    TW_REQUIRE_OK(device->allocate(all[i]->size(), &addresses[i]));
    TW_REQUIRE_OK(stream->copy_to_device(addresses[i], all[i]->data(), all[i]->size()));
    params[i] = &addresses[i];
  }
  LaunchConfig config;
  config.grid[0] = kTiles;
  config.block[0] = 128;
  TW_REQUIRE_OK(stream->launch_params(*kernel, config, params));
  TW_REQUIRE_OK(stream->copy_to_host(d.data(), addresses[3], d.size()));
  TW_REQUIRE_OK(stream->synchronize());
  for (const uint64_t address : addresses) TW_REQUIRE_OK(device->release(address));
  return d;
}

uint64_t hash(const uint8_t* bytes, size_t count) {
  uint64_t out = 0xcbf29ce484222325u;
  for (size_t i = 0; i < count; ++i) out = (out ^ bytes[i]) * 0x100000001b3u;
  return out;
}

/// Lines of a form in dots.txt: name, number of the first tile, hashes of kTilesOfLine tiles.
std::string lines_of(const DotForm& form, const std::vector<uint8_t>& d) {
  std::string text;
  char word[32];
  for (uint32_t number = 0; number < kTiles; ++number) {
    if (number % kTilesOfLine == 0) text += form.name + (" " + std::to_string(number));
    const uint64_t value = hash(d.data() + number * result_bytes(form), result_bytes(form));
    std::snprintf(word, sizeof word, " %016" PRIx64, value);
    text += word;
    if (number % kTilesOfLine == kTilesOfLine - 1) text += "\n";
  }
  return text;
}

/// Prints the first dot products of a tile that differ from the recorded ones.
void show(const DotForm& form, uint32_t number, const uint8_t* got, const uint8_t* wanted) {
  DotTile tile;
  draw_tile(form, number, &tile);
  const uint32_t bytes = dot_bytes(form.d);
  int shown = 0;
  const auto text = [](const uint8_t* from, uint32_t count, uint32_t of) {
    std::string out;
    char byte[3];
    for (uint32_t i = 0; i < count; ++i) {
      const uint32_t at = i / of * of + of - 1 - i % of;  // the highest byte first
      std::snprintf(byte, sizeof byte, "%02x", from[at]);
      out += (i % of == 0 && i > 0 ? " " : "") + std::string(byte);
    }
    return out;
  };
  for (uint32_t i = 0; i < kTileRows * kTileColumns && shown < 3; ++i) {
    if (std::memcmp(got + i * bytes, wanted + i * bytes, bytes) == 0) continue;
    ++shown;
    std::printf("%s, tile %u (%s), element %u: got %s, recorded %s, c %s\n  a %s\n  b %s\n",
                form.name, number, tile_kind(number), i,
                text(got + i * bytes, bytes, bytes).c_str(),
                text(wanted + i * bytes, bytes, bytes).c_str(),
                text(tile.c + i * bytes, bytes, bytes).c_str(),
                text(tile.a[i / kTileColumns], form.row_bytes, dot_bytes(form.a)).c_str(),
                text(tile.b[i % kTileColumns], form.row_bytes, dot_bytes(form.b)).c_str());
  }
}

std::string file_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

/// The recorded lines of each form.
std::map<std::string, std::string> recorded_lines() {
  std::map<std::string, std::string> out;
  std::istringstream file(file_text(TW_TENSOR_CORES_GOLDEN));
  for (std::string line; std::getline(file, line);)
    if (!line.empty() && line[0] != '#') out[line.substr(0, line.find(' '))] += line + "\n";
  return out;
}

/// Numbers of the tiles whose hashes differ.
std::vector<uint32_t> differing_tiles(const std::string& got, const std::string& wanted) {
  std::istringstream a(got), b(wanted);
  std::vector<uint32_t> out;
  uint32_t number = 0;
  for (std::string x, y; a >> x;) {
    b >> y;
    if (x.size() != 16) continue;  // a name or a number, not a hash
    if (x != y) out.push_back(number);
    ++number;
  }
  return out;
}

}  // namespace

TEST_CASE("tensor cores: dot products, as recorded") {
  if (std::string(test_device()) == "host") return skip("needs tensor cores");
  const char* folder = std::getenv("TW_RECORD_TENSOR_CORES");
  const char* raw_path = std::getenv("TW_TENSOR_CORES_RAW");
  const auto recorded = recorded_lines();
  if (!folder && recorded.empty()) return skip("nothing has been recorded");
  const bool machine = std::string(test_device()) == "ptx";
  std::shared_ptr<Device> device;
  if (!machine) {
    device = open_test_device();
    if (!device) return;
    if (device->info().compute_major != 9) return skip("no device of compute capability 9.0");
  }
  const std::string raw = raw_path ? file_text(raw_path) : "";
  std::string text = "# Dot products of " + (machine ? "the PTX machine" : device->info().name) +
                     ": form, number of the first tile, hashes of the tiles' results.\n# Made by "
                     "tests/device/tensor_cores.\n";
  std::vector<uint8_t> all;
  for (const DotForm& form : kDotForms) {
    const Operands operands(form);
    const std::vector<uint8_t> d =
        machine ? run_on_machine(form, operands) : run_on_gpu(device, form, operands);
    const std::string lines = lines_of(form, d);
    text += lines;
    const uint32_t bytes = result_bytes(form);
    const size_t at = all.size();
    all.insert(all.end(), d.begin(), d.begin() + kRawTiles * bytes);
    if (folder) continue;
    const auto found = recorded.find(form.name);
    REQUIRE_MESSAGE(found != recorded.end(), form.name);
    const std::vector<uint32_t> differ = differing_tiles(lines, found->second);
    std::map<std::string, int> kinds;
    for (const uint32_t number : differ) ++kinds[tile_kind(number)];
    std::string which;
    for (const auto& [kind, count] : kinds) which += " " + kind + " " + std::to_string(count);
    INFO(form.name << ": tiles that differ:" << which);
    CHECK(differ.empty());
    if (raw.size() < all.size()) continue;
    for (const uint32_t number : differ)
      if (number < kRawTiles)
        show(form, number, d.data() + number * bytes,
             reinterpret_cast<const uint8_t*>(raw.data()) + at + number * bytes);
  }
  if (!folder) return;
  std::ofstream(folder + std::string("/dots.txt")) << text;
  std::ofstream(folder + std::string("/dots.bin"), std::ios::binary)
      .write(reinterpret_cast<const char*>(all.data()), static_cast<std::streamsize>(all.size()));
  MESSAGE("recorded " << all.size() << " bytes of results");
}
