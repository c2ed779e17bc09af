// SPDX-License-Identifier: Apache-2.0
#include "tests/bench/gemm/gemm_program.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <sstream>

#include "tests/bench/gemm/gemm_draw.hpp"
#include "tests/bench/gemm/gemm_race.hpp"

namespace tw::bench {
namespace {

constexpr double kMemoryBytesPerUs = 4.3e6;  // measured on an H200
constexpr double kFlopsPerClock = 4096;      // per SM: a wgmma of m64n256k16 takes 128 clocks

struct Arguments {
  GemmRaceOptions race;
  std::vector<std::string> sets = {"SQ"};
  std::vector<std::string> classes = {"decode"};
  std::string kind;  // see run_gemm_program()
  bool list = false;
  bool random = false;
  uint64_t seed = 0;
  int count = 0;  // 0: 12 if sustained, else 20
  bool f32 = false;
  double sustained = 0;
  bool rounds_only = false;
  int shard = 1, shards = 1;
  int64_t min_m = 0, max_m = INT64_MAX;
  std::vector<std::string> extents;  // measure only these; empty: all
  std::string cublaslt;
  bool profile = false;
  FILE* json = nullptr;  // for JSON lines, in addition to the table
  double seconds = 0;
  size_t skip = 0;
};

std::vector<std::string> split_names(const std::string& list) {
  std::vector<std::string> names;
  std::stringstream stream(list);
  for (std::string name; std::getline(stream, name, ',');) names.push_back(name);
  return names;
}

Arguments parse(int argc, char** argv, const std::string& kind) {
  Arguments all;
  all.kind = kind;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    const size_t equals = argument.find('=');
    std::string name = argument.substr(0, equals);
    std::string value;
    if (equals != std::string::npos)
      value = argument.substr(equals + 1);
    else if (i + 1 < argc && argv[i + 1][0] != '-')
      value = argv[++i];
    std::replace(name.begin() + 2, name.end(), '-', '_');
    if (name == "--set")
      all.sets = split_names(value);
    else if (name == "--shard")
      require(std::sscanf(value.c_str(), "%d/%d", &all.shard, &all.shards) == 2, "--shard=i/n");
    else if (name == "--dtype")
      all.race.dtype = value == "f16" ? DType::F16 : DType::BF16;
    else if (name == "--mode")
      all.race.hot = value == "hot";
    else if (name == "--rounds")
      all.race.rounds = std::atoi(value.c_str());
    else if (name == "--peer_rounds")
      all.race.peer_rounds = std::atoi(value.c_str());
    else if (name == "--min_m")
      all.min_m = std::atoll(value.c_str());
    else if (name == "--max_m")
      all.max_m = std::atoll(value.c_str());
    else if (name == "--shape")
      all.extents = split_names(value);
    else if (name == "--cublaslt")
      all.cublaslt = value;
    else if (name == "--seconds")
      all.seconds = std::atof(value.c_str());
    else if (name == "--skip")
      all.skip = static_cast<size_t>(std::atoll(value.c_str()));
    else if (name == "--json")
      require((all.json = value.empty() ? stdout : std::fopen(value.c_str(), "a")) != nullptr,
              value.c_str());
    else if (name == "--candidate_seconds")
      all.race.candidate_seconds = std::atof(value.c_str());
    else if (name == "--random") {
      all.random = true;
      all.seed = std::strtoull(value.c_str(), nullptr, 16);
    } else if (name == "--class")
      all.classes = split_names(value);
    else if (name == "--epilogues") {
      require(kind == "epi" && (value == "others" || value == "cublaslt"), "--epilogues");
      all.kind = value == "others" ? "oth" : "epi";
    } else if (name == "--list")
      all.list = true;
    else if (name == "--count")
      all.count = std::atoi(value.c_str());
    else if (name == "--f32")
      all.f32 = true;
    else if (name == "--sustained")
      all.sustained = std::atof(value.c_str());
    else if (name == "--profile")
      all.profile = true;
    else if (name == "--clocks")
      all.race.clocks = true;
    else if (name == "--programmatic")
      all.race.programmatic = true;
    else if (name == "--self")
      all.race.self = true;
    else if (name == "--regret")
      all.race.regret = true;
    else if (name == "--within")
      all.race.within = std::atof(value.c_str());
    else if (name == "--all_candidates")
      all.race.all_candidates = true;
    else if (name == "--rounds_only")
      all.rounds_only = true;
    else if (name == "--alone_seconds")
      all.race.alone_seconds = std::atof(value.c_str());
    else
      require(false, ("argument " + argument).c_str());
  }
  if (all.sustained > 0) {
    all.race.alone_us = 1e-3;
    all.race.alone_seconds = all.sustained;
    if (all.classes == Arguments().classes) all.classes = {"large"};
  } else if (all.random && !all.rounds_only) {
    all.race.alone_us = 400;
  }
  all.race.order_seed = all.seed;
  if (all.count == 0) all.count = all.sustained > 0 ? 12 : 20;
  return all;
}

std::string extents(const GemmShape& shape) {
  return std::to_string(shape.m) + "x" + std::to_string(shape.n) + "x" + std::to_string(shape.k);
}

/// The extents, and what else there is.
std::string label(const GemmShape& shape) {
  std::string text = extents(shape);
  if (shape.batch != 1) text += " x" + std::to_string(shape.batch);
  if (shape.fusion.any()) text += std::string(" ") + shape.fusion.name;
  return text;
}

/// The drawn class for a name of --class: with epilogues "epi-d" for decode and "epi-p" for
/// prefill.
std::string drawn_class(const Arguments& arguments, const std::string& name) {
  if (arguments.kind.empty()) return name;
  require(name == "decode" || name == "prefill", "--class=decode or prefill");
  return arguments.kind + "-" + name[0];
}

std::vector<GemmShape> wanted_shapes(const Arguments& arguments) {
  std::vector<GemmShape> shapes;
  for (const std::string& name :
       arguments.random ? arguments.classes : std::vector<std::string>()) {
    const std::vector<GemmShape> drawn =
        draw_gemm_shapes(drawn_class(arguments, name), arguments.seed, arguments.count);
    require(!drawn.empty(), ("class " + name).c_str());
    for (GemmShape shape : drawn) {
      if (!arguments.extents.empty() &&
          std::count(arguments.extents.begin(), arguments.extents.end(), extents(shape)) == 0)
        continue;
      if (shape.m < arguments.min_m || shape.m > arguments.max_m) continue;
      shape.f32_out = arguments.f32;
      shapes.push_back(shape);
    }
  }
  if (arguments.random) return shapes;
  for (const std::string& set : arguments.sets) {
    const std::vector<GemmShape> all = gemm_set(set);
    require(!all.empty(), ("set " + set).c_str());
    for (size_t i = 0; i < all.size(); ++i) {
      if (static_cast<int>(i) % arguments.shards != arguments.shard - 1) continue;
      if (all[i].m < arguments.min_m || all[i].m > arguments.max_m) continue;
      if (!arguments.extents.empty() &&
          std::count(arguments.extents.begin(), arguments.extents.end(), extents(all[i])) == 0)
        continue;
      shapes.push_back(all[i]);
    }
  }
  return shapes;
}

char letter(Order order) {
  return order == Order::row ? 'r' : 'c';
}

/// Fields that only batches and products with epilogues have.
std::string more_json(const GemmShape& shape) {
  std::string text;
  if (shape.batch != 1) text += ", \"batch\": " + std::to_string(shape.batch);
  if (shape.fusion.any()) text += std::string(", \"epilogue\": \"") + shape.fusion.name + "\"";
  return text;
}

/// A JSON line per shape, with the C API's numbers, for programs that race the same shapes.
void print_list(const Arguments& arguments, const std::vector<GemmShape>& shapes) {
  for (const GemmShape& s : shapes) {
    const GemmEpilogue& e = s.fusion.epilogue;
    std::printf(
        "{\"kind\": \"shape\", \"set\": \"%s\", \"m\": %lld, \"n\": %lld, \"k\": %lld, "
        "\"orders\": \"%c%c\", \"dtype\": \"%s\", \"alpha\": %g, \"beta\": %g, \"bias\": %d, "
        "\"activation\": %d, \"gate\": %d, \"factor\": %d%s}\n",
        s.set, static_cast<long long>(s.m), static_cast<long long>(s.n),
        static_cast<long long>(s.k), letter(s.a_order), letter(s.b_order),
        dtype_name(arguments.race.dtype), static_cast<double>(s.fusion.alpha),
        static_cast<double>(s.fusion.beta), static_cast<int>(e.bias),
        static_cast<int>(e.activation), static_cast<int>(e.gate), static_cast<int>(e.d_factor),
        more_json(s).c_str());
  }
}

struct Report {
  const Arguments& arguments;
  double peak;  // FLOP/us
  int32_t sms;

