/* SPDX-License-Identifier: Apache-2.0 */
/* Capture and graphs: what is recorded, what an update accepts, and what is refused. */
#include "tests/capi/common/plan_harness.h"

enum { kBytes = 256 };

/* Fills `a` with `value` and copies it to `b`; the stream may be capturing. */
static void fill_and_copy(tw_stream *stream, uint64_t a, uint64_t b, int value) {
  OK(tw_memset(stream, a, value, kBytes));
  OK(tw_memcpy_on_device(stream, b, a, kBytes));
}

static tw_graph *captured(tw_stream *stream, uint64_t a, uint64_t b, int value) {
  tw_graph *graph = NULL;
  OK(tw_stream_begin_capture(stream));
  fill_and_copy(stream, a, b, value);
  OK(tw_stream_end_capture(stream, &graph));
  CHECK(graph != NULL);
  return graph;
}

static int first_byte(const setup *s, uint64_t address) {
  unsigned char bytes[kBytes];
  download(s, bytes, address, kBytes);
  for (int i = 1; i < kBytes; ++i) CHECK(bytes[i] == bytes[0]);
  return bytes[0];
}

static void captured_work_runs_when_it_is_launched(void) {
  setup s = open_setup();
  tw_stream *second = NULL;
  const uint64_t a = allocated(&s, kBytes), b = allocated(&s, kBytes);
  tw_graph *graph = NULL;
  NEED(tw_stream_create(s.device, &second));
  fill_and_copy(s.stream, a, b, 9);
  graph = captured(s.stream, a, b, 5);
  EQUAL(first_byte(&s, b), 9); /* nothing has run yet */
  FAILS(TW_ERROR_INVALID_ARGUMENT, "graph", tw_graph_launch(graph, s.stream));
  OK(tw_graph_instantiate(graph));
  OK(tw_graph_instantiate(graph));
  EQUAL(first_byte(&s, b), 9);
  OK(tw_graph_launch(graph, s.stream));
  EQUAL(first_byte(&s, b), 5);
  /* On another stream, after the previous launch. */
  OK(tw_memset(s.stream, b, 1, kBytes));
  OK(tw_stream_synchronize(s.stream));
  OK(tw_graph_launch(graph, s.stream));
  OK(tw_graph_launch(graph, second));
  OK(tw_stream_synchronize(second));
  EQUAL(first_byte(&s, b), 5);
  OK(tw_graph_launch(graph, s.stream));
  tw_graph_destroy(graph); /* while its launch is running */
  tw_graph_destroy(NULL);
  OK(tw_stream_synchronize(s.stream));
  tw_stream_destroy(second);
  close_setup(&s);
}

static void an_update_takes_other_addresses(void) {
  setup s = open_setup();
  const uint64_t a = allocated(&s, kBytes), b = allocated(&s, kBytes), c = allocated(&s, kBytes);
  tw_graph *graph = captured(s.stream, a, b, 5), *other = captured(s.stream, a, c, 6);
  OK(tw_memset(s.stream, b, 1, kBytes));
  OK(tw_memset(s.stream, c, 1, kBytes));
  FAILS(TW_ERROR_INVALID_ARGUMENT, "graph", tw_graph_update(graph, other));
  OK(tw_graph_instantiate(graph));
  OK(tw_graph_launch(graph, s.stream));
  OK(tw_graph_update(graph, other)); /* does not affect the running launch */
  tw_graph_destroy(other);           /* no longer needed */
  EQUAL(first_byte(&s, b), 5);
  EQUAL(first_byte(&s, c), 1);
  OK(tw_memset(s.stream, b, 1, kBytes));
  OK(tw_graph_launch(graph, s.stream));
  EQUAL(first_byte(&s, b), 1);
  EQUAL(first_byte(&s, c), 6);
  OK(tw_graph_update(graph, graph));
  tw_graph_destroy(graph);
  close_setup(&s);
}

