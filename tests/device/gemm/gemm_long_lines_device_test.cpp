// SPDX-License-Identifier: Apache-2.0
// One row by 2^30 columns: lines of C and D of more than 2^31 bytes. The test compares a few pieces
// of the line; elsewhere B, C and bias are 0.
#include <set>

#include "ops/gemm/select/gemm_select.hpp"
#include "tests/device/gemm/gemm_matrix.hpp"

using namespace tw;
using namespace tw::test;

namespace {

constexpr int64_t kPiece = 512;  // elements compared in one place
constexpr float kA = 3.0f, kBeta = 2.0f;

// A row in device memory that is 0 outside its pieces.
class Line {
 public:
  Line(std::shared_ptr<Device> device, Stream& stream, int64_t elements, DType type)
      : device_(std::move(device)), stream_(stream), bytes_(dtype_bytes(type)), type_(type) {
    size_ = static_cast<uint64_t>((elements + kPiece) * bytes_);
    if (device_->allocate(size_, &address_).ok()) TW_REQUIRE_OK(stream_.fill(address_, 0, size_));
  }
  ~Line() {
    if (address_ != 0) CHECK(device_->release(address_).ok());
  }
  Line(const Line&) = delete;
  Line& operator=(const Line&) = delete;

  bool there() const { return address_ != 0; }
  uint64_t at(int64_t element) const { return address_ + static_cast<uint64_t>(element * bytes_); }
  void poison() { TW_REQUIRE_OK(stream_.fill(address_, 0xa7, size_)); }
  void write(int64_t first, const std::vector<float>& values) {
    std::vector<uint8_t> raw(values.size() * static_cast<size_t>(bytes_));
    for (size_t i = 0; i < values.size(); ++i)
      encode_element(&raw[i * static_cast<size_t>(bytes_)], type_, values[i]);
    TW_REQUIRE_OK(stream_.copy_to_device(at(first), raw.data(), raw.size()));
    TW_REQUIRE_OK(stream_.synchronize());
  }
  std::vector<float> read(int64_t first) {
    std::vector<uint8_t> raw(static_cast<size_t>(kPiece * bytes_));
    TW_REQUIRE_OK(stream_.copy_to_host(raw.data(), at(first), raw.size()));
    TW_REQUIRE_OK(stream_.synchronize());
    std::vector<float> values;
    for (size_t i = 0; i < raw.size(); i += static_cast<size_t>(bytes_))
      values.push_back(decode_element(&raw[i], type_));
    return values;
  }

 private:
  std::shared_ptr<Device> device_;
  Stream& stream_;
  int32_t bytes_;
  DType type_;
  uint64_t address_ = 0, size_ = 0;
};

std::vector<float> integers(std::mt19937_64& random, int64_t count) {
  std::vector<float> out;
  for (int64_t i = 0; i < count; ++i) out.push_back(static_cast<float>(pick(random, -3, 3)));
  return out;
}

// Operands and their values in the compared places. The offsets c_off and d_off, in elements, take
// C and D off the alignment that tensor maps need.
struct Operands {
  Line a, b, c, d, bias;
  std::vector<int64_t> places;
  std::vector<std::vector<float>> products, biases, addends;

  Operands(const std::shared_ptr<Device>& device, Stream& stream, int64_t n, DType out)
      : a(device, stream, 1, DType::BF16),
        b(device, stream, n, DType::BF16),
        c(device, stream, n, out),
        d(device, stream, n, out),
        bias(device, stream, n, out) {}
  bool there() const { return a.there() && b.there() && c.there() && d.there() && bias.there(); }