  double limit_us(const GemmShape& shape) const {
    return std::max(shape.flops() / peak, shape.bytes() / kMemoryBytesPerUs);
  }
  const char* type_name(const GemmShape& shape) const {
    return shape.f32_out ? (shape.accumulate ? "f32+" : "f32") : dtype_name(arguments.race.dtype);
  }

  int width() const { return arguments.kind.empty() ? 18 : 38; }

  void header() const {
    if (arguments.json)
      for (const GemmClass& c : gemm_classes())
        std::fprintf(arguments.json,
                     "{\"kind\": \"class\", \"name\": \"%s\", \"mean\": %g, \"least\": %g}\n",
                     c.name, c.mean, c.least);
    std::printf("%-5s %-*s %-2s %-5s %9s %7s %6s %8s %9s %6s  %s\n", "set", width(), "m x n x k",
                "AB", "D", "us", "TFLOP/s", "GB/s", "limit us", "cuBLASLt", "ratio",
                "kernel, blocks, cluster");
  }
  void line(const GemmShape& shape, const GemmResult& r) const {
    const std::string size = label(shape);
    if (!r.error.empty()) {
      std::printf("%-5s %-*s %s\n", shape.set, width(), size.c_str(), r.error.c_str());
      return;
    }
    std::printf("%-5s %-*s %c%c %-5s %9.2f %7.1f %6.0f %8.2f %9.2f %6.3f  %s, %u, %u%s\n",
                shape.set, width(), size.c_str(), letter(shape.a_order), letter(shape.b_order),
                type_name(shape), r.ours.us, shape.flops() / r.ours.us * 1e-6,
                shape.bytes() / r.ours.us * 1e-3, limit_us(shape), r.peer_us, r.ratio(),
                r.ours.kernel.c_str(), r.ours.grid, r.ours.cluster,
                r.right ? "" : "  WRONG RESULT");
    if (arguments.json) {
      json(shape, r.ours, r, arguments.race.self ? "self" : "plan");
      for (const GemmTime& candidate : r.candidates) json(shape, candidate, r, "candidate");
      std::fflush(arguments.json);
    }
    if (arguments.race.regret)
      std::printf("      regret %.1f %% of %zu candidates, the fastest: %s\n", r.regret * 100,
                  r.candidates.size(), r.fastest.c_str());
    else if (!r.candidates.empty())
      best_candidate(r);
    if (r.ours.joules > 0 && r.peer_joules > 0)
      std::printf("      %.4f J, cuBLASLt %.4f J: ratio %.3f\n", r.ours.joules, r.peer_joules,
                  r.peer_joules / r.ours.joules);
    if (arguments.race.clocks)
      std::printf("      of the tensor cores' speed %.3f at %.0f MHz, cuBLASLt %.3f at %.0f MHz\n",
                  of_tensor_cores(shape, r.ours.us, r.ours.megahertz), r.ours.megahertz,
                  of_tensor_cores(shape, r.peer_us, r.peer_megahertz), r.peer_megahertz);
    std::fflush(stdout);
  }
  /// The fraction of the time for which the tensor cores must have been busy, at the clock that was
  /// read; 0 if it was not read.
  double of_tensor_cores(const GemmShape& shape, double us, double megahertz) const {
    if (us <= 0 || megahertz <= 0) return 0;
    return shape.flops() / (us * megahertz * sms * kFlopsPerClock);
  }
  void best_candidate(const GemmResult& r) const {
    const auto best =
        std::min_element(r.candidates.begin(), r.candidates.end(),
                         [](const GemmTime& a, const GemmTime& b) { return a.us < b.us; });
    std::printf(
        "      best of %zu candidates %9.2f us, ratio %.3f, the choice is %.1f %% slower: %s, %u\n",
        r.candidates.size(), best->us, r.peer_us / best->us, (r.ours.us / best->us - 1) * 100,
        best->kernel.c_str(), best->grid);
  }
  std::string classes_of(const GemmShape& shape) const {
    std::string list;
    for (size_t i = 0; i < gemm_classes().size(); ++i)
      if (gemm_classes()[i].has(shape, sms)) list += (list.empty() ? "" : ", ") + std::to_string(i);
    return list;
  }
  void json(const GemmShape& s, const GemmTime& time, const GemmResult& r, const char* kind) const {
    std::fprintf(arguments.json,
                 "{\"kind\": \"%s\", \"set\": \"%s\", \"m\": %lld, \"n\": %lld, \"k\": %lld, "
                 "\"orders\": \"%c%c\", \"dtype\": \"%s\", \"out\": \"%s\", \"mode\": \"%s\", "
                 "\"rounds\": %d, \"kernel\": \"%s\", \"grid\": %u, \"cluster\": %u, \"us\": %.3f, "
                 "\"peer_us\": %.3f, \"peer_algorithm\": %d, \"peer_kernel\": \"%s\", \"tflops\": "
                 "%.2f, \"gbs\": %.1f, "
                 "\"model_us\": %.3f, \"limit_us\": %.3f, \"of_tensor_cores\": %.4f, "
                 "\"peer_of_tensor_cores\": %.4f, \"joules\": %.5g, \"peer_joules\": %.5g, "
                 "\"distance\": %.3g, \"right\": %s, "
                 "\"classes\": [%s]%s}\n",
                 kind, s.set, static_cast<long long>(s.m), static_cast<long long>(s.n),
                 static_cast<long long>(s.k), letter(s.a_order), letter(s.b_order),
                 dtype_name(arguments.race.dtype), type_name(s),
                 arguments.race.programmatic ? "programmatic"
                 : arguments.race.hot        ? "hot"
                                             : "cold",
                 arguments.race.rounds, time.kernel.c_str(), time.grid, time.cluster, time.us,
                 r.peer_us, r.peer_algorithm, r.peer_kernel.c_str(), s.flops() / time.us * 1e-6,
                 s.bytes() / time.us * 1e-3, time.model_us, limit_us(s),
                 of_tensor_cores(s, time.us, time.megahertz),
                 of_tensor_cores(s, r.peer_us, r.peer_megahertz), time.joules, r.peer_joules,
                 r.distance, r.right ? "true" : "false", classes_of(s).c_str(),
                 more_json(s).c_str());
  }
};

struct Measured {
  GemmShape shape;
  double ratio;
  double regret;
};

void print_classes(const std::vector<Measured>& all, int32_t sms, bool hot) {
  const double floor = hot ? 0.97 : 1.0;  // in hot mode 97 % of each stated figure suffice
  for (const GemmClass& c : gemm_classes()) {
    double logarithms = 0, least = 1e9;
    int count = 0;
    const GemmShape* worst = nullptr;
    for (const Measured& one : all) {
      if (!c.has(one.shape, sms) || one.ratio <= 0) continue;
      logarithms += std::log(one.ratio);
      ++count;
      if (one.ratio < least) worst = &one.shape;
      least = std::min(least, one.ratio);
    }
    if (count == 0) continue;
    const double mean = std::exp(logarithms / count);
    std::printf(
        "# %-24s %3d shapes: geometric mean %.3f (wanted %.3f%s), least %.3f at %s "
        "(wanted %.3f%s)\n",
        c.name, count, mean, c.mean * floor, mean < c.mean * floor ? ", MISSED" : "", least,
        label(*worst).c_str(), c.least * floor, least < c.least * floor ? ", MISSED" : "");
  }
}

/// Prints how far ratios of a plan to itself scatter: smaller differences mean nothing.
void print_noise(const std::vector<Measured>& all, FILE* json) {
  std::map<std::string, std::vector<double>> sets;
  for (const Measured& one : all)
    if (one.ratio > 0) sets[one.shape.set].push_back(one.ratio);
  for (const auto& [set, ratios] : sets) {
    const auto count = static_cast<double>(ratios.size());
    double sum = 0, squares = 0;
    for (const double ratio : ratios) sum += ratio;
    const double mean = sum / count;
    for (const double ratio : ratios) squares += (ratio - mean) * (ratio - mean);
    const double deviation = ratios.size() > 1 ? std::sqrt(squares / (count - 1)) : 0;
    std::printf("# noise of %s: %zu shapes, mean ratio %.4f, standard deviation %.2f %%\n",
                set.c_str(), ratios.size(), mean, deviation * 100);
    if (json)
      std::fprintf(json,
                   "{\"kind\": \"noise\", \"class\": \"%s\", \"shapes\": %zu, \"mean\": %.5f, "
                   "\"deviation\": %.5f}\n",
                   set.c_str(), ratios.size(), mean, deviation);
  }
}

void print_regret(const std::vector<Measured>& all, FILE* json) {
  std::map<std::string, std::vector<double>> classes;
  for (const Measured& one : all) classes[one.shape.set].push_back(one.regret);
  for (auto& [name, regrets] : classes) {
    std::sort(regrets.begin(), regrets.end());
    double sum = 0;
    for (const double regret : regrets) sum += regret;
    const auto count = static_cast<double>(regrets.size());
    const auto rank = static_cast<size_t>(std::ceil(0.95 * count)) - 1;
    std::printf("# regret of %s: %zu shapes, mean %.1f %%, 95th percentile %.1f %%, most %.1f %%\n",
                name.c_str(), regrets.size(), sum / count * 100, regrets[rank] * 100,
                regrets.back() * 100);
    if (json)
      std::fprintf(json,
                   "{\"kind\": \"regret\", \"class\": \"%s\", \"shapes\": %zu, \"mean\": %.5f, "
                   "\"percentile_95\": %.5f, \"most\": %.5f}\n",
                   name.c_str(), regrets.size(), sum / count, regrets[rank], regrets.back());
  }
}

}  // namespace

