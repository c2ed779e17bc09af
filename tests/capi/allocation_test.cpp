// SPDX-License-Identifier: Apache-2.0
// For every k, the k-th host allocation fails in each call that may allocate. The call must return
// TW_ERROR_OUT_OF_MEMORY with a message, set outputs to NULL and leak nothing, and existing objects
// keep working. Also checks that runs of plans allocate nothing.
#include <chrono>
#include <new>
#include <string>
#include <thread>
#include <utility>

#include "tests/capi/common/contract_samples.h"
#include "tests/capi/common/failing_allocator.hpp"

namespace {

// The objects that the calls below use.
struct World {
  tw_device *device = nullptr;
  tw_stream *stream = nullptr;
  tw_layout *layout = nullptr;
  tw_tensor_map *map = nullptr;
  tw_plan *plan = nullptr;
  uint64_t memory = 0;
};

tw_tensor_map_desc map_desc(const World &w) {
  tw_tensor_map_desc desc;
  OK(tw_tensor_map_desc_init(&desc, sizeof desc));
  desc.global_address = w.memory;
  desc.global_dim[0] = desc.global_dim[1] = 64;
  desc.global_stride_bytes[0] = 128;
  desc.box_dim[0] = desc.box_dim[1] = 8;
  return desc;
}

tw_copy_desc copy_desc() {
  tw_copy_desc desc;
  OK(tw_copy_desc_init(&desc, sizeof desc));
  desc.dtype = TW_DTYPE_U8;
  desc.rank = 2;
  desc.shape[0] = desc.shape[1] = 32;
  desc.src_stride[0] = desc.dst_stride[0] = 64;
  desc.src_stride[1] = desc.dst_stride[1] = 1;
  return desc;
}

tw_rows_desc rows_desc() {
  tw_rows_desc desc;
  OK(tw_rows_desc_init(&desc, sizeof desc));
  desc.dtype = TW_DTYPE_F32;
  desc.table_rows = desc.columns = desc.count = 8;
  return desc;
}

tw_gemm_desc gemm_desc() {
  tw_gemm_desc desc;
  OK(tw_gemm_desc_init(&desc, sizeof desc));
  desc.m = desc.n = desc.k = 16;
  return desc;
}

tw_prefetch_desc prefetch_desc() {
  tw_prefetch_desc desc;
  OK(tw_prefetch_desc_init(&desc, sizeof desc));
  desc.dtype = TW_DTYPE_U8;
  desc.rows = 4;
  desc.columns = 64;
  return desc;
}

void build(World *w) {
  OK(tw_device_create(TW_DEVICE_HOST, 0, &w->device));
  OK(tw_stream_create(w->device, &w->stream));
  OK(tw_malloc(w->device, 1 << 16, &w->memory));
  OK(tw_memset(w->stream, w->memory, 0, 1 << 16));
  OK(tw_layout_parse("((2,3),4):((1,8),2)", &w->layout));
  const tw_tensor_map_desc desc = map_desc(*w);
  OK(tw_tensor_map_create(w->device, &desc, &w->map));
  const tw_gemm_desc gemm = gemm_desc();
  OK(tw_gemm_plan(w->device, &gemm, &w->plan));
  OK(tw_stream_synchronize(w->stream));
}

void tear_down(World *w) {
  tw_plan_destroy(w->plan);
  tw_tensor_map_destroy(w->map);
  tw_layout_destroy(w->layout);
  tw_stream_destroy(w->stream);
  tw_device_destroy(w->device);
}

// Waits until the number of allocations is as before; a stream's thread frees its own later.
void settles(int64_t before) {
  for (int i = 0; i < 2000 && g_live != before; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EQUAL(g_live, before);
}

// Repeats `call` with its first, second, ... allocation failing, until it succeeds because none is
// left to fail. `undo` undoes a success and returns whether there was an output. `exact` is false
// if a device keeps an allocation until its own end, where the test counts it.
template <class Call, class Undo>
void every_allocation(const char *name, Call call, Undo undo, bool exact = true) {
  harness.test = name;
  for (int64_t k = 1; k < 10000; ++k) {
    const int64_t before = g_live;
    poison_();
    g_failed = false;
    g_fail_at = k;
    const tw_status status = call();
    g_fail_at = 0;
    if (!g_failed) {
      OK(status);
      CHECK(undo());
      if (exact) settles(before);
      return;
    }
    if (status == TW_OK) {
      // The call can do without this allocation.
      CHECK(undo());
    } else {
      EQUAL(status, TW_ERROR_OUT_OF_MEMORY);
      CHECK(tw_last_error()[0] != '\0' && !poisoned_());
      CHECK(!undo());
    }
    if (exact) settles(before);
  }
  const bool call_succeeds_at_last = false;
  CHECK(call_succeeds_at_last);
}

// Returns an `undo` that destroys what a call stored in `handle`.
template <class T>
auto undoing(T **handle, void (*destroy)(T *)) {
  return [=] {
    const bool made = *handle != nullptr;
    destroy(*handle);
    *handle = nullptr;
    return made;
  };
}

void device_and_memory(World *w) {
  tw_device *device = nullptr;
  tw_stream *stream = nullptr;
  tw_event *event = nullptr;
  uint64_t address = 0;
  every_allocation(
      "device_create", [&] { return tw_device_create(TW_DEVICE_HOST, 0, &device); },
      undoing(&device, tw_device_destroy));
  every_allocation(
      "stream_create", [&] { return tw_stream_create(w->device, &stream); },
      undoing(&stream, tw_stream_destroy), false);
  every_allocation(
      "event_create", [&] { return tw_event_create(w->device, &event); },
      undoing(&event, tw_event_destroy));
  every_allocation(
      "malloc", [&] { return tw_malloc(w->device, 1000, &address); },
      [&] {
        const bool made = address != 0;
        OK(tw_free(w->device, address));
        address = 0;
        return made;
      });
}

// Makes a releasing call while every allocation fails: it cannot report a failure.
template <class Call>
void without_memory(Call call) {
  g_failed = false;
  g_fail_at = 1;
  call();
  g_fail_at = 0;
  CHECK(!g_failed);
}

// Everything can be released without memory, including streams with work in flight.
void endings() {
  harness.test = "endings";
  const int64_t before = g_live;
  World w;
  tw_event *event = nullptr;
  uint64_t other = 0;
  build(&w);
  OK(tw_event_create(w.device, &event));
  OK(tw_event_record(event, w.stream));
  OK(tw_malloc(w.device, 1 << 20, &other));
  OK(tw_memset(w.stream, other, 1, 1 << 20));
  without_memory([&] { OK(tw_free(w.device, other)); });
  OK(tw_memset(w.stream, w.memory, 1, 1 << 16));
  without_memory([&] {
    tw_event_destroy(event);
    tear_down(&w);
  });
  settles(before);
  // The device first: it frees its memory and ends its streams.
  build(&w);
  OK(tw_memset(w.stream, w.memory, 1, 1 << 16));
  without_memory([&] {
    tw_device_destroy(w.device);
    w.device = nullptr;
    tear_down(&w);
  });
  settles(before);
}

// A stream that cannot be created leaves nothing behind while its device lives on.
void failed_streams() {
  harness.test = "failed_streams";
  World w;
  build(&w);
  OK(tw_stream_synchronize(w.stream));
  const int64_t before = g_live;
  tw_stream *stream = nullptr;
  for (int64_t k = 1; k < 100 && !stream; ++k) {
    g_fail_at = k;
    const tw_status status = tw_stream_create(w.device, &stream);
    g_fail_at = 0;
    if (stream) break;
    EQUAL(status, TW_ERROR_OUT_OF_MEMORY);
    EQUAL(g_live, before);
  }
  CHECK(stream != nullptr);
  tw_stream_destroy(stream);
  tear_down(&w);
}

void layouts(World *w) {
  tw_layout *layout = nullptr;
  const int64_t shape[] = {2, 3, 4}, tile[] = {2, 2}, coord[] = {0, 0};
  int64_t number = 0;
  size_t length = 0;
  const auto undo = undoing(&layout, tw_layout_destroy);
  every_allocation(
      "layout_parse", [&] { return tw_layout_parse("((2,3),4):((1,8),2)", &layout); }, undo);
  every_allocation(
      "layout_create", [&] { return tw_layout_create(3, shape, nullptr, &layout); }, undo);
  every_allocation(
      "layout_mode", [&] { return tw_layout_mode(w->layout, 0, &layout); }, undo);
  every_allocation(
      "layout_local_tile",
      [&] { return tw_layout_local_tile(w->layout, 2, tile, coord, &layout, &number); }, undo);
  every_allocation(
      "layout_format", [&] { return tw_layout_format(w->layout, nullptr, 0, &length); },
      [&] {
        const bool made = length != 0;
        length = 0;
        return made;
      });
}

// A failure leaves the box unchanged; both layouts are created or neither.
void partition() {
  tw_layout *tensor = nullptr, *smem = nullptr, *boxes = nullptr, *slots = nullptr;
  tw_tuple *tile = nullptr, *coord = nullptr;
  int64_t box[2] = {-7, -7};
  OK(tw_layout_parse("(64,64):(64,1)", &tensor));
  OK(tw_layout_parse("(8,8):(8,1)", &smem));
  OK(tw_tuple_parse("(8,8)", &tile));
  OK(tw_tuple_parse("(0,0)", &coord));
  every_allocation(
      "layout_partition_tma",
      [&] {
        return tw_layout_partition_tma(tensor, smem, tile, coord, 1, 0, box, 2, &boxes, &slots);
      },
      [&] {
        const bool made = boxes != nullptr;
        CHECK(made == (slots != nullptr) && made == (box[0] == 8));
        CHECK(made || box[0] == -7);
        box[0] = -7;
        tw_layout_destroy(std::exchange(boxes, nullptr));
        tw_layout_destroy(std::exchange(slots, nullptr));
        return made;
      });
  tw_tuple_destroy(coord);
  tw_tuple_destroy(tile);
  tw_layout_destroy(smem);
  tw_layout_destroy(tensor);
}

void tensor_maps(World *w) {
  tw_tensor_map *map = nullptr;
  tw_layout *layout = nullptr;
  const tw_tensor_map_desc desc = map_desc(*w);
  size_t length = 0;
  every_allocation(
      "tensor_map_create", [&] { return tw_tensor_map_create(w->device, &desc, &map); },
      undoing(&map, tw_tensor_map_destroy));
  every_allocation(
      "tensor_map_coordinates", [&] { return tw_tensor_map_coordinates(w->map, &layout); },
      undoing(&layout, tw_layout_destroy));
  every_allocation(
      "tensor_map_explain", [&] { return tw_tensor_map_explain(w->map, nullptr, 0, &length); },
      [&] {
        const bool made = length != 0;
        length = 0;
        return made;
      });
}

void plans(World *w) {
  tw_plan *plan = nullptr;
  const tw_copy_desc copy = copy_desc();
  const tw_prefetch_desc prefetch = prefetch_desc();
  const tw_rows_desc rows = rows_desc();
  const tw_gemm_desc gemm = gemm_desc();
  size_t length = 0;
  const auto undo = undoing(&plan, tw_plan_destroy);
  every_allocation(
      "copy_plan", [&] { return tw_copy_plan(w->device, &copy, &plan); }, undo);
  every_allocation(
      "prefetch_plan", [&] { return tw_prefetch_plan(w->device, &prefetch, &plan); }, undo);
  every_allocation(
      "gather_plan", [&] { return tw_gather_plan(w->device, &rows, &plan); }, undo);
  every_allocation(
      "scatter_plan", [&] { return tw_scatter_plan(w->device, &rows, &plan); }, undo);
  every_allocation(
      "gemm_plan", [&] { return tw_gemm_plan(w->device, &gemm, &plan); }, undo);
  every_allocation(
      "plan_explain", [&] { return tw_plan_explain(w->plan, nullptr, 0, &length); },
      [&] {
        const bool made = length != 0;
        length = 0;
        return made;
      });
}

void gemm_choices(World *w) {
  tw_plan *plan = nullptr;
  tw_gemm_tuning *tuning = nullptr, *kept = nullptr;
  const tw_gemm_desc desc = gemm_desc();
  tw_gemm_args args;
  tw_gemm_candidate first, best;
  int32_t count = 0;
  size_t length = 0;
  OK(tw_gemm_args_init(&args, sizeof args));
  args.a = w->memory;
  args.b = w->memory + 4096;
  args.d = w->memory + 32768;
  tw_gemm_candidate_init(&first, sizeof first);
  tw_gemm_candidate_init(&best, sizeof best);
  const auto undo = undoing(&plan, tw_plan_destroy);
  const auto listed = [&] {
    const bool made = std::exchange(count, 0) != 0;
    CHECK(made || first.m_last == -7);  // the array is unchanged
    first.m_last = -7;
    return made;
  };
  first.m_last = -7;
  every_allocation(
      "gemm_candidates", [&] { return tw_gemm_candidates(w->device, &desc, &first, 1, &count); },
      listed);
  every_allocation(
      "gemm_ranges", [&] { return tw_gemm_ranges(w->plan, &first, 1, &count); }, listed);
  every_allocation(
      "gemm_plan_candidate",
      [&] { return tw_gemm_plan_candidate(w->device, &desc, first.text, &plan); }, undo);
  every_allocation(
      "gemm_tuning_create", [&] { return tw_gemm_tuning_create(&tuning); },
      undoing(&tuning, tw_gemm_tuning_destroy));
  // A tuning set that a failed tune or load leaves empty, as it was.
  const auto entries = [&] {
    OK(tw_gemm_tuning_format(tuning, nullptr, 0, &length));
    tw_gemm_tuning_destroy(tuning);
    OK(tw_gemm_tuning_create(&tuning));
    return length > sizeof "tilewright gemm tuning 1\n";
  };
  OK(tw_gemm_tuning_create(&tuning));
  // With a single candidate the clock does not affect the number of allocations.
  tw_gemm_tune_desc once;
  OK(tw_gemm_tune_desc_init(&once, sizeof once));
  once.candidates = once.rounds = 1;
  every_allocation(
      "gemm_tune_once", [&] { return tw_gemm_tune(tuning, w->stream, &desc, &args, &once, &best); },
      entries, false);
  every_allocation(
      "gemm_tune", [&] { return tw_gemm_tune(tuning, w->stream, &desc, &args, nullptr, &best); },
      entries, false);
  std::string text = "tilewright gemm tuning 1\ndevice host\nbf16 bf16 f32 rrr 1 16 16 16 ";
  text += std::string(first.text) + " 1.0\nf16 f16 f32 rrr 1 16 16 16 " + first.text + " 1.0\n";
  every_allocation(
      "gemm_tuning_load", [&] { return tw_gemm_tuning_load(tuning, text.c_str()); }, entries);
  OK(tw_gemm_tuning_create(&kept));
  OK(tw_gemm_tuning_load(kept, text.c_str()));
  every_allocation(
      "gemm_plan_tuned", [&] { return tw_gemm_plan_tuned(w->device, &desc, kept, &plan); }, undo);
  length = 0;
  every_allocation(
      "gemm_tuning_format", [&] { return tw_gemm_tuning_format(kept, nullptr, 0, &length); },
      [&] { return std::exchange(length, 0) != 0; });
  tw_gemm_tuning_destroy(kept);
  tw_gemm_tuning_destroy(tuning);
}

// Calls that are documented to allocate nothing; counts the calling thread's allocations.
void runs_allocate_nothing(World *w) {
  harness.test = "runs_allocate_nothing";
  tw_plan *copy = nullptr, *prefetch = nullptr, *gather = nullptr, *scatter = nullptr;
  tw_copy_args copy_args;
  tw_prefetch_args prefetch_args;
  tw_rows_args rows_args;
  tw_gemm_args gemm_args;
  const tw_copy_desc copy_d = copy_desc();
  const tw_prefetch_desc prefetch_d = prefetch_desc();
  const tw_rows_desc rows_d = rows_desc();
  tw_plan_info info;
  unsigned char bytes[128];
  int64_t index = 0;
  const int64_t linear = 3;
  OK(tw_copy_plan(w->device, &copy_d, &copy));
  OK(tw_prefetch_plan(w->device, &prefetch_d, &prefetch));
  OK(tw_gather_plan(w->device, &rows_d, &gather));
  OK(tw_scatter_plan(w->device, &rows_d, &scatter));
  OK(tw_copy_args_init(&copy_args, sizeof copy_args));
  copy_args.src = w->memory;
  copy_args.dst = w->memory + 8192;
  OK(tw_prefetch_args_init(&prefetch_args, sizeof prefetch_args));
  prefetch_args.src = w->memory;
  OK(tw_rows_args_init(&rows_args, sizeof rows_args));
  rows_args.table = w->memory;
  rows_args.index = w->memory + 16384;
  rows_args.packed = w->memory + 8192;
  OK(tw_gemm_args_init(&gemm_args, sizeof gemm_args));
  gemm_args.a = w->memory;
  gemm_args.b = w->memory + 4096;
  gemm_args.d = w->memory + 32768;
  tw_plan_info_init(&info, sizeof info);
  for (int i = 0; i < 20; ++i) {
    const int64_t before = t_allocations;
    OK(tw_copy_run(copy, w->stream, &copy_args));
    OK(tw_prefetch_run(prefetch, w->stream, &prefetch_args));
    OK(tw_gather_run(gather, w->stream, &rows_args));
    OK(tw_scatter_run(scatter, w->stream, &rows_args));
    OK(tw_gemm_run(w->plan, w->stream, &gemm_args));
    OK(tw_plan_get_info(w->plan, &info));
    OK(tw_tensor_map_bytes(w->map, bytes));
    OK(tw_layout_crd2idx(w->layout, &linear, 1, &index));
    EQUAL(t_allocations, before);
  }
  OK(tw_stream_synchronize(w->stream));
  tw_plan_destroy(copy);
  tw_plan_destroy(prefetch);
  tw_plan_destroy(gather);
  tw_plan_destroy(scatter);
}

}  // namespace

int main(int argc, char **argv) {
  harness_start(argc, argv);
  // The harness works: an allocation told to fail fails and is recorded.
  g_fail_at = 1;
  CHECK(operator new(1, std::nothrow) == nullptr);
  CHECK(g_failed);
  CHECK(t_allocations > 0);
  samples s;
  open_samples(&s);
  fill_destroyed_handles(&s);
  close_samples(&s);
  World world;
  const int64_t before = g_live;
  build(&world);
  device_and_memory(&world);
  layouts(&world);
  partition();
  tensor_maps(&world);
  plans(&world);
  gemm_choices(&world);
  endings();
  failed_streams();
  runs_allocate_nothing(&world);
  tear_down(&world);
  settles(before);
  return harness_end();
}