/* Captures the operations that `which` selects and updates the graph with them, which must fail. */
static void refused_update(const setup *s, tw_graph *graph, int which, uint64_t a, uint64_t b) {
  static unsigned char host[kBytes];
  tw_graph *other = NULL;
  OK(tw_stream_begin_capture(s->stream));
  switch (which) {
    case 0: /* fewer operations */
      OK(tw_memset(s->stream, a, 7, kBytes));
      break;
    case 1: /* more operations */
      fill_and_copy(s->stream, a, b, 7);
      OK(tw_memset(s->stream, a, 7, kBytes));
      break;
    case 2: /* another order */
      OK(tw_memcpy_on_device(s->stream, b, a, kBytes));
      OK(tw_memset(s->stream, a, 7, kBytes));
      break;
    case 3: /* a copy in another direction */
      OK(tw_memset(s->stream, a, 7, kBytes));
      OK(tw_memcpy_to_host(s->stream, host, a, kBytes));
      break;
    default: /* no operation */
      break;
  }
  OK(tw_stream_end_capture(s->stream, &other));
  FAILS(TW_ERROR_INVALID_ARGUMENT, "captured", tw_graph_update(graph, other));
  tw_graph_destroy(other);
}

static void an_update_with_other_operations_is_refused(void) {
  setup s = open_setup();
  const uint64_t a = allocated(&s, kBytes), b = allocated(&s, kBytes);
  tw_graph *graph = captured(s.stream, a, b, 5);
  OK(tw_graph_instantiate(graph));
  for (int which = 0; which < 5; ++which) {
    refused_update(&s, graph, which, a, b);
    OK(tw_memset(s.stream, b, 1, kBytes));
    OK(tw_graph_launch(graph, s.stream)); /* the graph is unchanged */
    EQUAL(first_byte(&s, b), 5);
  }
  tw_graph_destroy(graph);
  close_setup(&s);
}

static void an_empty_capture_is_a_graph(void) {
  setup s = open_setup();
  tw_graph *graph = NULL;
  OK(tw_stream_begin_capture(s.stream));
  OK(tw_memset(s.stream, 0, 0, 0)); /* an empty fill */
  OK(tw_stream_end_capture(s.stream, &graph));
  OK(tw_graph_instantiate(graph));
  OK(tw_graph_launch(graph, s.stream));
  OK(tw_stream_synchronize(s.stream));
  tw_graph_destroy(graph);
  close_setup(&s);
}

static void states_that_refuse(void) {
  setup s = open_setup();
  const uint64_t a = allocated(&s, kBytes), b = allocated(&s, kBytes);
  tw_graph *graph = (tw_graph *)&graph, *whole = captured(s.stream, a, b, 3);
  OK(tw_graph_instantiate(whole));
  /* No capture was begun. */
  FAILS(TW_ERROR_CAPTURE, "stream", tw_stream_end_capture(s.stream, &graph));
  CHECK(graph == NULL);
  CHECK(strstr(tw_last_error(), "tw_stream_begin_capture()") != NULL);
  FAILS(TW_ERROR_CAPTURE, "stream", tw_stream_end_capture(s.stream, NULL));
  /* A capturing stream cannot be synchronized and launches no graph. */
  OK(tw_stream_begin_capture(s.stream));
  FAILS(TW_ERROR_CAPTURE, "stream", tw_stream_begin_capture(s.stream));
  FAILS(TW_ERROR_CAPTURE, "stream", tw_stream_synchronize(s.stream));
  FAILS(TW_ERROR_CAPTURE, "stream", tw_stream_query(s.stream));
  FAILS(TW_ERROR_CAPTURE, "stream", tw_graph_launch(whole, s.stream));
  /* A refused call records nothing, and the capture continues. */
  FAILS(TW_ERROR_OVERLAP, NULL, tw_memcpy_on_device(s.stream, a, a, 4));
  fill_and_copy(s.stream, a, b, 4);
  OK(tw_stream_end_capture(s.stream, &graph));
  OK(tw_graph_update(whole, graph));
  OK(tw_graph_launch(whole, s.stream));
  EQUAL(first_byte(&s, b), 4);
  tw_graph_destroy(graph);
  /* The graph may be discarded. */
  OK(tw_stream_begin_capture(s.stream));
  fill_and_copy(s.stream, a, b, 8);
  OK(tw_stream_end_capture(s.stream, NULL));
  EQUAL(first_byte(&s, b), 4);
  tw_graph_destroy(whole);
  close_setup(&s);
}

