// Running another program and collecting what it says, within a time limit.
#pragma once
#include "support/result.h"
#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace klineage {

struct Command {
  std::vector<std::string> argv;               ///< argv[0] is searched on PATH unless it holds a slash.
  std::string input;                           ///< Given on standard input.
  std::string folder;                          ///< Working folder; empty keeps the caller's.
  std::map<std::string, std::string> extraEnv; ///< Added to the caller's environment.
  std::chrono::milliseconds limit{600'000};    ///< Wall clock; the whole process group is killed after it.
  size_t outputLimit = 64u << 20;              ///< Bytes kept of each stream; the rest is read and dropped.
  std::string watchedFolder;                   ///< With folderLimit: what it may write into.
  uint64_t folderLimit = 0;                    ///< Bytes on disk below watchedFolder, looked at every 200 ms; it is killed above. 0: none.
  uint64_t memoryLimit = 0;                    ///< Resident bytes of the whole process tree, looked at every 20 ms; it is killed above. 0: none.
};

struct Finished {
  int exitCode = 0;   ///< Valid when signal is 0 and timedOut is false.
  int signal = 0;     ///< The signal that ended it, or 0.
  bool timedOut = false;
  bool outOfMemory = false;
  bool outOfDisk = false;
  std::string out, err;
  double seconds = 0; ///< Wall clock.
  bool ok() const { return exitCode == 0 && signal == 0 && !timedOut && !outOfMemory && !outOfDisk; }
};

/// Runs to the end or to the limit. An Error means the program could not be started at all.
Result<Finished> run(const Command &command);

/// Resident bytes of a process and all its descendants. Memory is bounded by these and not by an address-space limit, because lazily mapped
/// buffers (and CUDA) reserve far more addresses than they touch.
uint64_t residentBytes(int process);

/// Bytes on disk of all files below a folder. Stops counting beyond `enough`; each entry counts as one block at least, so that names alone are bounded too.
uint64_t bytesBelow(const std::string &folder, uint64_t enough);

} // namespace klineage
