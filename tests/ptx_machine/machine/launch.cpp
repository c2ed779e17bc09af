// SPDX-License-Identifier: Apache-2.0
#include "tests/ptx_machine/machine/launch.hpp"

#include <algorithm>
#include <cstring>

namespace tw::ptx_machine {
namespace {

constexpr uint32_t kTurn = 1000;

uint32_t volume(const uint32_t (&extent)[3]) {
  return extent[0] * extent[1] * extent[2];
}
/// The coordinates of linear index `index`, x fastest.
void coordinates(uint64_t index, const uint32_t (&extent)[3], uint32_t (*out)[3]) {
  (*out)[0] = static_cast<uint32_t>(index % extent[0]);
  (*out)[1] = static_cast<uint32_t>(index / extent[0] % extent[1]);
  (*out)[2] = static_cast<uint32_t>(index / extent[0] / extent[1]);
}

std::unique_ptr<Cta> new_cta(Launch* launch, Cluster* cluster, uint32_t rank) {
  auto cta = std::make_unique<Cta>();
  cta->launch = launch;
  cta->cluster = cluster;
  cta->rank = rank;
  uint32_t inside[3];
  coordinates(rank, launch->shape.cluster, &inside);
  for (int i = 0; i < 3; ++i) cta->id[i] = cluster->id[i] * launch->shape.cluster[i] + inside[i];
  const Image& image = launch->image;
  cta->shared_bytes =
      std::max(image.static_shared_end, image.dynamic_shared + launch->shape.dynamic_shared);
  cta->shared_storage.assign(cta->shared_bytes + 1024, kPoison);
  cta->written.assign(cta->shared_bytes, 0);
  const uintptr_t begin = reinterpret_cast<uintptr_t>(cta->shared_storage.data());
  cta->shared = cta->shared_storage.data() + (1024 - begin % 1024) % 1024;
  const uint32_t threads = volume(launch->shape.block);
  cta->warps.resize((threads + kLanes - 1) / kLanes);
  cta->warpgroups.resize((cta->warps.size() + 3) / 4);
  cta->alive_warps = static_cast<uint32_t>(cta->warps.size());
  for (uint32_t i = 0; i < cta->warps.size(); ++i) {
    Warp& warp = cta->warps[i];
    warp.launch = launch;
    warp.cta = cta.get();
    warp.image = &image;
    warp.number = i;
    warp.thread_registers = launched_registers(static_cast<uint32_t>(cta->warps.size()) * kLanes);
    begin_warp(&warp, threads - i * kLanes);
  }
  return cta;
}

std::unique_ptr<Cluster> new_cluster(Launch* launch, uint64_t index) {
  auto cluster = std::make_unique<Cluster>();
  uint32_t grid[3];
  for (int i = 0; i < 3; ++i) grid[i] = launch->shape.grid[i] / launch->shape.cluster[i];
  coordinates(index, grid, &cluster->id);
  const uint32_t size = volume(launch->shape.cluster);
  for (uint32_t rank = 0; rank < size; ++rank)
    cluster->ctas.push_back(new_cta(launch, cluster.get(), rank));
  cluster->alive = size * volume(launch->shape.block);
  if (launch->options.judge)
    cluster->judge =
        std::make_unique<Judge>(*cluster, static_cast<uint32_t>(index), launch->options.history);
  return cluster;
}

bool ended(const Cluster& cluster) {
  return std::all_of(cluster.ctas.begin(), cluster.ctas.end(),
                     [](const auto& cta) { return cta->alive_warps == 0; });
}

class Scheduler {
 public:
  explicit Scheduler(Launch* launch) : launch_(*launch) {
    const uint32_t size = volume(launch_.shape.cluster);
    count_ = volume(launch_.shape.grid) / size;
    resident_ = std::max(1u, launch_.options.resident / size);
  }

  Statistics run() {
    while (true) {
      while (next_ < count_ && launch_.clusters.size() < resident_)
        launch_.clusters.push_back(new_cluster(&launch_, next_++));
      if (launch_.clusters.empty()) break;
      if (!round() && !finish_any()) report_deadlock();
      retire();
    }
    while (finish_any()) {
    }
    return launch_.statistics;
  }

 private:
  /// Gives each warp a turn. Returns false if none made progress.
  bool round() {
    std::vector<Warp*> warps;
    for (const auto& cluster : launch_.clusters)
      for (const auto& cta : cluster->ctas)
        for (Warp& warp : cta->warps)
          if (warp.alive != 0) warps.push_back(&warp);
    const bool chance = launch_.options.seed != 0;
    if (chance) std::shuffle(warps.begin(), warps.end(), launch_.random);
    bool progress = false;
    for (Warp* warp : warps) {
      const uint64_t before = warp->executed;
      const uint32_t turn = chance ? 1 + static_cast<uint32_t>(launch_.random() % 300) : kTurn;
      progress |= run_warp(*warp, turn);
      launch_.statistics.thread_instructions += warp->executed - before;
    }
    if (launch_.statistics.thread_instructions > launch_.options.most_instructions)
      throw Error("kernel " + launch_.image.entry->name + ": not finished after " +
                  std::to_string(launch_.statistics.thread_instructions) + " thread instructions");
    return progress;
  }

  bool finish_any() {
    if (launch_.pending.empty()) return false;
    const uint64_t first = launch_.pending.begin()->first, last = launch_.pending.rbegin()->first;
    launch_.finish(
        launch_.pending.lower_bound(first + launch_.random() % (last - first + 1))->first);
    return true;
  }