static void other_streams_join_by_events(void) {
  setup s = open_setup();
  tw_stream *second = NULL;
  tw_event *fork = NULL, *join = NULL;
  tw_graph *graph = NULL, *same = NULL;
  const uint64_t a = allocated(&s, kBytes), b = allocated(&s, kBytes), c = allocated(&s, kBytes);
  float milliseconds = 77;
  NEED(tw_stream_create(s.device, &second));
  NEED(tw_event_create(s.device, &fork));
  NEED(tw_event_create(s.device, &join));
  for (int round = 0; round < 2; ++round) {
    OK(tw_stream_begin_capture(s.stream));
    OK(tw_memset(s.stream, a, 3 + round, kBytes));
    OK(tw_event_record(fork, s.stream));
    OK(tw_stream_wait_event(second, fork));
    OK(tw_memcpy_on_device(second, b, a, kBytes));
    FAILS(TW_ERROR_CAPTURE, "stream", tw_stream_synchronize(second));
    FAILS(TW_ERROR_CAPTURE, NULL, tw_event_synchronize(fork));
    OK(tw_event_record(join, second));
    OK(tw_stream_wait_event(s.stream, join));
    OK(tw_memcpy_on_device(s.stream, c, b, kBytes));
    OK(tw_stream_end_capture(s.stream, round ? &same : &graph));
    OK(tw_stream_synchronize(second)); /* it has left the capture */
  }
  OK(tw_graph_instantiate(graph));
  OK(tw_graph_launch(graph, s.stream));
  EQUAL(first_byte(&s, c), 3);
  OK(tw_graph_update(graph, same));
  OK(tw_graph_launch(graph, s.stream));
  EQUAL(first_byte(&s, c), 4);
  /* The capture did not record the events. */
  FAILS(TW_ERROR_CAPTURE, NULL, tw_event_query(join));
  FAILS(TW_ERROR_CAPTURE, NULL, tw_event_elapsed(fork, join, &milliseconds));
  CHECK(milliseconds == 0);
  OK(tw_event_record(join, second));
  OK(tw_event_synchronize(join));
  tw_graph_destroy(graph);
  tw_graph_destroy(same);
  tw_event_destroy(fork);
  tw_event_destroy(join);
  tw_stream_destroy(second);
  close_setup(&s);
}

/* The same operations in sequence and in parallel are different topologies. */
static void an_update_keeps_who_follows_whom(void) {
  setup s = open_setup();
  tw_stream *second = NULL;
  tw_event *event = NULL;
  tw_graph *graphs[2] = {NULL, NULL};
  const uint64_t a = allocated(&s, kBytes), b = allocated(&s, kBytes);
  NEED(tw_stream_create(s.device, &second));
  NEED(tw_event_create(s.device, &event));
  for (int side_by_side = 0; side_by_side < 2; ++side_by_side) {
    OK(tw_stream_begin_capture(s.stream));
    OK(tw_event_record(event, s.stream));
    OK(tw_stream_wait_event(second, event));
    OK(tw_memset(s.stream, a, 1, kBytes));
    OK(tw_memset(side_by_side ? second : s.stream, b, 1, kBytes));
    OK(tw_event_record(event, second));
    OK(tw_stream_wait_event(s.stream, event));
    OK(tw_stream_end_capture(s.stream, &graphs[side_by_side]));
    OK(tw_graph_instantiate(graphs[side_by_side]));
  }
  FAILS(TW_ERROR_INVALID_ARGUMENT, "captured", tw_graph_update(graphs[0], graphs[1]));
  FAILS(TW_ERROR_INVALID_ARGUMENT, "captured", tw_graph_update(graphs[1], graphs[0]));
  OK(tw_graph_launch(graphs[0], s.stream));
  OK(tw_graph_launch(graphs[1], s.stream));
  tw_graph_destroy(graphs[0]);
  tw_graph_destroy(graphs[1]);
  tw_event_destroy(event);
  tw_stream_destroy(second);
  close_setup(&s);
}

