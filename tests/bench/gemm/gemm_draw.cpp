// SPDX-License-Identifier: Apache-2.0
#include "tests/bench/gemm/gemm_draw.hpp"

#include <algorithm>
#include <cmath>

namespace tw::bench {
namespace {

using Shapes = std::vector<GemmShape>;

// SplitMix64, because distributions differ between standard libraries.
class Draw {
 public:
  explicit Draw(uint64_t seed) : state_(seed) {}

  /// 0 to count - 1.
  int64_t below(int64_t count) {
    return static_cast<int64_t>(next() % static_cast<uint64_t>(count));
  }
  int64_t between(int64_t least, int64_t most) { return least + below(most - least + 1); }
  /// Uniform in the logarithm, rounded to a multiple of `step`; both ends are multiples of it.
  int64_t log_uniform(int64_t least, int64_t most, int64_t step = 1) {
    const double low = std::log(static_cast<double>(least));
    const double high = std::log(static_cast<double>(most));
    const double part = static_cast<double>(next() >> 11) * 0x1p-53;
    const double drawn = std::exp(low + (high - low) * part);
    const auto units = static_cast<int64_t>(std::llround(drawn / static_cast<double>(step)));
    return std::clamp(units * step, least, most);
  }

 private:
  uint64_t next() {
    uint64_t z = state_ += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  uint64_t state_;
};

// A layer of a model: a hidden size and another extent in a usual ratio to it, in either order; or
// a vocabulary as n and the hidden size as k.
void draw_layer(Draw& draw, GemmShape* shape) {
  constexpr double kRatios[] = {1, 1.25, 2.5, 3.5, 4, 7, 8};
  const int64_t hidden = 64 * draw.between(1024 / 64, 8192 / 64);
  if (draw.below(8) == 0) {
    shape->n = 64 * draw.between(32000 / 64, 152064 / 64);
    shape->k = hidden;
    return;
  }
  const double ratio = kRatios[draw.below(std::size(kRatios))];
  const int64_t partner = 64 * std::llround(ratio * static_cast<double>(hidden) / 64);
  const bool swapped = draw.below(2) == 1;
  shape->n = swapped ? hidden : partner;
  shape->k = swapped ? partner : hidden;
}

GemmShape draw_one(Draw& draw, const char* set, int64_t least_m, int64_t most_m) {
  GemmShape shape{set};
  shape.m = draw.log_uniform(least_m, most_m);
  draw_layer(draw, &shape);
  return shape;
}

GemmShape draw_decode(Draw& draw, const char* set) {
  return draw_one(draw, set, 1, 256);
}

GemmShape draw_prefill(Draw& draw, const char* set) {
  return draw_one(draw, set, 257, 16384);
}

GemmShape draw_odd(Draw& draw, GemmShape shape) {
  shape.n += draw.between(-31, 31);
  shape.k += draw.between(-31, 31);
  return shape;
}

GemmShape draw_random(Draw& draw, const char* set) {
  GemmShape shape{set};
  shape.m = draw.log_uniform(16, 16384, 8);
  shape.n = draw.log_uniform(64, 23000, 8);
  shape.k = draw.log_uniform(64, 16384, 8);
  shape.a_order = draw.below(2) == 0 ? Order::row : Order::column;
  shape.b_order = draw.below(2) == 0 ? Order::row : Order::column;
  return shape;
}

GemmShape draw_large(Draw& draw) {
  for (;;) {
    const GemmShape shape = draw_random(draw, "large");
    if (std::min({shape.m, shape.n, shape.k}) >= 2048) return shape;
  }
}

const GemmFusion kInCublaslt[] = {
    {"bias", {.bias = Per::column}},
    {"relu", {.activation = Activation::relu}},
    {"gelu_tanh", {.activation = Activation::gelu_tanh}},
    {"bias relu", {.bias = Per::column, .activation = Activation::relu}},
    {"bias gelu_tanh", {.bias = Per::column, .activation = Activation::gelu_tanh}},
    {"+C", {}, 1.0f, 1.0f},
    {"alpha beta C", {}, 1.5f, 0.5f},
    {"bias +C", {.bias = Per::column}, 1.0f, 1.0f},
    {"bias relu +C", {.bias = Per::column, .activation = Activation::relu}, 1.0f, 1.0f}};

const GemmFusion kOthers[] = {
    {"silu", {.activation = Activation::silu}},
    {"bias gelu", {.bias = Per::column, .activation = Activation::gelu}},
    {"SwiGLU", {.activation = Activation::silu, .gate = Gate::halves}},
    {"SwiGLU interleaved", {.activation = Activation::silu, .gate = Gate::interleaved}},
    {"GeGLU", {.activation = Activation::gelu_tanh, .gate = Gate::halves}},
    {"bias SwiGLU", {.bias = Per::column, .activation = Activation::silu, .gate = Gate::halves}},
    {"SwiGLU +C", {.activation = Activation::silu, .gate = Gate::halves}, 1.0f, 1.0f},
    {"scale by row", {.d_factor = Per::row}},
    {"scale by column", {.d_factor = Per::column}},
    {"scale by column +C", {.d_factor = Per::column}, 1.0f, 1.0f}};

template <size_t kCount>
GemmShape draw_fusion(Draw& draw, GemmShape shape, const GemmFusion (&fusions)[kCount]) {
  shape.fusion = fusions[draw.below(kCount)];
  return shape;
}

// Without the second limit, a large batch of a few rows each would have 100 GB of weights.
bool is_too_large(const GemmShape& shape) {
  return shape.flops() / 2 >= 1e12 || shape.bytes() >= 4e9;
}

// Halves the largest extent, so that decode keeps its few rows and prefill its many.
GemmShape draw_batch(Draw& draw, GemmShape shape) {
  shape.batch = static_cast<int32_t>(draw.log_uniform(2, 64));
  while (is_too_large(shape)) {
    int64_t& largest = shape.n >= std::max(shape.m, shape.k) ? shape.n
                       : shape.k >= shape.m                  ? shape.k
                                                             : shape.m;
    const int64_t step = &largest == &shape.m ? 1 : 64;
    largest = (largest / 2 + step - 1) / step * step;
  }
  return shape;
}

}  // namespace

std::vector<GemmShape> draw_gemm_shapes(const std::string& name, uint64_t seed, int count) {
  // Each class has its own sequence, so that decode and prefill draw different layers.
  for (const char letter : name) seed = seed * 31 + static_cast<unsigned char>(letter);
  Draw draw(seed);
  Shapes shapes;
  for (int i = 0; i < count; ++i) {
    if (name == "decode") shapes.push_back(draw_decode(draw, "decode"));
    if (name == "prefill") shapes.push_back(draw_prefill(draw, "prefill"));
    if (name == "random") shapes.push_back(draw_random(draw, "random"));
    if (name == "large") shapes.push_back(draw_large(draw));
    if (name == "epi-d")
      shapes.push_back(draw_fusion(draw, draw_decode(draw, "epi-d"), kInCublaslt));
    if (name == "epi-p")
      shapes.push_back(draw_fusion(draw, draw_prefill(draw, "epi-p"), kInCublaslt));
    if (name == "oth-d") shapes.push_back(draw_fusion(draw, draw_decode(draw, "oth-d"), kOthers));
    if (name == "oth-p") shapes.push_back(draw_fusion(draw, draw_prefill(draw, "oth-p"), kOthers));
    if (name == "bat-d") shapes.push_back(draw_batch(draw, draw_decode(draw, "bat-d")));
    if (name == "bat-p") shapes.push_back(draw_batch(draw, draw_prefill(draw, "bat-p")));
    if (name == "odd") {
      shapes.push_back(draw_odd(draw, draw_decode(draw, "odd-d")));
      shapes.push_back(draw_odd(draw, draw_prefill(draw, "odd-p")));
    }
  }
  return shapes;
}

}  // namespace tw::bench
