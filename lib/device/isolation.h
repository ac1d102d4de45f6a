// Isolation: how a worker process that runs untrusted native code is held. Levels, what each stops and what it does not: docs/gate.md.
#pragma once
#include "support/subprocess.h"
#include <filesystem>
#include <optional>

namespace klineage {

/// From weakest to strongest. Each level holds what the ones before it hold.
enum class IsolationLevel {
  Limits,           ///< Bounded CPU time, file size, no core files. The process limit does not bind root.
  UnprivilegedUser, ///< Also another user without capabilities: the files of the caller cannot be written; processes are bounded.
  Bubblewrap        ///< Also own namespaces: no network, only named folders visible, read-only, one private scratch folder.
};
const char *name(IsolationLevel level);

/// What this machine can do, found by trying it once a process (about ten milliseconds).
struct IsolationFacts {
  IsolationLevel level = IsolationLevel::Limits;
  std::string why;    ///< Why no stronger level: the message of the program that failed. Empty at the strongest.
  std::string remedy; ///< What to install or allow. Empty at the strongest.
};
const IsolationFacts &isolationFacts();

struct IsolationRequest {
  std::vector<std::filesystem::path> readable;      ///< What the worker must see beside /usr and the program's folder; others may read it.
  std::filesystem::path scratch;                    ///< The only folder it may write; it is also its HOME, TMPDIR and working folder.
  std::vector<std::filesystem::path> devices;       ///< Device files to use, as /dev/nvidia0; without them the worker has /dev/null and its like alone.
  std::map<std::string, std::string> environment;   ///< All of it, beside PATH, HOME, TMPDIR and LANG: nothing is inherited.
  unsigned processes = 256;                         ///< Processes and threads of the worker's user.
  unsigned cpuSeconds = 600;
  uint64_t fileBytes = 256u << 20;                  ///< Largest file it may write.
};

/// The words to put before a worker's argv, at the strongest level that this machine has. Gives `scratch` to the worker's user.
/// Standard input, output and error, and other inherited descriptors, pass through. The worker's process tree dies with the process
/// that the words start. `at` asks for a weaker level than the machine has (tests); never a stronger one.
std::vector<std::string> isolationPrefix(const IsolationRequest &request, std::optional<IsolationLevel> at = {});

} // namespace klineage
