// klineage-cuda-worker: runs untrusted candidates on a GPU, for its parent (lib/device/cuda/job.h). It may die at any moment of what it runs;
// all it promises is that answers on disk are whole. Needs no LLVM; the driver, CUPTI and NVML are found at run time.
#include "device/cuda/worker/counters.h"
#include "device/cuda/worker/timing.h"
#include <chrono>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <iterator>
#include <optional>
#include <string_view>
#include <sys/file.h>
#include <unistd.h>

namespace klineage::cuda {
namespace {

/// Whole or not at all: beside the target, then renamed over it.
bool writeWhole(const std::string &path, const std::string &bytes) {
  std::string beside = path + ".part";
  {
    std::ofstream out(beside, std::ios::binary);
    out.write(bytes.data(), std::streamsize(bytes.size()));
    if (!out.flush()) return false;
  }
  return std::rename(beside.c_str(), path.c_str()) == 0;
}

/// The GPU's turn, for as long as the object lives (lib/device/cuda/worker_run.cpp).
class Turn {
public:
  Turn(int file, bool alone) : file(file) {
    if (file >= 0) ::flock(file, alone ? LOCK_EX : LOCK_SH);
  }
  ~Turn() {
    if (file >= 0) ::flock(file, LOCK_UN);
  }
  Turn(const Turn &) = delete;
  Turn &operator=(const Turn &) = delete;

private:
  int file;
};

class Worker {
public:
  explicit Worker(Job given)
      : job(std::move(given)), watchdog([this] {
          Answer hung;
          hung.reason = "hang";
          hung.detail = "the call did not end in " + std::to_string(int(job.tasks[current].secondsAtMost)) + " s";
          hung.contextLost = true;
          publish(hung);
          ::_exit(0);
        }),
        buffers(driver) {}

