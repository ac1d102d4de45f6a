#include "device/cuda/worker_run.h"
#include "device/isolation.h"
#include "source/toolchain.h"
#include "support/files.h"
#include "support/hash.h"
#include "support/subprocess.h"
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace klineage::cuda {
namespace fs = std::filesystem;

namespace {

/// A worker's wall clock beyond what its calls may take: start, inputs, waiting for its turn. A hang is the worker's own watchdog's affair; this is
/// for one that does not even answer that.
constexpr double startSeconds = 900;

/// The GPU's turn among all processes of this machine that klineage started: many may check at once, one alone may time. The worker takes and gives
/// the lock, because only it knows when its kernels run; the descriptor is inherited, which every level of isolation lets through.
class Turn {
public:
  explicit Turn(unsigned index) {
    fs::path path = fs::temp_directory_path() / ("klineage-cuda-" + std::to_string(index) + ".lock");
    file = ::open(path.c_str(), O_CREAT | O_RDWR, 0666);
    if (file >= 0) ::fchmod(file, 0666); // where it cannot be opened times may be disturbed, which their intervals show
  }
  ~Turn() {
    if (file < 0) return;
    ::flock(file, LOCK_UN); // for a worker that died with it; another child may have inherited the descriptor too
    ::close(file);
  }
  Turn(const Turn &) = delete;
  Turn &operator=(const Turn &) = delete;
  int descriptor() const { return file; }

private:
  int file = -1;
};

std::string libraryPath(const std::string &cupti) {
  std::string path;
  if (const char *given = std::getenv("LD_LIBRARY_PATH")) path = given;
  // CUPTI loads its metric libraries by name.
  if (!cupti.empty()) path += (path.empty() ? "" : ":") + fs::path(cupti).parent_path().string();
  return path;
}

IsolationRequest isolationFor(const fs::path &scratch, const WorkerRun &run) {
  IsolationRequest isolation;
  isolation.scratch = scratch;
  if (!run.readable.empty()) isolation.readable.push_back(run.readable);
  if (!run.facts.cupti.empty()) isolation.readable.push_back(fs::path(run.facts.cupti).parent_path());
  isolation.readable.push_back("/usr/local/nvidia");
  isolation.environment["LD_LIBRARY_PATH"] = libraryPath(run.facts.cupti);
  isolation.environment["CUDA_VISIBLE_DEVICES"] = std::to_string(run.index);
  isolation.environment["CUDA_CACHE_DISABLE"] = "1";
  isolation.fileBytes = uint64_t(8) << 30;
  isolation.cpuSeconds = 3600;
  std::error_code error;
  for (const auto &entry : fs::directory_iterator("/dev", error))
    if (entry.path().filename().string().rfind("nvidia", 0) == 0) isolation.devices.push_back(entry.path());
  return isolation;
}

double limitOf(const Job &job) {
  double limit = startSeconds;
  for (size_t i = job.firstTask; i < job.tasks.size(); ++i) {
    const Task &task = job.tasks[i];
    limit += task.secondsAtMost + 2;
    if (task.kind == "pair") limit += 3 * task.timingSeconds * (1 + task.repeats) + task.secondsAtMost;
    if (task.kind == "count") limit += 10 * task.secondsAtMost;
  }
  return limit;
}

/// What the worker may hold of the host's memory: the driver's and CUPTI's own, and some copies of the buffers that go back.
uint64_t memoryOf(const Job &job) {
  uint64_t largest = 0;
  for (const Task &task : job.tasks) {
    uint64_t bytes = 0;
    for (const auto &argument : task.arguments) bytes += argument.bytes;
    largest = std::max(largest, bytes);
  }
  return (uint64_t(12) << 30) + 4 * std::min<uint64_t>(largest, uint64_t(1) << 38);
}

/// What it may leave in its folder: the answers to all tasks, the libraries, and one file of the largest size.
uint64_t diskOf(const Job &job) {
  uint64_t bytes = uint64_t(9) << 30;
  for (const Task &task : job.tasks)
    for (const auto &argument : task.arguments) bytes += 2 * argument.bytes;
  return bytes;
}

Answer deathOf(const Finished &finished, const std::string &phase) {
  Answer answer;
  std::string said = finished.err.substr(0, 2000);
  if (phase.empty() || phase == "start") {
    bool answered = finished.exitCode == 1 && !finished.signal && !finished.timedOut;
    answer.reason = answered ? "unsupported" : "internal";
    answer.detail = answered ? said
                             : "the worker died before it ran anything (signal " + std::to_string(finished.signal) + ", exit " + std::to_string(finished.exitCode) + "): " + said;
    return answer;
  }
  if (finished.outOfDisk) {
    answer.reason = "forbidden_side_effect";
    answer.detail = "the run wrote more into its folder than it may, and was ended";
  } else if (finished.outOfMemory) {
    answer.reason = "resources_exceeded";
    answer.detail = "the process took too much of the host's memory";
  } else if (finished.timedOut) {
    answer.reason = "hang";
    answer.detail = "the run was ended after " + std::to_string(int(finished.seconds)) + " s";
  } else if (finished.exitCode == 4) {
    answer.reason = "internal";
    answer.detail = said;
  } else {
    int signal = finished.signal ? finished.signal : finished.exitCode > 128 ? finished.exitCode - 128 : 0;
    answer.reason = "crash";
    answer.detail = signal ? std::string("the launcher or kernel ended the process: ") + strsignal(signal)
                           : "the process ended with status " + std::to_string(finished.exitCode) + " in the middle of a run";
  }
  return answer;
}

std::optional<Answer> readAnswer(const fs::path &file) {
  auto text = readFile(file);
  if (!text) return std::nullopt;
  try {
    return nlohmann::json::parse(*text).get<Answer>();
  } catch (const nlohmann::json::exception &error) {
    Answer answer;
    answer.reason = "internal";
    answer.detail = std::string("the worker's answer does not parse: ") + error.what();
    return answer;
  }
}

} // namespace

const std::string &programRevision() {
  static const std::string hash = [] {
    auto program = readFile(programFolder() / "klineage-cuda-worker");
    return program ? sha256(*program) : std::string("no worker");
  }();
  return hash;
}

std::string findCupti() {
  std::error_code error;
  if (const char *given = std::getenv("KLINEAGE_CUPTI"); given && *given) return fs::exists(given, error) ? given : "";
  for (const char *place : {"/extras/CUPTI/lib64/libcupti.so", "/lib64/libcupti.so", "/lib/libcupti.so", "/targets/x86_64-linux/lib/libcupti.so",
                            "/extras/CUPTI/lib64/libcupti.so.13", "/lib64/libcupti.so.13", "/lib/libcupti.so.13"}) {
    fs::path path = cudaFolder() + place;
    if (fs::exists(path, error)) return fs::canonical(path, error).string();
  }
  return {};
}

Result<DeviceFacts> describeDevice(unsigned index) {
  fs::path worker = programFolder() / "klineage-cuda-worker";
  DeviceFacts facts;
  facts.cupti = findCupti();
  Command command{.argv = {worker.string(), "--describe"}, .extraEnv = {{"CUDA_VISIBLE_DEVICES", std::to_string(index)}}, .limit = std::chrono::seconds(60)};
  auto finished = run(command);
  if (!finished) return finished.error();
  auto told = nlohmann::json::parse(finished->out, nullptr, /*allow_exceptions=*/false);
  if (!finished->ok() || !told.is_object())
    return userError("there is no GPU cuda:" + std::to_string(index) + " to use: " + (finished->err.empty() ? "the worker did not answer" : finished->err.substr(0, finished->err.find('\n'))),
                     {}, "klineage doctor says what this machine has; the emulated device needs no GPU");
  facts.name = told.value("name", "");
  facts.driver = told.value("driver", "");
  facts.busId = told.value("bus", "");
  facts.sm = told.value("sm", 0u);
  facts.l2Bytes = told.value("l2_bytes", 0.0);
  facts.memoryBytes = told.value("memory_bytes", 0.0);
  std::error_code error;
  if (!fs::exists(cudaFolder() + "/bin/nvcc", error))
    return userError("there is no nvcc at " + cudaFolder() + "/bin, and a GPU's candidates are built by it", {}, "set CUDA_PATH to a CUDA 13 toolkit");
  return facts;
}

void clearAnswers(const fs::path &scratch) {
  std::error_code ignored;
  std::vector<fs::path> old;
  for (const auto &entry : fs::directory_iterator(scratch, ignored)) {
    std::string name = entry.path().filename().string();
    if (name.rfind("result_", 0) == 0 || name.find("out_") != std::string::npos || name == "phase") old.push_back(entry.path());
  }
  for (const auto &path : old) fs::remove(path, ignored);
}

std::vector<Answer> performJob(Job &job, const WorkerRun &run) {
  std::vector<Answer> answers;
  fs::path scratch = job.scratch;
  job.cupti = run.facts.cupti;
  job.device = 0; // the only one that the worker sees
  while (answers.size() < job.tasks.size()) {
    job.firstTask = unsigned(answers.size());
    Command command;
    command.argv = isolationPrefix(isolationFor(scratch, run));
    command.argv.push_back((programFolder() / "klineage-cuda-worker").string());
    Turn turn(run.index);
    job.turn = turn.descriptor();
    command.input = nlohmann::json(job).dump();
    command.limit = std::chrono::milliseconds(int64_t(1000 * limitOf(job)));
    command.memoryLimit = memoryOf(job);
    command.watchedFolder = scratch.string();
    command.folderLimit = diskOf(job);
    auto finished = klineage::run(command);
    if (!finished) {
      Answer lost;
      lost.reason = "internal";
      lost.detail = finished.error().message();
      answers.resize(job.tasks.size(), lost);
      break;
    }
    size_t before = answers.size();
    for (unsigned i = unsigned(before); i < job.tasks.size(); ++i) {
      auto answer = readAnswer(scratch / resultFile(i));
      if (!answer) break;
      answers.push_back(std::move(*answer));
      if (answers.back().contextLost) break;
    }
    // A worker that ended itself after a lost context has answered; another that stopped early died in the next task.
    bool answeredLast = answers.size() > before && answers.back().contextLost;
    if (answers.size() == job.tasks.size() || answeredLast) continue;
    auto phase = readFile(scratch / "phase");
    Answer death = deathOf(*finished, phase ? *phase : std::string());
    bool diedEarly = !phase || *phase == "start";
    do answers.push_back(death);
    while (diedEarly && answers.size() < job.tasks.size());
  }
  return answers;
}

} // namespace klineage::cuda
