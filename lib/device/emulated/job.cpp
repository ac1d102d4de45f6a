#include "device/emulated/job.h"
#include <nlohmann/json.hpp>

namespace klineage::emulated {

using nlohmann::json;

std::string resultFile(unsigned request) { return "result_" + std::to_string(request) + ".json"; }
std::string outputFile(unsigned request, unsigned argument) {
  return "out_" + std::to_string(request) + "_" + std::to_string(argument) + ".bin";
}

std::string toJson(const Job &job) {
  json requests = json::array();
  for (const JobRequest &request : job.requests) {
    json arguments = json::array();
    for (const JobArgument &a : request.arguments)
      arguments.push_back({{"name", a.name}, {"scalar", a.isScalar}, {"blob", a.blob},
                           {"bytes", a.bytes}, {"element_bytes", a.elementBytes}, {"alignment", a.alignment}, {"offset_bytes", a.offsetBytes}});
    requests.push_back({{"profile", request.profile}, {"max_blocks", request.maxBlocks}, {"arguments", arguments}});
  }
  return json{{"scratch", job.scratch}, {"device", job.device}, {"host", job.host}, {"workers", job.workers}, {"sm", job.limits.sm},
              {"registers_file", job.registersFile}, {"first_request", job.firstRequest}, {"requests", requests}}
      .dump();
}

Result<Job> jobFromJson(const std::string &text) {
  try {
    json root = json::parse(text);
    Job job;
    job.scratch = root.at("scratch");
    job.device = root.at("device");
    job.host = root.at("host");
    job.workers = root.at("workers");
    job.limits.sm = root.at("sm");
    job.registersFile = root.at("registers_file");
    job.firstRequest = root.at("first_request");
    for (const json &row : root.at("requests")) {
      JobRequest request;
      request.profile = row.at("profile");
      request.maxBlocks = row.at("max_blocks");
      for (const json &a : row.at("arguments"))
        request.arguments.push_back({a.at("name"), a.at("scalar"), a.at("blob"), a.at("bytes"),
                                     a.at("element_bytes"), a.at("alignment"), a.at("offset_bytes")});
      job.requests.push_back(std::move(request));
    }
    return job;
  } catch (const json::exception &error) {
    return ourFault(std::string("the worker's job does not parse: ") + error.what());
  }
}

std::string toJson(const JobAnswer &answer) {
  const RunOutcome &outcome = answer.outcome;
  json launched = json::object();
  for (const Launched &shape : answer.launched) launched[shape.kernel] = shape.threads;
  return json{{"reason", name(outcome.reason)}, {"detail", outcome.detail}, {"counters", outcome.counters}, {"seconds", outcome.seconds},
              {"digest", outcome.outputDigest}, {"launched", launched}}
      .dump();
}

Result<JobAnswer> answerFromJson(const std::string &text) {
  try {
    json root = json::parse(text);
    JobAnswer answer;
    RunOutcome &outcome = answer.outcome;
    auto reason = reasonNamed(root.at("reason").get<std::string>());
    if (!reason) return ourFault("the worker gave a reason that does not exist");
    outcome.reason = *reason;
    outcome.detail = root.at("detail");
    outcome.counters = root.at("counters").get<Counters>();
    outcome.seconds = root.at("seconds").get<std::vector<double>>();
    outcome.outputDigest = root.at("digest");
    for (const auto &[kernel, threads] : root.at("launched").items()) answer.launched.push_back({kernel, threads});
    return answer;
  } catch (const json::exception &error) {
    return ourFault(std::string("the worker's answer does not parse: ") + error.what());
  }
}

} // namespace klineage::emulated
