// Job: what the parent asks of a worker process and what comes back.
//
// The job is one JSON object on the worker's standard input; buffers are files in its scratch folder, because they are
// large and binary. The answer to request i is the file result_<i>.json, written beside and renamed when whole, with its buffers in
// out_<i>_<argument>.bin. `phase` says what the worker is doing, so that the parent can name what a dead worker died of. Standard
// output is not used: launchers may print.
#pragma once
#include "device/device.h"
#include "device/emulated/machine.h"

namespace klineage::emulated {

struct JobArgument {
  std::string name;
  bool isScalar = false;  ///< Everything that is no scalar comes back.
  std::string blob;       ///< File name in scratch; empty: poisoned (device.h) before each run.
  size_t bytes = 0;
  unsigned elementBytes = 4, alignment = 256, offsetBytes = 0;
};

struct JobRequest {
  bool profile = false;
  unsigned maxBlocks = 0;
  std::vector<JobArgument> arguments;
};

struct Job {
  std::string scratch, device, host; ///< Folder; bitcode files.
  unsigned workers = 0;
  Limits limits;
  std::string registersFile;         ///< In scratch: registers a thread by kernel, written when ptxas has answered, beside the work. Empty: never.
  unsigned firstRequest = 0;         ///< Earlier ones have their answers.
  std::vector<JobRequest> requests;
};

std::string toJson(const Job &job);
Result<Job> jobFromJson(const std::string &text);

/// The answer to one request: the outcome without its buffers, and what was launched.
struct JobAnswer {
  RunOutcome outcome;
  std::vector<Launched> launched;
};
std::string toJson(const JobAnswer &answer);
Result<JobAnswer> answerFromJson(const std::string &text);

std::string resultFile(unsigned request);
std::string outputFile(unsigned request, unsigned argument);

/// The worker's main part: reads the job, runs its requests. The exit status of the process.
int workerMain();

} // namespace klineage::emulated
