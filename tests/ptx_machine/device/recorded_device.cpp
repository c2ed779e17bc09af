// SPDX-License-Identifier: Apache-2.0
#include "tests/ptx_machine/device/recorded_device.hpp"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <unordered_map>
#include <vector>

#include "runtime/cuda/open_cuda.hpp"
#include "tests/ptx_machine/device/machine_device.hpp"

// Replaces the library's counter_tag() (linker option --wrap, in meson.build), whose tag depends on
// the clock: the arguments of a launch, and its key, would differ from process to process.
extern "C" uint64_t __wrap__ZN2tw11counter_tagEv();
extern "C" uint64_t __wrap__ZN2tw11counter_tagEv() {
  return 0x9E3779B97F500000u;
}

namespace tw::ptx_machine {
namespace {

constexpr uint64_t kAlignment = 1024;
constexpr uint8_t kFill = 0xcd;
constexpr uint64_t kPage = 1024;  // bytes per Change

uint64_t mix(uint64_t hash, uint64_t word) {
  hash = (hash ^ word) * 0x9E3779B97F4A7C15u;
  return hash ^ hash >> 29;
}
uint64_t mix_text(uint64_t hash, const char* text) {
  for (; *text; ++text) hash = mix(hash, static_cast<uint8_t>(*text));
  return hash;
}
uint64_t word_at(const uint8_t* from) {
  uint64_t word;
  std::memcpy(&word, from, 8);
  return word;
}

struct Block {
  uint64_t address = 0, bytes = 0, inner = 0;
  bool host = false;
  bool stale = true;           // something other than a launch has written it since
  std::vector<uint8_t> known;  // its bytes when they were read last, padded to 8
  uint64_t hash = 0;           // of `known`
};

/// The recorded outcome of a launch. `left_out` is a block that it does not cover: a workspace
/// whose content has changed since the recording.
struct Recorded {
  uint32_t outcome = 0;
  size_t left_out = SIZE_MAX;
  bool met = false;
};

/// The recorded launches. Prints at the end of the process how many were compared.
class Outcomes {
 public:
  Outcomes() {
    const char* path = std::getenv("TW_OUTCOMES");
    const char* of = std::getenv("TW_OUTCOMES_OF");
    if (path) read(path, of ? of : "");
    counts_ = of != nullptr;
  }
  ~Outcomes() {
    if (all_.empty()) return;
    size_t absent = 0;
    for (const auto& [name, recorded] : all_) absent += !recorded.met;
    std::printf("PTX machine: %zu launches match their records", compared_);
    if (counts_) std::printf("; %zu of %zu recorded launches did not occur", absent, all_.size());
    std::printf("\n");
  }
  Outcomes(const Outcomes&) = delete;
  Outcomes& operator=(const Outcomes&) = delete;

  /// Returns nullptr if there is no record.
  const Recorded* find(const std::string& kernel, const std::string& key) {
    const auto found = all_.find(kernel + " " + key);
    if (found == all_.end()) return nullptr;
    ++compared_;
    found->second.met = true;
    return &found->second;
  }

 private:
  /// Format: "test NAME", then a line per kernel: "kernel key:outcome key:outcome:block ...".
  void read(const char* path, const std::string& of) {
    std::ifstream file(path);
    bool wanted = of.empty();
    for (std::string line; std::getline(file, line);) {
      std::istringstream words(line);
      std::string kernel, word;
      words >> kernel;
      if (kernel == "test" && words >> word) {
        wanted = of.empty() || word == of;
        continue;
      }
      while (wanted && words >> word) {
        std::istringstream parts(word);
        std::string key, outcome, block;
        std::getline(parts, key, ':');
        if (!std::getline(parts, outcome, ':')) continue;
        Recorded& recorded = all_[kernel + " " + key];
        recorded.outcome = static_cast<uint32_t>(std::strtoul(outcome.c_str(), nullptr, 16));
        if (std::getline(parts, block))
          recorded.left_out = std::strtoul(block.c_str(), nullptr, 10);
      }
    }
  }

  std::unordered_map<std::string, Recorded> all_;  // by kernel and key
  size_t compared_ = 0;
  bool counts_ = false;
};
Outcomes& outcomes() {
  static Outcomes all;
  return all;
}

/// Hash of a launch's changes to one page.
struct Change {
  size_t block;
  uint64_t page, hash;
};

uint64_t outcome_of(const std::vector<Change>& changes) {
  uint64_t outcome = 0;
  for (const Change& change : changes)
    outcome = mix(mix(mix(outcome, change.block), change.page), change.hash);
  return outcome;
}
/// The outcome without one block. It uses the upper halves of the hashes, as outcomes.py does.
uint64_t outcome_without(const std::vector<Change>& changes, size_t left_out) {
  uint64_t outcome = 0;
  for (const Change& change : changes)
    if (change.block != left_out)
      outcome = mix(mix(mix(outcome, change.block), change.page), change.hash >> 32);
  return outcome;
}

class RecordedDevice final : public Device {
 public:
  RecordedDevice(std::shared_ptr<Device> inner, bool machine)
      : inner_(std::move(inner)), machine_(machine) {
    info_ = machine_info();
    if (const char* path = std::getenv("TW_RECORD_OUTCOMES")) record_.open(path, std::ios::app);
    outcomes();
  }
  ~RecordedDevice() override { close(); }

