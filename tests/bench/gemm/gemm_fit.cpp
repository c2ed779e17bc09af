// SPDX-License-Identifier: Apache-2.0
// Evaluates the cost model for gemm_fit.py: recorded cases with parameters that the script chooses.
// gemm_fit CASES reads a case per line, "chip in out orders programmatic m n k kernel", and prints
// a line with 1 for each case whose kernel the library has, else 0. Then, until its input ends, it
// reads vectors of parameters (doubles in the order of gemm_model.inc) and answers each with the
// nanoseconds of all cases marked 1, as doubles.
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <thread>
#include <vector>

#include "ops/gemm/gemm_staging.hpp"
#include "ops/gemm/select/gemm_cost.hpp"

using namespace tw;

namespace {

struct Case {
  GemmChip chip;
  GemmChoice choice;
  GemmProblem seen;
};

DType type_of(const std::string& name) {
  return name == "f16" ? DType::F16 : name == "f32" ? DType::F32 : DType::BF16;
}

// The chip of a record file by the first part of the file's name. "cool" means that the chip stayed
// below its power limit in all but long products. Such records are fitted with a limit that no
// product reaches; near it the model still slows products by some percent.
GemmChip chip_of_records(const std::string& name) {
  constexpr double kCoolFlopPerNs = 1000e3;
  GemmChip chip{.sms = 132,
                .clusters = {0, 132, 66, 39, 30, 22, 17, 15, 15},
                .no_maps_blocks = 132 * kGemmNoMapsBlocksPerSm,
                .no_maps_split_blocks = 132 * kGemmNoMapsSplitBlocksPerSm};
  DeviceInfo info;
  if (!name.starts_with("h100") && !name.starts_with("h200")) {
    std::fprintf(stderr, "record file %s: its name must begin with h100 or h200\n", name.c_str());
    std::exit(1);
  }
  info.name = name.starts_with("h100") ? "NVIDIA H100 80GB HBM3" : "NVIDIA H200";
  info.sm_count = 132;
  chip.rates = gemm_rates(info);
  if (name.ends_with("cool")) chip.rates.power_limit_flop_per_ns = kCoolFlopPerNs;
  return chip;
}

bool read_case(std::istream& in, Case* out, bool* known) {
  std::string chip, type, d_type, orders, kernel;
  int programmatic = 0;
  GemmDesc d;
  if (!(in >> chip >> type >> d_type >> orders >> programmatic >> d.m >> d.n >> d.k >> kernel))
    return false;
  out->chip = chip_of_records(chip);
  d.a_dtype = type_of(type);
  d.d_dtype = type_of(d_type);
  d.a_order = orders[0] == 'r' ? Order::row : Order::column;
  d.b_order = orders[1] == 'r' ? Order::row : Order::column;
  d.a_alignment = d.b_alignment = d.c_alignment = d.d_alignment = 16;
  d.staging_copy = !pitch_suits_maps(2 * (orders[0] == 'r' ? d.k : d.m)) ||
                   !pitch_suits_maps(2 * (orders[1] == 'r' ? d.n : d.k));
  d.min_m = d.m;
  if (programmatic != 0) d.flags = kGemmProgrammatic | kGemmConstantB;
  *known = parse_gemm_choice("kernel", kernel.c_str(), &out->choice).ok();
  GemmProblem problem;
  if (!*known || !gemm_problem(d, &problem).ok()) return true;
  problem = gemm_with_staging(problem);
  problem.set_rows(gemm_step_end(problem.rows()));
  out->seen = gemm_kernel_view(out->choice, problem);
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  std::ifstream file(argc > 1 ? argv[1] : "");
  std::vector<Case> cases;
  std::string known_cases;
  Case next;
  for (bool known = false; read_case(file, &next, &known);) {
    known_cases += known ? '1' : '0';
    if (known) cases.push_back(next);
  }
  std::printf("%s\n", known_cases.c_str());
  std::fflush(stdout);
  GemmModel model;
  const size_t workers = std::max(1u, std::thread::hardware_concurrency());
  std::vector<double> nanoseconds(cases.size());
  while (std::fread(&model, sizeof model, 1, stdin) == 1) {
    std::vector<std::thread> threads;
    for (size_t first = 0; first < workers; ++first)
      threads.emplace_back([&, first] {
        for (size_t i = first; i < cases.size(); i += workers)
          nanoseconds[i] = gemm_terms(cases[i].choice, cases[i].seen, cases[i].chip, model).total;
      });
    for (std::thread& thread : threads) thread.join();
    std::fwrite(nanoseconds.data(), sizeof(double), nanoseconds.size(), stdout);
    std::fflush(stdout);
  }
  return 0;
}
