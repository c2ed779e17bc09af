// SPDX-License-Identifier: Apache-2.0
#ifndef TILEWRIGHT_GRAPH_HPP
#define TILEWRIGHT_GRAPH_HPP
/// @file graph.hpp
/// Graphs: work of a stream that is captured once and launched many times. As in the C API, one
/// thread at a time uses a Graph or a Capture.
///
///     Capture capture(stream);
///     plan.run(stream, args);
///     Graph graph = capture.end();
///     graph.instantiate();
///     graph.launch(stream);

#include <utility>

#include <tilewright/tilewright.hpp>

namespace tilewright {
inline namespace TILEWRIGHT_NAMESPACE {

/// What a capture recorded.
class Graph : public detail::Handle<tw_graph, tw_graph_destroy> {
 public:
  /// Takes over a handle that the C API gave.
  explicit Graph(tw_graph* owned) noexcept : Handle(owned) {}
  void instantiate() { check(tw_graph_instantiate(get())); }
  void launch(const Stream& stream) { check(tw_graph_launch(get(), stream.get())); }
  /// Takes the addresses, sizes and scalars of a graph of the same calls.
  void update(const Graph& captured) { check(tw_graph_update(get(), captured.get())); }
};

/// Captures what is enqueued on a stream, until end() or the end of its scope, which discards what
/// was recorded. The stream must outlive it.
class Capture {
 public:
  explicit Capture(const Stream& stream) : stream_(stream.get()) {
    check(tw_stream_begin_capture(stream_));
  }
  ~Capture() {
    if (stream_) (void)tw_stream_end_capture(stream_, nullptr);
  }
  Capture(Capture&& other) noexcept : stream_(std::exchange(other.stream_, nullptr)) {}
  Capture& operator=(Capture&& other) noexcept {
    Capture taken(std::move(other));
    std::swap(stream_, taken.stream_);
    return *this;
  }
  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;

  /// The recorded graph. Also after a failure there is no capture any more.
  Graph end() {
    Capture ending(std::move(*this));
    Graph graph(detail::result<tw_graph*>(tw_stream_end_capture, ending.stream_));
    ending.stream_ = nullptr;
    return graph;
  }

 private:
  tw_stream* stream_;
};

}  // namespace TILEWRIGHT_NAMESPACE
}  // namespace tilewright

#endif  // TILEWRIGHT_GRAPH_HPP