  void close() override {
    if (closed_.exchange(true)) return;
    reader_.reset();
    inner_->close();
  }
  Status allocate(uint64_t bytes, uint64_t* address) override {
    Block block;
    TW_TRY(inner_->allocate(bytes + (machine_ ? 0 : kAlignment), &block.inner));
    block.address = (block.inner + kAlignment - 1) / kAlignment * kAlignment;
    block.bytes = bytes;
    if (!machine_) {
      TW_TRY(make_reader());
      TW_TRY(reader_->fill(block.address, kFill, bytes));
      TW_TRY(reader_->synchronize());
    }
    *address = block.address;
    blocks_.push_back(std::move(block));
    return {};
  }
  Status release(uint64_t address) override {
    for (size_t i = 0; i < blocks_.size(); ++i)
      if (!blocks_[i].host && blocks_[i].address == address) {
        const uint64_t inner = blocks_[i].inner;
        blocks_.erase(blocks_.begin() + static_cast<std::ptrdiff_t>(i));
        return inner_->release(inner);
      }
    return inner_->release(address);
  }
  Status allocate_host(uint64_t bytes, void** memory) override {
    TW_TRY(inner_->allocate_host(bytes, memory));
    std::memset(*memory, kFill, bytes);
    Block block;
    block.address = block.inner = reinterpret_cast<uintptr_t>(*memory);
    block.bytes = bytes;
    block.host = true;
    blocks_.push_back(std::move(block));
    return {};
  }
  Status release_host(void* memory) override {
    const uint64_t address = reinterpret_cast<uintptr_t>(memory);
    std::erase_if(blocks_, [&](const Block& b) { return b.host && b.address == address; });
    return inner_->release_host(memory);
  }
  Status create_stream(std::unique_ptr<Stream>* out) override;
  Status wrap_stream(CUstream_st* stream, std::unique_ptr<Stream>* out) override {
    return inner_->wrap_stream(stream, out);
  }
  Status create_event(std::unique_ptr<Event>* out) override { return inner_->create_event(out); }
  Status load_module(const void*, size_t, std::unique_ptr<tw::Module>*) override {
    return fail(Code::ERROR_UNSUPPORTED, {}, "the PTX machine has no modules");
  }
  Status prepare(const KernelEntry& entry, uint32_t dynamic_smem_bytes,
                 std::unique_ptr<Kernel>* out) override;
  Status find_kernel(const KernelEntry& entry) override { return inner_->find_kernel(entry); }
  Status encode(const TensorMapDesc& desc, TensorMapBytes* bytes) override {
    return inner_->encode(desc, bytes);
  }

  /// Something other than a launch has written to the block of `address`.
  void written(uint64_t address) {
    for (Block& block : blocks_)
      if (address - block.address < block.bytes) block.stale = true;
  }
  Status launch(const char* name, Kernel& kernel, Stream& stream, const LaunchConfig& config,
                const void* arguments, size_t bytes);

 private:
  Status make_reader() { return reader_ ? Status() : inner_->create_stream(&reader_); }
  Status read(const Block& block, std::vector<uint8_t>* out);
  Status refresh();
  uint64_t normal(uint64_t word) const;
  uint64_t hash_of(const uint8_t* bytes, size_t count) const;
  void compare(size_t number, const std::vector<uint8_t>& now, std::vector<Change>* changes) const;
  void write(const char* name, const LaunchConfig& config, uint64_t key, uint64_t arguments,
             uint64_t outcome, const std::vector<Change>& changes);

  const std::shared_ptr<Device> inner_;
  const bool machine_;
  std::unique_ptr<Stream> reader_;
  std::vector<Block> blocks_;  // in the order of their allocation
  std::ofstream record_;
};

class RecordedKernel final : public Kernel {
 public:
  RecordedKernel(std::shared_ptr<Device> device, const char* symbol, std::unique_ptr<Kernel> of)
      : Kernel(std::move(device)), name(symbol), inner(std::move(of)) {}
  Status info(KernelInfo* out) override { return inner->info(out); }
  Status param(int32_t index, size_t* offset, size_t* size) override {
    return inner->param(index, offset, size);
  }
  Status occupancy(const LaunchConfig& config, int32_t* blocks_per_sm, int32_t* clusters) override {
    *blocks_per_sm = 1;
    *clusters = max_active_clusters(config);
    return {};
  }