/* A capture that cannot become a graph is an error, after which its streams work again. */
static void broken_captures(void) {
  setup s = open_setup();
  tw_stream *second = NULL;
  tw_event *before = NULL, *fork = NULL;
  tw_graph *graph = NULL;
  const uint64_t a = allocated(&s, kBytes), b = allocated(&s, kBytes);
  NEED(tw_stream_create(s.device, &second));
  NEED(tw_event_create(s.device, &before));
  NEED(tw_event_create(s.device, &fork));
  OK(tw_event_record(before, second));
  for (int discarded = 0; discarded < 2; ++discarded) {
    /* It depends on work from before the capture. */
    OK(tw_stream_begin_capture(s.stream));
    FAILS(TW_ERROR_CAPTURE, NULL, tw_stream_wait_event(s.stream, before));
    FAILS(TW_ERROR_CAPTURE, NULL, tw_memset(s.stream, a, 1, kBytes));
    graph = (tw_graph *)&graph;
    if (discarded)
      OK(tw_stream_end_capture(s.stream, NULL));
    else
      FAILS(TW_ERROR_CAPTURE, NULL, tw_stream_end_capture(s.stream, &graph));
    CHECK(discarded || graph == NULL);
    fill_and_copy(s.stream, a, b, 10 + discarded);
    EQUAL(first_byte(&s, b), 10 + discarded);
    /* It forks to a stream that never joins again. */
    OK(tw_stream_begin_capture(s.stream));
    OK(tw_event_record(fork, s.stream));
    OK(tw_stream_wait_event(second, fork));
    OK(tw_memset(second, a, 1, kBytes));
    graph = (tw_graph *)&graph;
    if (discarded)
      OK(tw_stream_end_capture(s.stream, NULL));
    else
      FAILS(TW_ERROR_CAPTURE, NULL, tw_stream_end_capture(s.stream, &graph));
    CHECK(discarded || graph == NULL);
    fill_and_copy(second, a, b, 20 + discarded);
    OK(tw_stream_synchronize(second));
    EQUAL(first_byte(&s, b), 20 + discarded);
  }
  tw_event_destroy(before);
  tw_event_destroy(fork);
  tw_stream_destroy(second);
  close_setup(&s);
}

/* Streams and devices destroyed during a capture. */
static void ends_in_a_capture(void) {
  setup s = open_setup();
  tw_stream *stream = NULL;
  tw_event *fork = NULL;
  tw_graph *graph = NULL;
  const uint64_t a = allocated(&s, kBytes), b = allocated(&s, kBytes);
  NEED(tw_event_create(s.device, &fork));
  NEED(tw_stream_create(s.device, &stream));
  OK(tw_stream_begin_capture(stream));
  OK(tw_memset(stream, a, 1, kBytes));
  OK(tw_event_record(fork, stream));
  OK(tw_stream_wait_event(s.stream, fork));
  tw_stream_destroy(stream);
  fill_and_copy(s.stream, a, b, 30); /* this stream had joined */
  EQUAL(first_byte(&s, b), 30);
  /* The device is destroyed. */
  graph = captured(s.stream, a, b, 31);
  OK(tw_graph_instantiate(graph));
  OK(tw_stream_begin_capture(s.stream));
  OK(tw_memset(s.stream, a, 1, kBytes));
  tw_device_destroy(s.device);
  FAILS(TW_ERROR_DEVICE_CLOSED, NULL, tw_graph_launch(graph, s.stream));
  FAILS(TW_ERROR_DEVICE_CLOSED, NULL, tw_graph_instantiate(graph));
  FAILS(TW_ERROR_DEVICE_CLOSED, NULL, tw_graph_update(graph, graph));
  FAILS(TW_ERROR_DEVICE_CLOSED, NULL, tw_stream_end_capture(s.stream, NULL));
  FAILS(TW_ERROR_DEVICE_CLOSED, NULL, tw_stream_synchronize(s.stream));
  tw_graph_destroy(graph);
  tw_event_destroy(fork);
  tw_stream_destroy(s.stream);
}

