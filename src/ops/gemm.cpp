// SPDX-License-Identifier: Apache-2.0
#include "ops/gemm.hpp"

#include <algorithm>
#include <cinttypes>
#include <cstdio>

#include "base/checked.hpp"
#include "ops/maps.hpp"

namespace tw {
namespace {

// What a tensor map needs of an address and a pitch without interleave.
constexpr int64_t kMapAlignment = 16;
// Units along m that are walked before the next along n. 66 clusters of 256 x 256 elements work at
// once: about a square of 8 x 8, whose operands are what the L2 is asked for least.
constexpr int32_t kBand = 8;

bool pitches_suit_maps(const GemmProblem& problem) {
  return problem.desc.lda * problem.in_bytes % kMapAlignment == 0 &&
         problem.desc.ldb * problem.in_bytes % kMapAlignment == 0;
}

// One 2-D map of 128-byte-swizzled boxes, 128 bytes along the contiguous dimension.
Status encode_operand(Device& device, DType type, int64_t contiguous, int64_t others,
                      int64_t leading, uint32_t box_others, KernelMap* out) {
  const int32_t bytes = dtype_bytes(type);
  TensorMapDesc desc;
  desc.dtype = type;
  desc.rank = 2;
  desc.swizzle = Swizzle::b128;
  // 256 bytes cost up to a fifth where pitches are no multiples of 128, and gain nothing elsewhere.
  desc.l2_promotion = L2Promotion::b128;
  // An empty operand is never read; its map must be one all the same.
  desc.global_dim[0] = static_cast<uint64_t>(std::max<int64_t>(contiguous, 1));
  desc.global_dim[1] = static_cast<uint64_t>(std::max<int64_t>(others, 1));
  desc.global_strides[0] =
      static_cast<uint64_t>(round_up(std::max<int64_t>(leading, 1) * bytes, kMapAlignment));
  desc.box_dim[0] = static_cast<uint32_t>(128 / bytes);
  desc.box_dim[1] = box_others;
  return encode_map(device, desc, out);
}

// What one block of a row's cluster loads of A and B.
struct Shares {
  uint32_t a_part, b_part;    // extent of a box besides its 128 bytes
  uint32_t a_boxes, b_boxes;  // for one k block
};

Shares shares(const KernelRow& row, const GemmDesc& d) {
  const auto of = [&row](auto function, bool along_k, int tile, int cluster) {
    return function(along_k, static_cast<u32>(row.tile[tile]), static_cast<u32>(row.tile[2]),
                    static_cast<u32>(row.cluster[cluster]));
  };
  const bool a_along_k = d.a_order == Order::row;
  const bool b_along_k = d.b_order == Order::column;
  return {of(gemm_part, a_along_k, 0, 1), of(gemm_part, b_along_k, 1, 0),
          of(gemm_boxes, a_along_k, 0, 1), of(gemm_boxes, b_along_k, 1, 0)};
}

// Bytes from the first to one past the last element.
uint64_t matrix_bytes(int64_t lines, int64_t contiguous, int64_t leading, int32_t bytes) {
  if (lines == 0 || contiguous == 0) return 0;
  return static_cast<uint64_t>(((lines - 1) * leading + contiguous) * bytes);
}

}  // namespace

Status GemmPlan::create(const std::shared_ptr<Device>& device, const GemmDesc& desc,
                        std::unique_ptr<Plan>* out) {
  GemmProblem problem;
  TW_TRY(gemm_problem(desc, &problem));
  std::unique_ptr<GemmPlan> plan(new GemmPlan(device, problem));
  TW_TRY(plan->prepare());
  *out = std::move(plan);
  return {};
}

Status GemmPlan::prepare() {
  const GemmDesc& d = problem_.desc;
  Device& dev = *device();
  const bool maps = pitches_suit_maps(problem_);
  const bool promised = d.a_alignment >= kMapAlignment && d.b_alignment >= kMapAlignment;
  const GemmChoice choice = maps ? select_gemm(dev, problem_, true) : GemmChoice{};
  const KernelRow* fast = choice.row;
  split_ = choice.split;
  if (fast) {
    const uint32_t shared =
        gemm_shared(static_cast<u32>(fast->tile[0]), static_cast<u32>(fast->tile[1]),
                    static_cast<u32>(fast->tile[2]), static_cast<u32>(fast->stages),
                    static_cast<u32>(problem_.in_bytes))
            .total;
    TW_TRY(prepare_row(dev, Family::gemm, fast, shared, &boxes_));
  }
  // Addresses that are not promised to suit maps may turn out not to.
  if (!fast || !promised)
    TW_TRY(prepare_row(dev, Family::gemm, select_gemm(dev, problem_, false).row, 0, &plain_));

  args_.a_stride_m = problem_.a_stride_m();
  args_.a_stride_k = problem_.a_stride_k();
  args_.b_stride_k = problem_.b_stride_k();
  args_.b_stride_n = problem_.b_stride_n();
  args_.c_stride_m = d.ldc;
  args_.d_stride_m = d.ldd;
  args_.band = kBand;
  args_.host_in = static_cast<unsigned char>(d.ab_dtype);
  args_.host_out = static_cast<unsigned char>(d.d_dtype);
  args_.host_column_a = d.a_order == Order::column;
  args_.host_column_b = d.b_order == Order::column;
  for (const PreparedKernel* kernel : {&boxes_, &plain_}) {
    if (!*kernel) continue;
    GemmArgs probe = args_;
    probe.m = static_cast<i32>(d.m);
    probe.n = static_cast<i32>(d.n);
    fill_units(*kernel, &probe);
    if (int64_t{probe.units_m} * probe.units_n > INT32_MAX)
      return fail(Code::ERROR_UNSUPPORTED,
                  {.argument = "m",
                   .rule = "gemm_tiles",
                   .got = int64_t{probe.units_m} * probe.units_n,
                   .limit = INT32_MAX},
                  "m %" PRId64 " by n %" PRId64 " is more than 2^31 - 1 tiles", d.m, d.n);
  }
  return boxes_ ? encode_maps() : Status{};
}

Status GemmPlan::encode_maps() {
  const GemmDesc& d = problem_.desc;
  const KernelRow& row = *boxes_.row;
  const Shares share = shares(row, d);
  Device& dev = *device();
  const bool a_along_k = d.a_order == Order::row;
  const bool b_along_k = d.b_order == Order::column;
  TW_TRY(encode_operand(dev, d.ab_dtype, a_along_k ? d.k : d.m, a_along_k ? d.m : d.k, d.lda,
                        share.a_part, &args_.map_a));
  TW_TRY(encode_operand(dev, d.ab_dtype, b_along_k ? d.k : d.n, b_along_k ? d.n : d.k, d.ldb,
                        share.b_part, &args_.map_b));
  if (d.ldd * problem_.out_bytes % kMapAlignment == 0)
    TW_TRY(encode_operand(dev, d.d_dtype, d.n, d.m, d.ldd, 64, &args_.map_d));
  if (row.feature != feature::host && row.cluster[0] * row.cluster[1] > 1) {
    int32_t blocks = 0;
    int32_t clusters = 0;
    LaunchConfig one = config(boxes_, 1);
    TW_TRY(boxes_.kernel->occupancy(one, &blocks, &clusters));
    max_clusters_ = static_cast<uint32_t>(std::max(1, clusters));
  } else {
    max_clusters_ = usable_sms(dev, 0);
  }
  return {};
}

uint32_t GemmPlan::fill_units(const PreparedKernel& kernel, GemmArgs* args) const {
  const KernelRow& row = *kernel.row;
  args->units_m = static_cast<i32>(ceil_div(args->m, row.tile[0] * row.cluster[0]));
  args->units_n = static_cast<i32>(ceil_div(args->n, row.tile[1] * row.cluster[1]));
  return static_cast<uint32_t>(args->units_m) * static_cast<uint32_t>(args->units_n);
}

LaunchConfig GemmPlan::config(const PreparedKernel& kernel, uint32_t units) const {
  const KernelRow& row = *kernel.row;
  const bool split = (row.variant & kGemmSplit) != 0;
  const auto cluster = split ? split_ : static_cast<uint32_t>(row.cluster[0] * row.cluster[1]);
  const uint32_t sms = usable_sms(*device(), problem_.desc.max_sms);
  // A plain row is small: several blocks share an SM.
  const bool plain = (row.variant & kGemmPlain) != 0;
  const uint32_t room = plain ? sms * 4 : std::min(max_clusters_, std::max(1u, sms / cluster));
  LaunchConfig config;
  // The clusters of a split have one tile each; everything else is persistent.
  config.grid[0] = std::max(1u, split ? units : std::min(units, room)) * cluster;
  config.block[0] = static_cast<uint32_t>(row.threads);
  config.cluster[0] = cluster;
  config.dynamic_smem_bytes = kernel.dynamic_smem_bytes;
  return config;
}

const PreparedKernel& GemmPlan::choose(uint64_t a, uint64_t b) const {
  const bool aligned = a % kMapAlignment == 0 && b % kMapAlignment == 0;
  return boxes_ && aligned ? boxes_ : plain_;
}

int32_t GemmPlan::plain_from(int64_t n, uint64_t d) const {
  const int64_t pitch = problem_.desc.ldd * problem_.out_bytes;
  if (d % kMapAlignment != 0 || pitch % kMapAlignment != 0) return 0;
  const int64_t per_piece = kMapAlignment / problem_.out_bytes;
  return static_cast<int32_t>(n / per_piece * per_piece);
}

Status GemmPlan::check_run(const GemmRun& run, int64_t m) const {
  const GemmDesc& d = problem_.desc;
  const int64_t rows = problem_.swapped ? d.m : m;
  const int64_t columns = problem_.swapped ? m : d.n;
  const bool reads = d.k > 0 && run.alpha != 0.0f;
  // The caller's names: a swapped problem's A is the caller's B.
  const uint64_t own_a = problem_.swapped ? run.b : run.a;
  const uint64_t own_b = problem_.swapped ? run.a : run.b;
  const char* a_name = problem_.swapped ? "b" : "a";
  const char* b_name = problem_.swapped ? "a" : "b";
  const auto in = static_cast<uint32_t>(problem_.in_bytes);
  const auto out = static_cast<uint32_t>(problem_.out_bytes);
  TW_TRY(check_address("d", run.d, std::max(d.d_alignment, out)));
  const uint64_t d_bytes = matrix_bytes(rows, columns, d.ldd, problem_.out_bytes);
  if (reads) {
    TW_TRY(check_address(a_name, own_a, std::max(d.a_alignment, in)));
    TW_TRY(check_address(b_name, own_b, std::max(d.b_alignment, in)));
    const bool a_rows = d.a_order == Order::row;
    const bool b_rows = d.b_order == Order::row;
    const uint64_t a_bytes =
        matrix_bytes(a_rows ? rows : d.k, a_rows ? d.k : rows, d.lda, problem_.in_bytes);
    const uint64_t b_bytes =
        matrix_bytes(b_rows ? d.k : columns, b_rows ? columns : d.k, d.ldb, problem_.in_bytes);
    TW_TRY(check_disjoint("d", run.d, d_bytes, a_name, own_a, a_bytes));
    TW_TRY(check_disjoint("d", run.d, d_bytes, b_name, own_b, b_bytes));
  }
  if (run.beta == 0.0f) return {};
  TW_TRY(check_address("c", run.c, std::max(d.c_alignment, out)));
  if (run.c == run.d && d.ldc == d.ldd) return {};
  return check_disjoint("d", run.d, d_bytes, "c", run.c,
                        matrix_bytes(rows, columns, d.ldc, problem_.out_bytes));
}

Status GemmPlan::run(Stream& stream, const GemmRun& run) const {
  const GemmDesc& d = problem_.desc;
  const int64_t planned_m = problem_.swapped ? d.n : d.m;
  const int64_t m = run.m == -1 ? planned_m : run.m;
  if (m < 0 || m > planned_m)
    return fail(Code::ERROR_INVALID_ARGUMENT,
                {.argument = "m", .rule = "gemm_run_m", .got = m, .limit = planned_m},
                "m is %" PRId64 ": the plan was made for 0 to %" PRId64 " (-1 means all)", m,
                planned_m);
  if (m == 0 || (problem_.swapped ? d.m : d.n) == 0) return {};
  TW_TRY(check_run(run, m));

  GemmArgs args = args_;
  args.a = problem_.swapped ? run.b : run.a;
  args.b = problem_.swapped ? run.a : run.b;
  args.c = run.c;
  args.d = run.d;
  args.m = static_cast<i32>(problem_.swapped ? d.m : m);
  args.n = static_cast<i32>(problem_.swapped ? m : d.n);
  args.alpha = run.alpha;
  args.beta = run.beta;
  args.k = run.alpha == 0.0f ? 0 : static_cast<i32>(d.k);
  args.plain_from = plain_from(args.n, args.d);
  const PreparedKernel& kernel = args.k == 0 && boxes_ ? boxes_ : choose(args.a, args.b);
  if (&kernel == &boxes_) {
    rebind_map(&args.map_a, args.a, d.a_order == Order::row ? 1 : 0, args.m);
    rebind_map(&args.map_b, args.b, d.b_order == Order::row ? 0 : 1, args.n);
    if (args.plain_from > 0) {
      rebind_map(&args.map_d, args.d, 0, args.plain_from);
      rebind_map(&args.map_d, args.d, 1, args.m);
    }
  }
  return launch(stream, kernel, &args);
}

Status GemmPlan::launch(Stream& stream, const PreparedKernel& kernel, GemmArgs* args) const {
  const uint32_t units = fill_units(kernel, args);
  return stream.launch(*kernel.kernel, config(kernel, units), args, sizeof *args);
}

PlanInfo GemmPlan::info() const {
  const GemmDesc& d = problem_.desc;
  const PreparedKernel& kernel = boxes_ ? boxes_ : plain_;
  const KernelRow& row = *kernel.row;
  GemmArgs args = args_;
  args.m = static_cast<i32>(d.m);
  args.n = static_cast<i32>(d.n);
  const uint64_t units = d.m > 0 && d.n > 0 ? fill_units(kernel, &args) : 0;
  const LaunchConfig launch = config(kernel, static_cast<uint32_t>(units));

  PlanInfo info;
  info.op = Op::gemm;
  info.kernel = row.symbol;
  for (int i = 0; i < 3; ++i) {
    info.grid[i] = launch.grid[i];
    info.block[i] = launch.block[i];
    info.cluster[i] = launch.cluster[i];
    info.tile[i] = static_cast<uint32_t>(row.tile[i]);
  }
  info.stages = static_cast<uint32_t>(row.stages);
  info.dynamic_smem_bytes = kernel.dynamic_smem_bytes;
  if (boxes_) {
    const Shares share = shares(row, d);
    const auto blocks = units * static_cast<uint64_t>(row.cluster[0] * row.cluster[1]);
    const auto k_blocks = static_cast<uint64_t>(ceil_div(d.k, row.tile[2]));
    info.boxes_loaded = blocks * k_blocks * (share.a_boxes + share.b_boxes);
    const int32_t columns = split_ > 1 ? 0 : plain_from(d.n, 0);
    info.boxes_stored =
        static_cast<uint64_t>(ceil_div(d.m, 64) * ceil_div(columns, 128 / problem_.out_bytes));
  }
  info.bytes_read = static_cast<uint64_t>((d.m * d.k + d.k * d.n) * problem_.in_bytes);
  info.bytes_written = static_cast<uint64_t>(d.m * d.n * problem_.out_bytes);
  info.flops =
      2 * static_cast<uint64_t>(d.m) * static_cast<uint64_t>(d.n) * static_cast<uint64_t>(d.k);
  return info;
}

std::string GemmPlan::explain() const {
  const GemmDesc& d = problem_.desc;
  const PlanInfo i = info();
  char text[1024];
  std::snprintf(text, sizeof text,
                "gemm %" PRId64 " x %" PRId64 " x %" PRId64
                ", %s to %s, A %s-major, B %s-major%s\n"
                "kernel %s: tile %ux%ux%u, %u stages, cluster of %u, %u blocks of %u threads, "
                "%u bytes of shared memory\n"
                "%" PRIu64 " boxes loaded, %" PRIu64 " stored\n",
                d.m, d.n, d.k, dtype_name(d.ab_dtype), dtype_name(d.d_dtype),
                d.a_order == Order::row ? "row" : "column",
                d.b_order == Order::row ? "row" : "column",
                problem_.swapped ? " (operands swapped: D is column-major)" : "", i.kernel,
                i.tile[0], i.tile[1], i.tile[2], i.stages, i.cluster[0], i.grid[0], i.block[0],
                i.dynamic_smem_bytes, i.boxes_loaded, i.boxes_stored);
  std::string out = text;
  if (!boxes_) {
    out +=
        "plain loads: a pitch of A or B is not a multiple of 16 bytes, which a tensor map "
        "needs, or the device has no faster row\n";
  } else if (plain_) {
    out += "where A or B turns out not to be 16-byte aligned, runs take ";
    out += plain_.row->symbol;
    out += "; promise a_alignment and b_alignment 16 to leave it out\n";
  }
  return out;
}

}  // namespace tw
