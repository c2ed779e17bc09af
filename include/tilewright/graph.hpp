// SPDX-License-Identifier: Apache-2.0
#ifndef TILEWRIGHT_GRAPH_HPP
#define TILEWRIGHT_GRAPH_HPP
/// @file graph.hpp
/// Graphs: work of a stream that is captured once and launched many times. As in the C API, only
/// one thread at a time may use a Graph or a Capture.
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

/// The work that a capture recorded.
class Graph : public detail::Handle<tw_graph, tw_graph_destroy> {
 public:
  /// Takes ownership of a handle of the C API.
  explicit Graph(tw_graph* owned) noexcept : Handle(owned) {}
  void instantiate() { check(tw_graph_instantiate(get())); }
  void launch(const Stream& stream) { check(tw_graph_launch(get(), stream.get())); }
  /// Takes over the addresses, sizes, scalars and kernels of a graph of the same operations.
  void update(const Graph& captured) { check(tw_graph_update(get(), captured.get())); }
};

/// Captures the work that is enqueued on a stream until end(). Without end() the destructor ends
/// the capture and discards the work. The stream must outlive the object.
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

  /// Ends the capture, even if this function throws, and returns the recorded graph.
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