  void fill(std::mt19937_64& random, int64_t n, int64_t c_off) {
    places = {0, (int64_t{1} << 29) - kPiece / 2, (int64_t{1} << 30) - kPiece / 2, n - kPiece};
    if (places[2] > places[3]) places.erase(places.begin() + 2);
    for (auto* each : {&products, &biases, &addends}) each->clear();
    a.write(0, {kA});
    for (const int64_t place : places) {
      const auto of_b = integers(random, kPiece), of_c = integers(random, kPiece),
                 of_bias = integers(random, kPiece);
      b.write(place, of_b);
      c.write(place + c_off, of_c);
      bias.write(place, of_bias);
      products.push_back(of_b);
      biases.push_back(of_bias);
      addends.push_back(of_c);
    }
  }
  void check(int64_t d_off, float of_bias, float of_c) {
    for (size_t p = 0; p < places.size(); ++p) {
      const std::vector<float> got = d.read(places[p] + d_off);
      int64_t wrong = 0;
      for (size_t i = 0; i < kPiece; ++i)
        wrong += got[i] != kA * products[p][i] + of_bias * biases[p][i] + of_c * addends[p][i];
      INFO("columns from " << places[p]);
      CHECK(wrong == 0);
    }
    for (const int64_t between : {int64_t{1} << 20, (int64_t{1} << 29) + 4096})
      CHECK(d.read(between + d_off) == std::vector<float>(kPiece, 0.0f));
  }
};

// The best choice of each schedule that is not transposed.
std::vector<GemmChoice> choices_for(const Device& device, const GemmDesc& desc) {
  GemmProblem problem;
  TW_REQUIRE_OK(gemm_problem(desc, &problem));
  std::vector<GemmChoice> out;
  std::set<uint32_t> schedules;
  for (const GemmCandidate& one : GemmRanking(device, problem).candidates(desc.m))
    if (!one.choice.has(kGemmSwapAB) && schedules.insert(one.choice.entry->variant).second)
      out.push_back(one.choice);
  return out;
}

}  // namespace

TEST_CASE("gemm: one row of D that is longer than 2^31 bytes") {
  const auto device = open_test_device();
  if (!device) return;
  if (device->info().kind == DeviceKind::host)
    return skip("a row of 2^30 columns takes the host device minutes");
  const auto stream = new_stream(device);
  std::mt19937_64 random(4);
  for (const DType out : {DType::F32, DType::BF16}) {
    const int64_t n = (int64_t{1} << 30) + (out == DType::BF16 ? 1 << 20 : 0);
    for (int way = 0; way < 8; ++way) {
      const int64_t c_off = way & 1, d_off = way >> 1 & 1;
      const bool biased = (way & 4) != 0;
      Operands at(device, *stream, n, out);
      if (!at.there()) return skip("16 GiB of the device's memory are not free");
      at.fill(random, n, c_off);
      GemmDesc desc;
      desc.d_dtype = out;
      desc.m = 1;
      desc.n = n;
      desc.k = 1;
      desc.lda = 8;
      desc.a_alignment = desc.b_alignment = 16;
      desc.d_alignment = d_off == 0 ? 16 : 0;
      if (biased) desc.epilogue.bias = Per::column;
      const auto choices = choices_for(*device, desc);
      CHECK(choices.size() > ((device->info().kernel_features & feature::wgmma) != 0 ? 1 : 0));
      for (const GemmChoice& choice : choices)
        for (const float beta : {kBeta, 0.0f}) {
          INFO(gemm_choice_text(choice)
               << " to " << dtype_name(out) << ", C from " << c_off << ", D from " << d_off
               << ", bias " << biased << ", beta " << beta);
          std::unique_ptr<Plan> plan;
          TW_REQUIRE_OK(GemmPlan::create_forced(device, desc, choice, &plan));
          at.d.poison();
          const GemmRun run{.beta = beta,
                            .a = at.a.at(0),
                            .b = at.b.at(0),
                            .c = at.c.at(c_off),
                            .d = at.d.at(d_off),
                            .bias = biased ? at.bias.at(0) : 0};
          TW_REQUIRE_OK(static_cast<GemmPlan&>(*plan).run(*stream, run));
          at.check(d_off, biased ? 1.0f : 0.0f, beta);
        }
    }
  }
}
