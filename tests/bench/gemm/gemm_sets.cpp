// SPDX-License-Identifier: Apache-2.0
#include "tests/bench/gemm/gemm_sets.hpp"

#include <cstring>

namespace tw::bench {
namespace {

struct Weights {
  int64_t n, k;
};

// DeepSeek-V3's projections; Llama 3 8B and 70B, Qwen2.5 7B, gpt-oss divided among four GPUs.
constexpr Weights kDeepSeek[] = {{2112, 7168},  {576, 7168},  {24576, 1536}, {32768, 512},
                                 {7168, 16384}, {4096, 7168}, {7168, 2048}};
constexpr Weights kDeepSeekF32[] = {{256, 7168}, {129280, 7168}};
constexpr Weights kLlama[] = {{6144, 4096},  {4096, 4096}, {28672, 4096}, {4096, 14336},
                              {10240, 8192}, {8192, 8192}, {57344, 8192}, {8192, 28672},
                              {4608, 3584},  {3584, 3584}, {37888, 3584}, {3584, 18944},
                              {1280, 2880},  {2880, 1024}};
constexpr Weights kDecode[] = {{7168, 16384}, {28672, 4096}, {4096, 14336}, {2112, 7168},
                               {576, 7168},   {7168, 2048},  {3072, 1536}};

using Shapes = std::vector<GemmShape>;

Shapes squares() {
  Shapes shapes;
  for (const int64_t size : {512, 1024, 2048, 4096, 8192, 16384})
    shapes.push_back({"SQ", size, size, size});
  for (const int64_t k : {512, 8192}) shapes.push_back({"SQ", 5632, 3072, k});
  return shapes;
}

Shapes k_sweep() {
  Shapes shapes;
  for (const int64_t k : {512, 1024, 2048, 4096, 8192, 16384})
    shapes.push_back({"KS", 8192, 8192, k});
  return shapes;
}

Shapes deep_seek() {
  Shapes shapes;
  for (const int64_t m : {1, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192}) {
    for (const auto& [n, k] : kDeepSeek) shapes.push_back({"DS", m, n, k});
    for (const auto& [n, k] : kDeepSeekF32)
      shapes.push_back({"DS", m, n, k, Order::row, Order::column, true});
  }
  return shapes;
}

Shapes llama() {
  Shapes shapes;
  for (const int64_t m : {1, 16, 64, 256, 2048, 8192})
    for (const auto& [n, k] : kLlama) shapes.push_back({"LL", m, n, k});
  return shapes;
}

Shapes decode() {
  Shapes shapes;
  for (const int64_t m : {1, 2, 4, 8, 16, 24, 32, 48, 64})
    for (const auto& [n, k] : kDecode) shapes.push_back({"DEC", m, n, k});
  return shapes;
}

// Gradients of layers for 4096 rows: by data (weights contiguous along n), and by weights (operands
// contiguous along m and n; D in bf16, and accumulated in f32). Two layers in every pair of orders.
Shapes backward() {
  Shapes shapes;
  for (const auto& [n, k] : kDeepSeek) {
    shapes.push_back({"BWD", 4096, k, n, Order::row, Order::row});
    shapes.push_back({"BWD", n, 4096, k, Order::column, Order::row});
    shapes.push_back({"BWD", n, 4096, k, Order::column, Order::row, true, true});
  }
  for (const Weights& w : {kDeepSeek[5], kDeepSeek[6]})
    for (const Order a : {Order::row, Order::column})
      for (const Order b : {Order::row, Order::column})
        shapes.push_back({"BWD", 4096, w.n, w.k, a, b, true, true});
  return shapes;
}

Shapes odd_m() {
  Shapes shapes;
  for (const int64_t m : {1, 13, 129, 137, 4095, 4097}) shapes.push_back({"ODD-M", m, 4096, 7168});
  return shapes;
}

Shapes odd_extents(const char* set, std::initializer_list<int64_t> extents) {
  Shapes shapes;
  for (const int64_t m : {4096, 17})
    for (const int64_t extent : extents) {
      shapes.push_back({set, m, extent, 4096});
      shapes.push_back({set, m, 4096, extent});
    }
  return shapes;
}

// Packed shapes whose rows of D do not end at multiples of 16 bytes, as TMA stores need. For a
// row-major B no tensor map can read B either.
Shapes odd_peers() {
  Shapes shapes;
  for (const Order b : {Order::column, Order::row}) {
    shapes.push_back({"ODD-PEER", 4095, 4097, 4104, Order::row, b});
    shapes.push_back({"ODD-PEER", 1001, 1003, 1008, Order::row, b});
  }
  return shapes;
}

Shapes tiny() {
  return {{"TINY", 64, 64, 64},
          {"TINY", 128, 128, 32},
          {"TINY", 16, 16, 7168},
          {"TINY", 128, 128, 0},
          {"TINY", 0, 128, 128}};
}

bool is(const GemmShape& shape, std::initializer_list<const char*> sets) {
  for (const char* set : sets)
    if (std::strcmp(shape.set, set) == 0) return true;
  return false;
}

bool small_square(const GemmShape& s) {
  return is(s, {"SQ"}) && s.m == s.n && s.n == s.k && (s.m == 512 || s.m == 1024);
}

bool in_main_sets(const GemmShape& s, int32_t) {
  return (is(s, {"SQ", "KS", "BWD"}) || (is(s, {"DS", "LL"}) && s.m >= 512)) && !small_square(s);
}

// At least four waves of the largest tile, 128 x 256.
bool large(const GemmShape& s, int32_t sms) {
  const int64_t tiles = (s.m + 127) / 128 * ((s.n + 255) / 256);
  return in_main_sets(s, sms) && s.k >= 2048 && tiles >= int64_t{4} * sms;
}

bool one_wave(const GemmShape& s, int32_t) {
  return small_square(s) || (is(s, {"TINY"}) && s.m > 0 && s.k > 0);
}

bool odd(const GemmShape& s, int32_t) {
  return is(s, {"ODD-M", "ODD-8"});
}

bool odd_pitches(const GemmShape& s, int32_t) {
  return is(s, {"ODD-1"});
}

bool large_odd_pitches(const GemmShape& s, int32_t) {
  return is(s, {"ODD-1"}) && s.m >= 1000 && s.n >= 1000 && s.k >= 1000;
}

bool odd_peer(const GemmShape& s, int32_t) {
  return is(s, {"ODD-PEER"});
}

// Shapes that were drawn as the class `name` of gemm_draw.hpp.
auto drawn(const char* name) {
  return [name](const GemmShape& s, int32_t) { return is(s, {name}); };
}
bool drawn_short_prefill(const GemmShape& s, int32_t) {
  return is(s, {"prefill"}) && s.m <= 800;
}

// By the limits of an H200: 4.3 TB/s and about 800 TFLOP/s.
bool under_two_us(const GemmShape& s) {
  return s.bytes() / 4.3e6 < 2 && s.flops() / 800e6 < 2;
}
bool drawn_small(const GemmShape& s, int32_t) {
  return is(s, {"random"}) && under_two_us(s);
}
bool drawn_rest(const GemmShape& s, int32_t) {
  return is(s, {"random"}) && !under_two_us(s);
}

}  // namespace

std::vector<GemmShape> gemm_set(const std::string& name) {
  if (name == "SQ") return squares();
  if (name == "KS") return k_sweep();
  if (name == "DS") return deep_seek();
  if (name == "LL") return llama();
  if (name == "DEC") return decode();
  if (name == "BWD") return backward();
  if (name == "ODD-M") return odd_m();
  if (name == "ODD-8") return odd_extents("ODD-8", {24, 72, 136, 4104, 7176});
  if (name == "ODD-1") return odd_extents("ODD-1", {4097, 4098, 4100, 33, 7});
  if (name == "ODD-PEER") return odd_peers();
  if (name == "TINY") return tiny();
  return {};
}

const std::vector<std::string>& gemm_set_names() {
  static const std::vector<std::string> names = {
      "SQ", "KS", "DS", "LL", "DEC", "BWD", "ODD-M", "ODD-8", "ODD-1", "ODD-PEER", "TINY"};
  return names;
}

const std::vector<GemmClass>& gemm_classes() {
  static const std::vector<GemmClass> classes = {
      {"K >= 2048, four waves", 1.02, 0.93, large},
      {"SQ, KS, DS, LL, BWD", 1.00, 0.90, in_main_sets},
      {"one wave", 0.95, 0.85, one_wave},
      {"ODD-M, ODD-8", 1.00, 0.93, odd},
      {"ODD-1", 3.0, 1.0, odd_pitches},
      {"ODD-1 from 1000 on", 4.0, 1.0, large_odd_pitches},
      {"ODD-PEER", 4.0, 3.0, odd_peer},
      {"decode", 1.06, 0.90, drawn("decode")},
      {"prefill", 1.00, 0.90, drawn("prefill")},
      {"prefill, m <= 800", 0.98, 0.90, drawn_short_prefill},
      {"random, under 2 us", 1.10, 0.85, drawn_small},
      {"random, the rest", 0.97, 0.85, drawn_rest},
      {"odd decode", 1.8, 0.85, drawn("odd-d")},
      {"odd prefill", 3.0, 0.85, drawn("odd-p")},
      {"large", 1.00, 0.96, drawn("large")},
      {"epilogues, decode", 1.00, 0.90, drawn("epi-d")},
      {"epilogues, prefill", 1.00, 0.90, drawn("epi-p")},
      {"other epilogues, decode", 1.08, 0.90, drawn("oth-d")},
      {"other epilogues, prefill", 1.08, 0.90, drawn("oth-p")},
      {"batches, decode", 1.00, 0.90, drawn("bat-d")},
      {"batches, prefill", 1.00, 0.90, drawn("bat-p")}};
  return classes;
}

}  // namespace tw::bench