bool wants_drawn_shapes(int argc, char** argv) {
  return std::any_of(argv + 1, argv + argc,
                     [](const char* text) { return std::strncmp(text, "--random", 8) == 0; });
}

int run_gemm_program(int argc, char** argv, const std::string& kind) {
  const Arguments arguments = parse(argc, argv, kind);
  const std::vector<GemmShape> shapes = wanted_shapes(arguments);
  if (arguments.list) {
    print_list(arguments, shapes);
    return 0;
  }
  const auto begin = std::chrono::steady_clock::now();
  GpuBench bench;
  std::string why;
  const auto peer =
      GemmPeer::open(arguments.cublaslt, bench.allocate(GemmPeer::kWorkspaceBytes), &why);
  if (!peer) std::printf("# no cuBLASLt: %s\n", why.c_str());
  GemmRacer racer(bench, peer.get(), arguments.race);
  if (arguments.profile) {
    const Report names{arguments, 1, 1};
    for (const GemmShape& shape : shapes) {
      const std::string nothing = racer.launch_once(shape);
      std::printf("%s %s %c%c %s %s\n", shape.set, extents(shape).c_str(), letter(shape.a_order),
                  letter(shape.b_order), names.type_name(shape), nothing.c_str());
    }
    return 0;
  }
  const Report report{arguments, racer.measured_peak() * 1e-6, bench.device()->info().sm_count};
  std::printf("# %s, %d SMs, cuBLASLt %zu at 8192^3: %.0f TFLOP/s; %s, medians of %d rounds\n",
              bench.device()->info().name.c_str(), report.sms, peer ? peer->version() : 0,
              report.peak * 1e-6, arguments.race.hot ? "back to back" : "L2 flushed",
              arguments.race.rounds);
  GpuConditions conditions = bench.sensors().before();
  report.header();
  std::vector<Measured> all;
  bool right = true;
  for (size_t i = arguments.skip; i < shapes.size(); ++i) {
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin;
    if (arguments.seconds > 0 && spent.count() > arguments.seconds) {
      std::printf("# stopped after %.0f s: %zu shapes are left, --skip=%zu\n", spent.count(),
                  shapes.size() - i, i);
      break;
    }
    const GemmResult result = racer.race(shapes[i]);
    report.line(shapes[i], result);
    if (!result.error.empty()) continue;
    right = right && result.right;
    all.push_back({shapes[i], result.ratio(), result.regret});
  }
  if (arguments.race.regret) print_regret(all, arguments.json);
  if (arguments.race.self)
    print_noise(all, arguments.json);
  else
    print_classes(all, report.sms, arguments.race.hot);
  bench.sensors().after(&conditions);
  std::printf("# %s\n", conditions_text(conditions).c_str());
  if (arguments.json) {
    std::fprintf(arguments.json, "%s\n", conditions_json(conditions).c_str());
    std::fflush(arguments.json);
  }
  std::printf("# %.1f s\n",
              std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  return right ? 0 : 1;
}

}  // namespace tw::bench