static void graphs_of_two_devices(void) {
  setup s = open_setup(), other = open_setup();
  const uint64_t a = allocated(&s, kBytes), b = allocated(&s, kBytes);
  const uint64_t c = allocated(&other, kBytes), d = allocated(&other, kBytes);
  tw_graph *graph = captured(s.stream, a, b, 5), *foreign = captured(other.stream, c, d, 6);
  OK(tw_graph_instantiate(graph));
  FAILS(TW_ERROR_WRONG_DEVICE, NULL, tw_graph_launch(graph, other.stream));
  FAILS(TW_ERROR_WRONG_DEVICE, NULL, tw_graph_update(graph, foreign));
  tw_graph_destroy(graph);
  tw_graph_destroy(foreign);
  close_setup(&other);
  close_setup(&s);
}

/* The host device checks lists in a run; a graph's launches must read the lists again. */
static void lists_are_read_at_the_launch(void) {
  setup s = open_setup();
  tw_copies_desc desc;
  tw_copies_args args;
  tw_plan *plan = NULL;
  tw_graph *graph = NULL;
  const uint64_t a = allocated(&s, kBytes), b = allocated(&s, kBytes), lists = allocated(&s, 16);
  const uint64_t addresses[2] = {a, b};
  OK(tw_copies_desc_init(&desc, sizeof desc));
  desc.dtype = TW_DTYPE_U8;
  desc.rank = 1;
  desc.shape[0] = kBytes;
  desc.src_stride[0] = desc.dst_stride[0] = 1;
  desc.count = 1;
  NEED(tw_copies_plan(s.device, &desc, &plan));
  OK(tw_copies_args_init(&args, sizeof args));
  args.src = lists;
  args.dst = lists + 8;
  OK(tw_memset(s.stream, lists, 0, 16));
  OK(tw_stream_synchronize(s.stream));
  OK(tw_stream_begin_capture(s.stream));
  OK(tw_copies_run(plan, s.stream, &args));
  OK(tw_stream_end_capture(s.stream, &graph));
  OK(tw_graph_instantiate(graph));
  OK(tw_memset(s.stream, a, 40, kBytes));
  OK(tw_memset(s.stream, b, 41, kBytes));
  OK(tw_graph_launch(graph, s.stream)); /* addresses of 0: nothing is copied */
  EQUAL(first_byte(&s, b), 41);
  OK(tw_memcpy_to_device(s.stream, lists, addresses, sizeof addresses));
  OK(tw_graph_launch(graph, s.stream));
  EQUAL(first_byte(&s, b), 40);
  tw_graph_destroy(graph);
  tw_plan_destroy(plan);
  close_setup(&s);
}

int main(int argc, char **argv) {
  harness_start(argc, argv);
  RUN(captured_work_runs_when_it_is_launched);
  RUN(an_update_takes_other_addresses);
  RUN(an_update_with_other_operations_is_refused);
  RUN(an_empty_capture_is_a_graph);
  RUN(states_that_refuse);
  RUN(other_streams_join_by_events);
  RUN(an_update_keeps_who_follows_whom);
  RUN(broken_captures);
  RUN(ends_in_a_capture);
  RUN(graphs_of_two_devices);
  RUN(lists_are_read_at_the_launch);
  return harness_end();
}
