// SPDX-License-Identifier: Apache-2.0
// Sixteen threads at once; also run under ThreadSanitizer. Functions whose @threadsafety is "any
// thread" are called on shared handles of one device, with memory and outputs per thread; functions
// that say "external" are called on the thread's own handles. Meanwhile devices are created and
// destroyed, each thread must see its own failures, and the log callback is replaced.
#define HARNESS_STORAGE static thread_local

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "tests/capi/common/contract_calls.h"

namespace {

constexpr int kThreads = 16;
constexpr int kRounds = 4;

std::mutex g_mutex;
std::vector<std::string> g_wrong;

void wrong(const std::string &what) {
  const std::lock_guard lock(g_mutex);
  g_wrong.push_back(what);
}

/// Fails on this thread; the message and numbers must be its own.
void fail_apart(int thread) {
  const std::string text = "(" + std::to_string(thread) + "," + std::to_string(thread * 7);
  tw_layout *layout = nullptr;
  tw_error_info info;
  tw_error_info_init(&info, sizeof info);
  if (tw_layout_parse(text.c_str(), &layout) != TW_ERROR_PARSE || layout) wrong("parsed " + text);
  if (!strstr(tw_last_error(), text.c_str())) wrong(text + " gave " + tw_last_error());
  if (tw_last_error_info(&info) != TW_OK || info.status != TW_ERROR_PARSE) wrong("info of " + text);
}

/// All threads fail before any of them reads its failure.
void fail_together(int thread) {
  static std::atomic<int> failed = 0;
  const std::string text = "(" + std::to_string(thread + 100);
  tw_layout *layout = nullptr;
  if (tw_layout_parse(text.c_str(), &layout) != TW_ERROR_PARSE) wrong("parsed " + text);
  for (++failed; failed < kThreads;) std::this_thread::yield();
  if (!strstr(tw_last_error(), text.c_str())) wrong(text + " gave " + tw_last_error());
}

/// Calls every function once; each must return the same status as on a single thread.
void call_all(int thread, samples *shared_copy, samples *own,
              const std::vector<tw_status> &wanted) {
  for (int n = 0; n < contract_call_count; ++n) {
    // Threads begin at different functions, so that different functions run concurrently.
    const int i = (n + thread * 37) % contract_call_count;
    const contract_call &function = contract_calls[i];
    if (function.gpu_only) continue;
    samples *s = function.external ? own : shared_copy;
    void *made[CONTRACT_OUTPUTS] = {};
    refresh(s);
    const tw_status status = function.call(s, made);
    // Whether a stream is done, and which failure was last, may vary.
    if (status != wanted[static_cast<size_t>(i)] && status != TW_ERROR_NOT_READY)
      wrong(std::string(function.name) + ": " + tw_status_name(status) + ", " + tw_last_error());
    function.undo(s, made);
    if (n % 16 == 0) fail_apart(thread);
  }
}

void work(int thread, const samples *shared, const std::vector<tw_status> *wanted) {
  harness.kind = TW_DEVICE_HOST;
  harness.test = "work";
  fail_together(thread);
  samples copy = *shared, own;
  copy.managed = nullptr;
  open_samples(&own);
  if (tw_malloc(shared->device, 4096, &copy.memory) != TW_OK) return wrong("no memory");
  if (tw_memset(copy.stream, copy.memory, 0, 4096) != TW_OK) wrong("memset");
  for (int round = 0; round < kRounds; ++round) call_all(thread, &copy, &own, *wanted);
  if (tw_stream_synchronize(copy.stream) != TW_OK) wrong("synchronize");
  release_managed(&copy);
  if (tw_free(shared->device, copy.memory) != TW_OK) wrong("free");
  destroy_samples(&own);
  if (harness.failures || contract_call_failures()) wrong("a check of a thread's own");
}

/// A log callback's data, freed as soon as the next callback is installed; two callbacks alternate.
/// The library logs every failure and every plan, so that all threads log at once.
struct Listener {
  std::atomic<int64_t> messages = 0;
  bool installed = true;
};

template <int kind>
void listen(void *user, tw_log_level, const char *message) {
  auto *listener = static_cast<Listener *>(user);
  if (!message || !message[0]) wrong("no message");
  if (!listener->installed) wrong("a message after another callback was installed");
  ++listener->messages;
}

void swap_callbacks(std::atomic<bool> *stop, int64_t *messages) {
  for (int kind = 0; !*stop; kind = 1 - kind) {
    const auto listener = std::make_unique<Listener>();
    if (tw_log_set(kind ? listen<1> : listen<0>, listener.get(), TW_LOG_DEBUG) != TW_OK)
      wrong("tw_log_set");
    std::this_thread::yield();
    if (tw_log_set(nullptr, nullptr, TW_LOG_ERROR) != TW_OK) wrong("tw_log_set");
    listener->installed = false;
    *messages += listener->messages;
  }
}

void open_and_close(std::atomic<bool> *stop) {
  while (!*stop) {
    tw_device *device = nullptr;
    tw_stream *stream = nullptr;
    if (tw_device_create(TW_DEVICE_HOST, 0, &device) != TW_OK) wrong("tw_device_create");
    if (tw_stream_create(device, &stream) != TW_OK) wrong("tw_stream_create");
    tw_device_destroy(device);
    tw_stream_destroy(stream);
  }
}

/// The statuses that the functions return on a single thread.
std::vector<tw_status> answers(samples *s) {
  std::vector<tw_status> out;
  for (int i = 0; i < contract_call_count; ++i) {
    void *made[CONTRACT_OUTPUTS] = {};
    refresh(s);
    OK(tw_stream_synchronize(s->stream));
    out.push_back(contract_calls[i].gpu_only ? TW_OK : contract_calls[i].call(s, made));
    contract_calls[i].undo(s, made);
  }
  return out;
}

}  // namespace

int main(int argc, char **argv) {
  harness_start(argc, argv);
  samples shared;
  open_samples(&shared);
  const std::vector<tw_status> wanted = answers(&shared);
  EQUAL(contract_call_failures(), 0);
  std::atomic<bool> stop = false;
  int64_t messages = 0;
  std::thread swapper(swap_callbacks, &stop, &messages), opener(open_and_close, &stop);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) threads.emplace_back(work, t, &shared, &wanted);
  for (std::thread &thread : threads) thread.join();
  stop = true;
  swapper.join();
  opener.join();
  close_samples(&shared);
  for (const std::string &what : g_wrong) printf("%s\n", what.c_str());
  CHECK(g_wrong.empty());
  CHECK(contract_call_count > 150);
  printf("%lld messages to the log\n", static_cast<long long>(messages));
  CHECK(messages > 1000);
  return harness_end();
}