  const char* const name;
  const std::unique_ptr<Kernel> inner;
};

class RecordedStream final : public Stream {
 public:
  RecordedStream(std::shared_ptr<Device> device, std::unique_ptr<Stream> of)
      : Stream(std::move(device)), inner_(std::move(of)) {}
  Status synchronize() override { return inner_->synchronize(); }
  Status query() override { return inner_->query(); }
  Status wait(Event& event) override { return inner_->wait(event); }
  Status record(Event& event) override { return inner_->record(event); }
  Status copy_to_device(uint64_t dst, const void* src, uint64_t bytes) override {
    owner().written(dst);
    return inner_->copy_to_device(dst, src, bytes);
  }
  Status copy_to_host(void* dst, uint64_t src, uint64_t bytes) override {
    owner().written(reinterpret_cast<uintptr_t>(dst));
    return inner_->copy_to_host(dst, src, bytes);
  }
  Status copy_on_device(uint64_t dst, uint64_t src, uint64_t bytes) override {
    owner().written(dst);
    return inner_->copy_on_device(dst, src, bytes);
  }
  Status fill(uint64_t dst, uint8_t value, uint64_t bytes) override {
    owner().written(dst);
    return inner_->fill(dst, value, bytes);
  }
  Status launch(Kernel& kernel, const LaunchConfig& config, const void* arguments,
                size_t bytes) override {
    auto& recorded = static_cast<RecordedKernel&>(kernel);
    return owner().launch(recorded.name, *recorded.inner, *inner_, config, arguments, bytes);
  }
  Status launch_params(Kernel&, const LaunchConfig&, void**) override {
    return fail(Code::ERROR_UNSUPPORTED, {}, "the PTX machine has no launches by parameters");
  }
  Status copy_between(Device&, uint64_t dst, Device&, uint64_t src, uint64_t bytes) override {
    return copy_on_device(dst, src, bytes);
  }
  Status begin_capture() override {
    return fail(Code::ERROR_UNSUPPORTED, {}, "the PTX machine has no captures");
  }
  Status end_capture(std::unique_ptr<Graph>*) override { return begin_capture(); }
  Status is_captured(bool* yes) override {
    *yes = false;
    return {};
  }

