// SPDX-License-Identifier: Apache-2.0
#include "ops/gemm/select/gemm_tuning.hpp"

#include <algorithm>
#include <charconv>
#include <cinttypes>
#include <cstdio>
#include <mutex>
#include <shared_mutex>

#include "base/decimal.hpp"
#include "ops/plan/plan.hpp"

namespace tw {
namespace {

constexpr std::string_view kHeader = "tilewright gemm tuning 1";
constexpr const char* kNoHeader =
    "is not \"tilewright gemm tuning 1\", which must be the first line";
constexpr std::string_view kDevice = "device ";
constexpr std::string_view kRates = "rates";
constexpr std::string_view kProgrammatic = "programmatic";
constexpr std::string_view kBy = "by", kScales = "scales", kFast = "fast";
constexpr std::string_view kQuantized = "quantized";
constexpr double kMaxMicroseconds = 1e9;

std::string_view trimmed(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t\r");
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

class Fields {
 public:
  explicit Fields(std::string_view line) : rest_(line) {}
  std::string_view next() {
    rest_ = trimmed(rest_);
    const size_t end = std::min(rest_.find_first_of(" \t"), rest_.size());
    const std::string_view field = rest_.substr(0, end);
    rest_.remove_prefix(end);
    return field;
  }

 private:
  std::string_view rest_;
};

template <class Number>
bool read_number(std::string_view field, Number* out) {
  const char* const end = field.data() + field.size();
  const auto [at, error] = std::from_chars(field.data(), end, *out);
  return error == std::errc() && at == end && !field.empty();
}

bool read_accumulator_type(std::string_view field, DType* out) {
  for (const DType type : {DType::BF16, DType::F16, DType::F32})
    if (field == dtype_name(type)) {
      *out = type;
      return true;
    }
  return false;
}

bool read_type(std::string_view field, DType* out) {
  for (const DType type : {DType::BF16, DType::F16, DType::F32, DType::F8E4M3, DType::F8E5M2,
                           DType::I8, DType::I32, DType::TF32})
    if (field == dtype_name(type)) {
      *out = type;
      return true;
    }
  return false;
}

// Letters for scale kinds in a tuning text, one each for A and B.
constexpr std::pair<char, ScaleKind> kScaleLetters[] = {{'n', ScaleKind::none},
                                                        {'t', ScaleKind::tensor},
                                                        {'r', ScaleKind::row},
                                                        {'k', ScaleKind::row128},
                                                        {'b', ScaleKind::block128}};

bool read_scale(char letter, ScaleKind* out) {
  for (const auto& [name, kind] : kScaleLetters)
    if (letter == name) {
      *out = kind;
      return true;
    }
  return false;
}

char letter_of(ScaleKind kind) {
  for (const auto& [letter, letter_kind] : kScaleLetters)
    if (kind == letter_kind) return letter;
  return 'n';
}

// Reads the optional fields of narrow types: "by <type of B>", "scales <letters of A and B>",
// "fast", "quantized". `field` is their first field, and becomes the first field after them.
// Returns false if "by" or "scales" has no valid value; `field` is then that value, empty if it is
// missing.
bool read_narrow(Fields* fields, std::string_view* field, GemmTuningKey* key) {
  if (*field == kBy) {
    if (!read_type(*field = fields->next(), &key->b_dtype)) return false;
    *field = fields->next();
  }
  if (*field == kScales) {
    *field = fields->next();
    if (field->size() != 2 || !read_scale((*field)[0], &key->a_scale) ||
        !read_scale((*field)[1], &key->b_scale))
      return false;
    *field = fields->next();
  }
  if (*field == kFast) {
    key->fast = true;
    *field = fields->next();
  }
  if (*field == kQuantized) {
    key->quantizes = true;
    *field = fields->next();
  }
  return true;
}

bool read_orders(std::string_view field, GemmTuningKey* out) {
  if (field.size() != 3 || field.find_first_not_of("rc") != field.npos) return false;
  const auto order = [](char c) { return c == 'r' ? Order::row : Order::column; };
  out->a_order = order(field[0]);
  out->b_order = order(field[1]);
  out->d_order = order(field[2]);
  return true;
}

Status refuse(int line, std::string_view field, const char* why) {
  return fail(Code::ERROR_PARSE, {.argument = "text", .index = line, .rule = "gemm_tuning_text"},
              "text, line %d: \"%.*s\" %s", line,
              static_cast<int>(std::min<size_t>(field.size(), 120)), field.data(), why);
}

Status read_entry(int number, std::string_view line, GemmTuningEntry* out) {
  Fields fields(line);
  GemmTuningKey& key = out->key;
  for (DType* type : {&key.a_dtype, &key.d_dtype, &key.accumulator})
    if (const auto field = fields.next();
        !(type == &key.accumulator ? read_accumulator_type : read_type)(field, type))
      return refuse(number, field, "is not a type of A and B, of D, or of the accumulators");
  if (const auto field = fields.next(); !read_orders(field, &key))
    return refuse(number, field, "is not three letters r or c, the orders of A, B and D");
  if (const auto field = fields.next(); !read_number(field, &key.sms) || key.sms == 0)
    return refuse(number, field, "is not a number of SMs");
  for (int64_t* extent : {&out->m, &key.n, &key.k})
    if (const auto field = fields.next();
        !read_number(field, extent) || *extent < 1 || *extent > kGemmMaxExtent)
      return refuse(number, field, "is not a valid m, n or k: each is 1 to 2^31 - 1024");
  const std::string choice(fields.next());
  if (!parse_gemm_choice("text", choice.c_str(), &out->candidate.choice).ok())
    return refuse(number, choice,
                  "is not a candidate of this library: measure again, or remove the line");
  double microseconds = 0;
  if (const auto field = fields.next();
      !read_number(field, &microseconds) || !(microseconds > 0) || microseconds > kMaxMicroseconds)
    return refuse(number, field, "is not a number of microseconds above 0 and at most 1e9");
  out->candidate.nanoseconds = microseconds * 1e3;
  out->candidate.measured = true;
  key.epilogue_kernel = out->candidate.choice.has(kGemmEpilogue);
  auto field = fields.next();
  if (field.size() > 1 && field[0] == 'x') {
    if (!read_number(field.substr(1), &key.batch) || key.batch < 1 || key.batch > kGemmMaxBatch)
      return refuse(number, field, "is not a number of products: x1 to x1048576");
    field = fields.next();
  }
  if (field == kProgrammatic) {
    key.programmatic = true;
    field = fields.next();
  }
  if (!read_narrow(&fields, &field, &key))
    return refuse(number, field,
                  "is not the type of B after \"by\", or the two letters after \"scales\"");
  if (!field.empty()) return refuse(number, field, "is an unknown or superfluous field");
  return {};
}

// "rates 4800 700": GB/s (bytes per ns) of memory, and TFLOP/s at the power limit.
Status read_rates(int number, std::string_view line, GemmTuningRates* out) {
  constexpr double kMax = 1e6;
  Fields fields(line);
  fields.next();
  for (double* value : {&out->dram_bytes_per_ns, &out->power_limit_flop_per_ns}) {
    const std::string_view field = fields.next();
    if (!read_number(field, value) || !(*value > 0) || *value > kMax)
      return refuse(number, field, "is not a rate (GB/s, then TFLOP/s) above 0 and at most 1e6");
  }
  out->power_limit_flop_per_ns *= 1e3;
  const std::string_view rest = fields.next();
  return rest.empty() ? Status() : refuse(number, rest, "is a superfluous field");
}

bool same_key_and_m(const GemmTuningEntry& a, const GemmTuningEntry& b) {
  return a.m == b.m && a.key == b.key;
}

}  // namespace

GemmTuningKey gemm_tuning_key(const Device& device, const GemmProblem& problem) {
  const GemmProblem caller_problem = problem.swapped ? swap_ab(problem) : problem;
  const GemmDesc& d = caller_problem.desc;
  return {.device = device.info().name,
          .a_dtype = d.a_dtype,
          .d_dtype = d.d_dtype,
          .accumulator = d.accumulator,
          .a_order = d.a_order,
          .b_order = d.b_order,
          .d_order = d.d_order,
          .sms = usable_sms(device, d.max_sms),
          .n = d.n,
          .k = d.k,
          .batch = std::max<int64_t>(d.batch, 1),
          .epilogue_kernel = problem.wants_epilogue_kernel(),
          .programmatic = d.has(kGemmProgrammatic),
          .b_dtype = d.b_type() == d.a_dtype ? DType{} : d.b_type(),
          .a_scale = d.a_scaling.kind,
          .b_scale = d.b_scaling.kind,
          .fast = d.fast_accumulate,
          .quantizes = d.d_quantize.any()};
}

bool gemm_tuning_serves(int64_t measured, int64_t m) {
  const int64_t measured_end = gemm_step_end(measured), end = gemm_step_end(m);
  return end <= measured_end && end > measured_end - std::max<int64_t>(measured_end / 8, 1);
}

void GemmTuning::add(const GemmTuningEntry& entry) {
  add_all({{entry}, {}});
}

void GemmTuning::set_rates(const GemmTuningRates& rates) {
  add_all({{}, {rates}});
}

namespace {

// Replaces the element for which same() holds, or adds one.
template <class Item, class Same>
void put(std::vector<Item>* all, const Item& item, Same same) {
  const auto old =
      std::find_if(all->begin(), all->end(), [&](const Item& other) { return same(other, item); });
  if (old != all->end())
    *old = item;
  else
    all->push_back(item);
}

}  // namespace

// Adds everything, or nothing if memory runs out.
void GemmTuning::add_all(const Contents& added) {
  const std::unique_lock lock(lock_.mutex());
  auto all = std::make_unique<Contents>(*contents_);
  for (const GemmTuningEntry& entry : added.entries) put(&all->entries, entry, same_key_and_m);
  for (const GemmTuningRates& rates : added.rates)
    put(&all->rates, rates, [](const auto& a, const auto& b) { return a.device == b.device; });
  contents_ = std::move(all);
}

Status GemmTuning::load(std::string_view text) {
  Contents read;
  std::string device;
  bool has_header = false;
  for (int number = 1; !text.empty(); ++number) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = trimmed(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty() || line[0] == '#') continue;
    if (!has_header) {
      if (line != kHeader) return refuse(number, line, kNoHeader);
      has_header = true;
    } else if (line.substr(0, kDevice.size()) == kDevice) {
      device = trimmed(line.substr(kDevice.size()));
    } else {
      if (device.empty()) return refuse(number, line, "stands before any line \"device <name>\"");
      if (Fields(line).next() == kRates) {
        GemmTuningRates rates{.device = device};
        TW_TRY(read_rates(number, line, &rates));
        read.rates.push_back(std::move(rates));
        continue;
      }
      GemmTuningEntry entry;
      TW_TRY(read_entry(number, line, &entry));
      entry.key.device = device;
      read.entries.push_back(std::move(entry));
    }
  }
  if (!has_header) return refuse(1, "", kNoHeader);
  add_all(read);
  return {};
}

std::string GemmTuning::format() const {
  const std::shared_lock lock(lock_.mutex());
  std::string out(kHeader);
  out += '\n';
  const std::string* device = nullptr;
  for (const GemmTuningRates& rates : contents_->rates) {
    device = &rates.device;
    out += std::string(kDevice) + rates.device + '\n' + std::string(kRates) + ' ' +
           Decimal(rates.dram_bytes_per_ns, 1).text() + ' ' +
           Decimal(rates.power_limit_flop_per_ns / 1e3, 1).text() + '\n';
  }
  for (const GemmTuningEntry& e : contents_->entries) {
    const GemmTuningKey& key = e.key;
    if (!device || *device != key.device) {
      device = &key.device;
      out += std::string(kDevice) + key.device + '\n';
    }
    const auto order = [](Order o) { return o == Order::row ? 'r' : 'c'; };
    char line[256];
    std::snprintf(line, sizeof line,
                  "%s %s %s %c%c%c %" PRIu32 " %" PRId64 " %" PRId64 " %" PRId64 " %s %s",
                  dtype_name(key.a_dtype), dtype_name(key.d_dtype), dtype_name(key.accumulator),
                  order(key.a_order), order(key.b_order), order(key.d_order), key.sms, e.m, key.n,
                  key.k, gemm_choice_text(e.candidate.choice).c_str(),
                  Decimal(std::max(e.candidate.nanoseconds / 1e3, 0.001), 3).text());
    out += line;
    if (key.batch > 1) out += " x" + std::to_string(key.batch);
    if (key.programmatic) (out += ' ') += kProgrammatic;
    if (key.b_dtype != DType{}) ((out += ' ') += kBy) += std::string(" ") + dtype_name(key.b_dtype);
    if (key.a_scale != ScaleKind::none)
      (((out += ' ') += kScales) += ' ') += {letter_of(key.a_scale), letter_of(key.b_scale)};
    if (key.fast) (out += ' ') += kFast;
    if (key.quantizes) (out += ' ') += kQuantized;
    out += '\n';
  }
  return out;
}

std::vector<GemmTuningEntry> GemmTuning::find(const GemmTuningKey& key) const {
  std::vector<GemmTuningEntry> out;
  {
    const std::shared_lock lock(lock_.mutex());
    for (const GemmTuningEntry& entry : contents_->entries)
      if (entry.key == key) out.push_back(entry);
  }
  std::sort(out.begin(), out.end(),
            [](const GemmTuningEntry& a, const GemmTuningEntry& b) { return a.m < b.m; });
  return out;
}

void GemmTuning::apply_rates(const std::string& device, GemmRates* rates) const {
  const std::shared_lock lock(lock_.mutex());
  for (const GemmTuningRates& found : contents_->rates)
    if (found.device == device) {
      rates->dram_bytes_per_ns = found.dram_bytes_per_ns;
      rates->power_limit_flop_per_ns = found.power_limit_flop_per_ns;
    }
}

}  // namespace tw