  void retire() {
    if (std::none_of(launch_.clusters.begin(), launch_.clusters.end(),
                     [](const auto& c) { return ended(*c); }))
      return;
    // Pending work may access the shared memory of the clusters that are freed.
    while (finish_any()) {
    }
    std::erase_if(launch_.clusters, [](const auto& cluster) { return ended(*cluster); });
  }

  [[noreturn]] void report_deadlock() {
    for (const auto& cluster : launch_.clusters)
      for (const auto& cta : cluster->ctas)
        for (Warp& warp : cta->warps)
          if (warp.alive != 0 && !warp.others.empty()) {
            warp.pc = warp.others.front().pc + 1;
            warp.fail("deadlock: all warps wait; this warp waits here");
          }
    throw Error("deadlock");
  }

  Launch& launch_;
  uint64_t next_ = 0, count_ = 0;
  uint32_t resident_ = 1;
};

}  // namespace

const uint8_t* Launch::param(uint64_t offset) const {
  const uintptr_t begin = reinterpret_cast<uintptr_t>(params.data());
  return params.data() + (128 - begin % 128) % 128 + offset;
}

uint64_t Launch::begin_work(std::function<void()> work) {
  if (!options.late) {
    work();
    return 0;
  }
  pending.emplace(++last_work, std::move(work));
  return last_work;
}

void Launch::finish(uint64_t number) {
  const auto found = pending.find(number);
  if (found == pending.end()) return;
  const std::function<void()> work = std::move(found->second);
  pending.erase(found);
  work();
}

Statistics run_launch(const Image& image, const GlobalMemory& memory, const Shape& shape,
                      const void* params, size_t param_bytes, const Options& options) {
  const std::string kernel = "kernel " + image.entry->name + ": ";
  if (param_bytes != image.entry->param_bytes)
    throw Error(kernel + std::to_string(param_bytes) + " bytes of parameters, expected " +
                std::to_string(image.entry->param_bytes));
  for (int i = 0; i < 3; ++i)
    if (shape.cluster[i] == 0 || shape.grid[i] % shape.cluster[i] != 0)
      throw Error(kernel + "the grid is not a multiple of the cluster");
  if (image.entry->max_threads != 0 && volume(shape.block) > image.entry->max_threads)
    throw Error(kernel + "more threads than its .maxntid");
  if (image.dynamic_shared + shape.dynamic_shared > kSharedBegin + kMostShared)
    throw Error(kernel + "too much shared memory");
  Launch launch{image,
                memory,
                shape,
                options,
                nullptr,
                std::vector<uint8_t>(param_bytes + 128),
                std::mt19937_64(options.seed),
                {},
                0,
                {},
                {}};
  if (!options.history && options.judge) {
    launch.own_history = std::make_unique<History>();
    launch.own_history->begin_launch(false, nullptr);
    launch.options.history = launch.own_history.get();
  }
  if (param_bytes > 0) std::memcpy(const_cast<uint8_t*>(launch.param(0)), params, param_bytes);
  return Scheduler(&launch).run();
}

void cluster_arrive(Cluster& cluster, uint32_t threads) {
  cluster.arrived += threads;
  if (cluster.arrived < cluster.alive) return;
  cluster.arrived = 0;
  ++cluster.generation;
  if (cluster.judge) Judge::end_phase(&cluster.judge->cluster());
}

void cluster_exit(Cluster& cluster, uint32_t threads, bool have_arrived) {
  // Else they would count twice, and the phase would end before the others have arrived.
  if (have_arrived) cluster.arrived -= threads;
  cluster.alive -= threads;
  if (cluster.arrived > 0) cluster_arrive(cluster, 0);
}

uint64_t special_value(const Warp& warp, Special special, uint32_t lane) {
  const Launch& launch = *warp.launch;
  const Shape& shape = launch.shape;
  const Cta& cta = *warp.cta;
  uint32_t thread[3];
  coordinates(warp.number * kLanes + lane, shape.block, &thread);
  const int32_t at = static_cast<int32_t>(special);
  // The enumerators of x, y and z are consecutive.
  const auto of = [&](Special first, const uint32_t(&values)[3], uint64_t* out) {
    const int32_t i = at - static_cast<int32_t>(first);
    if (i < 0 || i > 2) return false;
    *out = values[i];
    return true;
  };
  uint32_t inside[3], clusters[3];
  for (int i = 0; i < 3; ++i) {
    inside[i] = cta.id[i] % shape.cluster[i];
    clusters[i] = shape.grid[i] / shape.cluster[i];
  }
  uint64_t value = 0;
  if (of(Special::tid_x, thread, &value) || of(Special::ntid_x, shape.block, &value) ||
      of(Special::ctaid_x, cta.id, &value) || of(Special::nctaid_x, shape.grid, &value) ||
      of(Special::cluster_ctaid_x, inside, &value) ||
      of(Special::cluster_nctaid_x, shape.cluster, &value) ||
      of(Special::clusterid_x, cta.cluster->id, &value) ||
      of(Special::nclusterid_x, clusters, &value))
    return value;
  const uint32_t below = (1u << lane) - 1, own = 1u << lane;
  switch (special) {
    case Special::laneid:
      return lane;
    case Special::warpid:
      return warp.number;
    case Special::lanemask_lt:
      return below;
    case Special::lanemask_le:
      return below | own;
    case Special::lanemask_eq:
      return own;
    case Special::lanemask_ge:
      return ~below;
    case Special::lanemask_gt:
      return ~(below | own);
    case Special::cluster_ctarank:
      return cta.rank;
    case Special::cluster_nctarank:
      return volume(shape.cluster);
    case Special::smid:
      return cta.rank;
    case Special::dynamic_smem_size:
      return shape.dynamic_shared;
    default:
      return warp.executed;  // the clocks
  }
}

}  // namespace tw::ptx_machine