 private:
  RecordedDevice& owner() const { return static_cast<RecordedDevice&>(*device()); }
  const std::unique_ptr<Stream> inner_;
};

Status RecordedDevice::create_stream(std::unique_ptr<Stream>* out) {
  TW_TRY(check_alive());
  std::unique_ptr<Stream> inner;
  TW_TRY(inner_->create_stream(&inner));
  *out = std::make_unique<RecordedStream>(shared_from_this(), std::move(inner));
  return {};
}

Status RecordedDevice::prepare(const KernelEntry& entry, uint32_t dynamic_smem_bytes,
                               std::unique_ptr<Kernel>* out) {
  TW_TRY(check_alive());
  std::unique_ptr<Kernel> inner;
  TW_TRY(inner_->prepare(entry, dynamic_smem_bytes, &inner));
  *out = std::make_unique<RecordedKernel>(shared_from_this(), entry.symbol, std::move(inner));
  return {};
}

/// Replaces a word that is an address by a hash of block and offset; keeps other words.
uint64_t RecordedDevice::normal(uint64_t word) const {
  if (word < 1u << 20) return word;
  for (size_t i = 0; i < blocks_.size(); ++i)
    if (word - blocks_[i].address <= blocks_[i].bytes)
      return mix(0xadd7e55 + i, word - blocks_[i].address);
  return word;
}

uint64_t RecordedDevice::hash_of(const uint8_t* bytes, size_t count) const {
  uint64_t hash = count;
  for (size_t i = 0; i + 8 <= count; i += 8) hash = mix(hash, normal(word_at(bytes + i)));
  uint64_t rest = 0;
  std::memcpy(&rest, bytes + count / 8 * 8, count % 8);
  return mix(hash, rest);
}

/// Reads the machine's memory directly: a copy would tell the judge that all launches have ended.
Status RecordedDevice::read(const Block& block, std::vector<uint8_t>* out) {
  out->assign((block.bytes + 7) / 8 * 8, 0);
  if (block.bytes == 0) return {};
  if (machine_ || block.host) {
    std::memcpy(out->data(), reinterpret_cast<const void*>(block.address), block.bytes);
    return {};
  }
  TW_TRY(make_reader());
  TW_TRY(reader_->copy_to_host(out->data(), block.address, block.bytes));
  return reader_->synchronize();
}

/// Reads blocks that the host or a copy may have written; host memory changes at any time.
Status RecordedDevice::refresh() {
  for (Block& block : blocks_) {
    if (!block.stale && !block.host) continue;
    TW_TRY(read(block, &block.known));
    block.stale = false;
  }
  // The hashes of addresses depend on which blocks exist now.
  for (Block& block : blocks_) block.hash = hash_of(block.known.data(), block.known.size());
  return {};
}

/// Appends a Change for each page of the block that a launch has changed.
void RecordedDevice::compare(size_t number, const std::vector<uint8_t>& now,
                             std::vector<Change>* changes) const {
  const std::vector<uint8_t>& before = blocks_[number].known;
  for (uint64_t begin = 0; begin < now.size(); begin += kPage) {
    const uint64_t end = std::min<uint64_t>(begin + kPage, now.size());
    if (std::memcmp(&now[begin], &before[begin], end - begin) == 0) continue;
    uint64_t hash = 0;
    for (uint64_t i = begin; i < end; i += 8)
      if (const uint64_t word = word_at(&now[i]); word != word_at(&before[i]))
        hash = mix(mix(hash, i), normal(word));
    changes->push_back({number, begin / kPage, hash});
  }
}

Status RecordedDevice::launch(const char* name, Kernel& kernel, Stream& stream,
                              const LaunchConfig& config, const void* arguments, size_t bytes) {
  TW_TRY(check_alive());
  if (!machine_) TW_TRY(stream.synchronize());
  TW_TRY(refresh());
  uint64_t shape = mix_text(0, name);
  for (int i = 0; i < 3; ++i)
    shape = mix(mix(mix(shape, config.grid[i]), config.block[i]), config.cluster[i]);
  shape = mix(shape, config.dynamic_smem_bytes);
  const uint64_t told = hash_of(static_cast<const uint8_t*>(arguments), bytes);
  uint64_t key = shape;
  for (const Block& block : blocks_) key = mix(key, block.hash);

  TW_TRY(stream.launch(kernel, config, arguments, bytes));
  if (!machine_) TW_TRY(stream.synchronize());
  std::vector<Change> changes;
  for (size_t i = 0; i < blocks_.size(); ++i) {
    std::vector<uint8_t> now;
    TW_TRY(read(blocks_[i], &now));
    compare(i, now, &changes);
    blocks_[i].known = std::move(now);
  }
  if (record_.is_open()) write(name, config, key, told, outcome_of(changes), changes);
  char text[24];
  std::snprintf(text, sizeof text, "%010" PRIx64, mix(key, told) >> 24);
  const Recorded* recorded = outcomes().find(name, text);
  if (!recorded) return {};
  const uint64_t outcome = recorded->left_out == SIZE_MAX
                               ? outcome_of(changes)
                               : outcome_without(changes, recorded->left_out);
  if (recorded->outcome != outcome >> 32)
    return fail(Code::ERROR_INTERNAL, {}, "%s (key %s): the outcome differs from the record", name,
                text);
  return {};
}

/// Writes a line of the record: kernel, grid/cluster/threads/dynamic shared memory, flag, key, the
/// key's part without the arguments, outcome, then block:page:hash for each changed page.
void RecordedDevice::write(const char* name, const LaunchConfig& config, uint64_t key,
                           uint64_t arguments, uint64_t outcome,
                           const std::vector<Change>& changes) {
  std::string line = name;
  const auto add = [&](const char* format, auto... values) {
    char text[64];
    std::snprintf(text, sizeof text, format, values...);
    line += text;
  };
  add(" %ux%ux%u/%ux%ux%u", config.grid[0], config.grid[1], config.grid[2], config.cluster[0],
      config.cluster[1], config.cluster[2]);
  add("/%u/%u ", config.block[0] * config.block[1] * config.block[2], config.dynamic_smem_bytes);
  const Statistics last = machine_ ? last_launch(*inner_) : Statistics();
  line += !machine_ ? "gpu" : last.approximate ? "approximate" : last.unordered ? "unordered" : "-";
  add(" %010" PRIx64 " %016" PRIx64 " %016" PRIx64, mix(key, arguments) >> 24, key, outcome);
  for (const Change& change : changes)
    add(" %zu:%" PRIu64 ":%08" PRIx64, change.block, change.page, change.hash >> 32);
  record_ << line << "\n" << std::flush;
}

}  // namespace

Status open_test_machine(std::shared_ptr<Device>* out) {
  const bool recorded = std::getenv("TW_RECORD_OUTCOMES") || std::getenv("TW_OUTCOMES");
  if (!recorded) return open_machine_device(out);
  const char* on = std::getenv("TW_RECORD_ON");
  const bool machine = !on || std::strcmp(on, "cuda") != 0;
  std::shared_ptr<Device> inner;
  TW_TRY(machine ? open_machine_device(&inner) : open_cuda_device(0, &inner));
  *out = std::make_shared<RecordedDevice>(inner, machine);
  return {};
}

}  // namespace tw::ptx_machine
