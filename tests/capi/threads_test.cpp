// SPDX-License-Identifier: Apache-2.0
// Sixteen threads at once, to be run under ThreadSanitizer too. Functions whose @threadsafety is
// "any thread" are all called on the same handles of one device, each thread with memory and
// outputs of its own; those that say "external" on handles of the thread's own. Meanwhile devices
// come and go, failures leave each thread its own message, and the log callback is swapped.
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

/// A failure of this thread's, whose message and numbers must be its own.
void fail_apart(int thread) {
  const std::string text = "(" + std::to_string(thread) + "," + std::to_string(thread * 7);
  tw_layout *layout = nullptr;
  tw_error_info info;
  tw_error_info_init(&info, sizeof info);
  if (tw_layout_parse(text.c_str(), &layout) != TW_ERROR_PARSE || layout) wrong("parsed " + text);
  if (!strstr(tw_last_error(), text.c_str())) wrong(text + " gave " + tw_last_error());
  if (tw_last_error_info(&info) != TW_OK || info.status != TW_ERROR_PARSE) wrong("info of " + text);
}

/// All threads have failed before any of them asks what its failure was.
void fail_together(int thread) {
  static std::atomic<int> failed = 0;
  const std::string text = "(" + std::to_string(thread + 100);
  tw_layout *layout = nullptr;
  if (tw_layout_parse(text.c_str(), &layout) != TW_ERROR_PARSE) wrong("parsed " + text);
  for (++failed; failed < kThreads;) std::this_thread::yield();
  if (!strstr(tw_last_error(), text.c_str())) wrong(text + " gave " + tw_last_error());
}

/// Every function once: its answer with these arguments is the one of a single thread.
void call_all(int thread, samples *shared_copy, samples *own,
              const std::vector<tw_status> &wanted) {
  for (int n = 0; n < contract_call_count; ++n) {
    // Threads begin at different functions, so that different ones meet.
    const int i = (n + thread * 37) % contract_call_count;
    const contract_call &function = contract_calls[i];
    if (function.gpu_only) continue;
    samples *s = function.external ? own : shared_copy;
    void *made[CONTRACT_OUTPUTS] = {};
    refresh(s);
    const tw_status status = function.call(s, made);
    // Whether a stream is done, and what failed last, is another matter from moment to moment.
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

/// One user of the log: it is gone as soon as another callback is installed, of which two kinds
/// take turns. The library tells of each failure and each plan, so of all threads at once.
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

/// What each function answers on a single thread.
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