  int work() {
    say("start");
    if (auto missing = driver.load(); !missing.empty()) return refuse(missing);
    bool counts = !job.tasks.empty() && job.tasks.front().kind == "count"; // activity records and counters do not mix
    if (!counts) activityMissing = activity.open(job.cupti);
    CUresult result = driver.init(0);
    if (result == CUDA_SUCCESS) result = driver.deviceGet(&device, job.device);
    if (result == CUDA_SUCCESS) result = driver.primaryContextRetain(&context, device);
    if (result == CUDA_SUCCESS) result = driver.contextSetCurrent(context);
    if (result == CUDA_SUCCESS) result = driver.streamCreate(&stream, CU_STREAM_NON_BLOCKING);
    if (result != CUDA_SUCCESS) return refuse("the device cannot be used: " + driver.nameOf(result));
    char bus[32] = {};
    if (driver.deviceGetPciBusId(bus, sizeof bus, device) == CUDA_SUCCESS) nvml.open(bus);
    for (current = job.firstTask; current < job.tasks.size(); ++current) {
      say(std::to_string(current));
      Answer answer;
      Failure failure = perform(job.tasks[current], answer);
      answer.reason = failure.reason;
      answer.detail = failure.detail;
      answer.contextLost = failure.contextLost;
      if (!publish(answer)) return 4;
      if (failure.contextLost) break;
    }
    std::fflush(nullptr);
    ::_exit(0); // nothing that a candidate registered may run any more
  }

private:
  int refuse(const std::string &why) {
    std::cerr << why << '\n';
    return 1;
  }
  void say(const std::string &phase) { writeWhole(job.scratch + "/phase", phase); }
  bool publish(const Answer &answer) {
    return writeWhole(job.scratch + "/" + resultFile(current), nlohmann::json(answer).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  }

  Failure from(CUresult result, const std::string &doing) {
    if (result == CUDA_SUCCESS) return {};
    DriverVerdict verdict = verdictOf(result);
    return {result == CUDA_ERROR_FILE_NOT_FOUND ? "internal" : verdict.reason, doing + ": " + driver.nameOf(result), verdict.contextLost};
  }

  Failure perform(const Task &task, Answer &answer) {
    launchers.resize(job.libraries.size());
    for (unsigned library : task.libraries) {
      Launcher &launcher = launchers.at(library);
      if (launcher.call) continue;
      watchdog.arm(task.secondsAtMost); // constructors of the library are the candidate's code
      std::string error = launcher.open(job.libraries[library]);
      watchdog.disarm();
      if (!error.empty()) return {"launch_error", error, false};
      int arguments = int(task.arguments.size());
      if (launcher.parameters < arguments || launcher.parameters > arguments + 1)
        return {"launch_error", "the launcher takes " + std::to_string(launcher.parameters) + " parameters and the workload names " + std::to_string(arguments) +
                                    " arguments (a stream may follow them)", false};
    }
    CUresult result = buffers.place(task.arguments);
    if (result == CUDA_SUCCESS) result = buffers.fill(false);
    if (result == CUDA_SUCCESS) result = driver.contextSynchronize();
    if (result != CUDA_SUCCESS) return from(result, buffers.what);
    addresses.assign(buffers.addresses(), buffers.addresses() + task.arguments.size());
    addresses.push_back(&stream);
    if (task.kind == "check") return check(task, answer);
    if (task.kind == "pair") return pair(task, answer);
    return count(task, answer);
  }

  Failure check(const Task &task, Answer &answer) {
    Turn turn(job.turn, /*alone=*/false);
    activity.take();
    if (Failure failure = callOnce(driver, launchers[task.libraries.front()], addresses.data(), watchdog, task.secondsAtMost)) return failure;
    if (activity.isOpen()) {
      CallRecord call = activity.take();
      for (int again = 0; call.kernels == 0 && again < 20; ++again) call = activity.take();
      answer.kernelsACall = call.kernels + call.copies;
      if (call.kernels == 0) return {"no_device_kernel", "the launcher launched no kernel", false};
    }
    std::string damaged;
    if (CUresult result = buffers.damagedGuard(damaged); result != CUDA_SUCCESS) return from(result, "while reading the guard zones");
    if (!damaged.empty()) return {"out_of_bounds", "the guard zone of '" + damaged + "' was overwritten", false};
    std::string bytes;
    for (unsigned i = 0; i < task.arguments.size(); ++i) {
      if (task.arguments[i].isScalar) continue;
      bytes.resize(task.arguments[i].bytes);
      if (CUresult result = buffers.read(i, 0, bytes.size(), bytes.data()); result != CUDA_SUCCESS) return from(result, "while reading argument '" + task.arguments[i].name + "'");
      if (!writeWhole(job.scratch + "/" + outputFile(current, i), bytes)) return {"internal", "cannot write " + outputFile(current, i), false};
    }
    return {};
  }

  Failure pair(const Task &task, Answer &answer) {
    if (!activityMissing.empty())
      return {"no_samples", activityMissing + ": install CUPTI (it comes with the CUDA Toolkit, extras/CUPTI, or as the wheel nvidia-cuda-cupti), or name libcupti.so in KLINEAGE_CUPTI", false};
    Bench bench{driver, activity, nvml, watchdog, buffers, device, [this] { return addresses.data(); }};
    {
      Turn turn(job.turn, /*alone=*/true);
      if (Failure failure = timePair(bench, task, launchers, answer)) return failure;
    }
    Turn turn(job.turn, /*alone=*/false);
    return fresh(task, answer);
  }

  /// New values at the addresses that were timed: a result that was kept shows. Both versions' answers go back unless they are the same bits.
  Failure fresh(const Task &task, Answer &answer) {
    std::vector<std::string> sides[2];
    const char *names[2] = {"a_", "b_"};
    if (CUresult result = buffers.fill(true); result != CUDA_SUCCESS) return from(result, buffers.what);
    for (int side = 0; side < 2; ++side) {
      if (CUresult result = buffers.poisonResults(); result != CUDA_SUCCESS) return from(result, "while poisoning outputs");
      unsigned library = side == 0 ? task.libraries.front() : task.libraries.back();
      if (Failure failure = callOnce(driver, launchers[library], addresses.data(), watchdog, task.secondsAtMost)) return failure;
      std::string damaged;
      if (CUresult result = buffers.damagedGuard(damaged); result != CUDA_SUCCESS) return from(result, "while reading the guard zones");
      if (!damaged.empty()) return {"out_of_bounds", "the guard zone of '" + damaged + "' was overwritten in the profile instance", false};
      for (unsigned i = 0; i < task.arguments.size(); ++i) {
        std::string bytes;
        const TaskArgument &argument = task.arguments[i];
        if (!argument.isScalar && argument.isResult) {
          uint64_t length = sliceLength(argument.bytes), slices = slicesOf(argument.bytes);
          bytes.resize(length * slices);
          for (uint64_t s = 0; s < slices; ++s)
            if (CUresult result = buffers.read(i, sliceBegin(argument.bytes, s), length, bytes.data() + s * length); result != CUDA_SUCCESS)
              return from(result, "while reading argument '" + argument.name + "'");
        }
        sides[side].push_back(std::move(bytes));
      }
    }
    answer.freshEqual = sides[0] == sides[1];
    for (int side = 0; side < 2; ++side)
      for (unsigned i = 0; i < task.arguments.size(); ++i)
        if (!sides[side][i].empty() && !answer.freshEqual && !writeWhole(job.scratch + "/" + outputFile(current, i, names[side]), sides[side][i]))
          return {"internal", "cannot write " + outputFile(current, i, names[side]), false};
    // Equal bits may still be poison that neither wrote; the baseline's are looked at for that.
    if (answer.freshEqual)
      for (unsigned i = 0; i < task.arguments.size(); ++i)
        if (!sides[0][i].empty() && task.arguments[i].blob.empty() && sides[0][i].find_first_not_of("\xF5\xFF") == std::string::npos)
          return {"unwritten_output", "argument '" + task.arguments[i].name + "' was not written in the profile instance", false};
    return {};
  }

  Failure count(const Task &task, Answer &answer) {
    Failure failure;
    const Launcher &launcher = launchers[task.libraries.front()];
    std::optional<Turn> turn; // from the first call on: CUPTI's own start takes longer than the counting
    CounterResult result = countCall(job.cupti, job.device, context, job.metrics, [&]() -> std::optional<double> {
      if (!turn) turn.emplace(job.turn, /*alone=*/true);
      if (buffers.hasInOut()) buffers.restore();
      auto begun = std::chrono::steady_clock::now();
      failure = callOnce(driver, launcher, addresses.data(), watchdog, 10 * task.secondsAtMost); // replayed once a pass
      if (failure) return std::nullopt;
      return std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
    });
    if (failure) return failure;
    answer.counters = result.values;
    answer.countersUnavailable = result.unavailable;
    answer.kernelsACall = double(result.kernels);
    answer.counters["counter_passes"] = double(result.passes);
    for (const auto &metric : result.unknown) answer.notes.push_back("this chip has no metric " + metric);
    return {};
  }

  Job job;
  Driver driver;
  Activity activity;
  Nvml nvml;
  Watchdog watchdog;
  Buffers buffers;
  CUdevice device = 0;
  CUcontext context = nullptr;
  CUstream stream = nullptr;
  std::vector<Launcher> launchers;
  std::vector<void *> addresses;
  std::string activityMissing;
  unsigned current = 0;
};

} // namespace
} // namespace klineage::cuda

int main(int argc, char **argv) {
  if (argc == 2 && std::string_view(argv[1]) == "--describe") {
    std::string error, text = klineage::cuda::describe(error);
    (text.empty() ? std::cerr : std::cout) << (text.empty() ? error : text) << '\n';
    return text.empty() ? 1 : 0;
  }
  std::string text(std::istreambuf_iterator<char>(std::cin), {});
  auto root = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  try {
    return klineage::cuda::Worker(root.get<klineage::cuda::Job>()).work();
  } catch (const nlohmann::json::exception &error) {
    std::cerr << "the worker's job does not parse: " << error.what() << '\n';
    return 4;
  }
}
