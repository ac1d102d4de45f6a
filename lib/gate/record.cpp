#include "gate/record.h"
#include "device/bottleneck.h"
#include "support/files.h"
#include "support/hash.h"
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

namespace klineage {
namespace fs = std::filesystem;
using nlohmann::json;
namespace {

/// Infinity and NaN have no JSON number; the schema says that null stands for "not finite".
json number(double value) { return std::isfinite(value) ? json(value) : json(nullptr); }
double numberFrom(const json &value) { return value.is_null() ? std::numeric_limits<double>::infinity() : value.get<double>(); }

json toValue(const InstanceResult &result) {
  return {{"instance", result.instance}, {"seed", result.seed}, {"repeat", result.repeat}, {"reason", name(result.reason)},
          {"detail", result.detail}, {"worst_error", number(result.worstError)}, {"norm_error", number(result.normError)}};
}

Reason reasonFrom(const json &value) {
  auto reason = reasonNamed(value.get<std::string>());
  if (!reason) throw std::runtime_error("unknown reason " + value.get<std::string>());
  return *reason;
}

Outcome outcomeFrom(const json &value) {
  for (Outcome outcome : {Outcome::Accepted, Outcome::Refused, Outcome::Undecided})
    if (value.get<std::string>() == name(outcome)) return outcome;
  throw std::runtime_error("unknown outcome " + value.get<std::string>());
}

InstanceResult instanceFrom(const json &value) {
  InstanceResult result;
  result.instance = value.at("instance");
  result.seed = value.at("seed");
  result.repeat = value.at("repeat");
  result.reason = reasonFrom(value.at("reason"));
  result.detail = value.at("detail");
  result.worstError = numberFrom(value.at("worst_error"));
  result.normError = numberFrom(value.at("norm_error"));
  return result;
}

json toValue(const std::vector<TimingBlock> &blocks) {
  json rows = json::array();
  for (const auto &block : blocks) rows.push_back({block.a1, block.b1, block.b2, block.a2});
  return rows;
}

std::vector<TimingBlock> blocksFrom(const json &rows) {
  std::vector<TimingBlock> blocks;
  for (const auto &row : rows) blocks.push_back({row.at(0), row.at(1), row.at(2), row.at(3)});
  return blocks;
}

Status write(const fs::path &path, json value) {
  value["checksum"] = sha256(value.dump());
  return writeFile(path, value.dump(1, ' ', false, json::error_handler_t::replace) + "\n");
}

/// The value of a whole, undamaged file with this key; a damaged one is moved aside.
std::optional<json> readWhole(const fs::path &path, const std::string &key, const char *schema, std::vector<std::string> &notes) {
  std::error_code error;
  if (!fs::exists(path, error)) return std::nullopt;
  std::string why;
  if (auto text = readFile(path)) {
    json value = json::parse(*text, nullptr, /*allow_exceptions=*/false);
    if (value.is_discarded() || !value.is_object()) why = "it is not JSON";
    else if (value.value("schema", "") != schema) why = "it is no " + std::string(schema);
    else if (value.value("key", "") != key) why = "it tells of another question";
    else {
      std::string checksum = value.value("checksum", "");
      value.erase("checksum");
      if (checksum == sha256(value.dump())) return value;
      why = "its checksum does not fit its text";
    }
  } else {
    why = text.error().what;
  }
  fs::path aside = path;
  aside.replace_extension(".damaged");
  fs::rename(path, aside, error);
  notes.push_back("ignored a damaged record, " + path.string() + ": " + why + (error ? "" : "; moved to " + aside.filename().string()));
  return std::nullopt;
}

} // namespace

std::optional<RunRecord> RecordFolder::run(const std::string &key, std::vector<std::string> &notes) const {
  fs::path path = folder / "runs" / (key + ".json");
  auto value = readWhole(path, key, "klineage.run/1", notes);
  if (!value) return std::nullopt;
  try {
    RunRecord record;
    record.key = key;
    for (auto [member, into] : {std::pair{"version", &record.version}, {"workload", &record.workload}, {"device", &record.device},
                                {"compiler", &record.compiler}, {"isolation", &record.isolation}, {"oracle", &record.oracle},
                                {"detail", &record.detail}, {"instance", &record.instance}})
      *into = value->at(member).get<std::string>();
    record.revision = value->at("gate_revision");
    record.build.key = value->at("build").at("key");
    record.build.reason = reasonFrom(value->at("build").at("reason"));
    record.build.detail = value->at("build").at("detail");
    record.build.resources = value->at("build").at("resources").get<std::map<std::string, double>>();
    for (const auto &one : value->at("instances")) record.instances.push_back(instanceFrom(one));
    record.outcome = outcomeFrom(value->at("outcome"));
    record.reason = reasonFrom(value->at("reason"));
    record.worstError = numberFrom(value->at("worst_error"));
    record.nondeterministic = value->at("nondeterministic");
    record.seconds = value->at("seconds");
    return record;
  } catch (const std::exception &problem) {
    notes.push_back("ignored a damaged record, " + path.string() + ": " + problem.what());
    return std::nullopt;
  }
}

std::optional<ProfileRecord> RecordFolder::profile(const std::string &key, std::vector<std::string> &notes) const {
  fs::path path = folder / "profiles" / (key + ".json");
  auto value = readWhole(path, key, "klineage.profile/1", notes);
  if (!value) return std::nullopt;
  try {
    ProfileRecord record;
    record.key = key;
    for (auto [member, into] : {std::pair{"version", &record.version}, {"workload", &record.workload}, {"device", &record.device},
                                {"instance", &record.instance}, {"detail", &record.detail}})
      *into = value->at(member).get<std::string>();
    record.reason = reasonFrom(value->at("reason"));
    record.measured = value->at("measured");
    record.seconds = value->at("seconds").get<std::vector<double>>();
    record.counters = value->at("counters").get<Counters>();
    return record;
  } catch (const std::exception &problem) {
    notes.push_back("ignored a damaged record, " + path.string() + ": " + problem.what());
    return std::nullopt;
  }
}

std::optional<PairRecord> RecordFolder::pair(const std::string &key, std::vector<std::string> &notes) const {
  fs::path path = folder / "pairs" / (key + ".json");
  auto value = readWhole(path, key, "klineage.pair/1", notes);
  if (!value) return std::nullopt;
  try {
    PairRecord record;
    record.key = key;
    for (auto [member, into] : {std::pair{"baseline", &record.baseline}, {"candidate", &record.candidate}, {"workload", &record.workload},
                                {"device", &record.device}, {"instance", &record.instance}, {"detail", &record.detail},
                                {"stopped_by", &record.stoppedBy}, {"counters_unavailable", &record.countersUnavailable}})
      *into = value->at(member).get<std::string>();
    record.reason = reasonFrom(value->at("reason"));
    record.self = blocksFrom(value->at("self"));
    record.blocks = blocksFrom(value->at("blocks"));
    record.smallestDifference = value->at("smallest_difference");
    record.baselineCounters = value->at("baseline_counters").get<Counters>();
    record.candidateCounters = value->at("candidate_counters").get<Counters>();
    record.notes = value->at("notes").get<std::vector<std::string>>();
    return record;
  } catch (const std::exception &problem) {
    notes.push_back("ignored a damaged record, " + path.string() + ": " + problem.what());
    return std::nullopt;
  }
}

Status RecordFolder::keep(const PairRecord &record) const {
  return write(folder / "pairs" / (record.key + ".json"),
               {{"schema", "klineage.pair/1"},
                {"key", record.key},
                {"baseline", record.baseline},
                {"candidate", record.candidate},
                {"workload", record.workload},
                {"device", record.device},
                {"instance", record.instance},
                {"reason", name(record.reason)},
                {"detail", record.detail},
                {"stopped_by", record.stoppedBy},
                {"counters_unavailable", record.countersUnavailable},
                {"self", toValue(record.self)},
                {"blocks", toValue(record.blocks)},
                {"smallest_difference", record.smallestDifference},
                {"baseline_counters", record.baselineCounters},
                {"candidate_counters", record.candidateCounters},
                {"notes", record.notes}});
}

Status RecordFolder::keep(const RunRecord &record) const {
  json files = json::object();
  for (const auto &[path, text] : record.sources.files) {
    std::string hash = sha256(text);
    files[path] = hash;
    fs::path kept = folder / "sources" / hash;
    std::error_code error;
    if (!fs::exists(kept, error))
      if (auto status = writeFile(kept, text); !status) return status;
  }
  json instances = json::array();
  for (const auto &result : record.instances) instances.push_back(toValue(result));
  return write(folder / "runs" / (record.key + ".json"),
               {{"schema", "klineage.run/1"},
                {"key", record.key},
                {"gate_revision", record.revision},
                {"version", record.version},
                {"workload", record.workload},
                {"device", record.device},
                {"compiler", record.compiler},
                {"isolation", record.isolation},
                {"oracle", record.oracle},
                {"sources", {{"main", record.sources.mainFile}, {"files", files}, {"include_folders", record.sources.includeFolders},
                             {"rewrite_roots", record.sources.rewriteRoots}, {"defines", record.sources.defines}}},
                {"build", {{"key", record.build.key}, {"reason", name(record.build.reason)}, {"detail", record.build.detail},
                           {"resources", record.build.resources}, {"sass", record.build.sass}}},
                {"instances", instances},
                {"outcome", name(record.outcome)},
                {"reason", name(record.reason)},
                {"detail", record.detail},
                {"instance", record.instance},
                {"worst_error", number(record.worstError)},
                {"nondeterministic", record.nondeterministic},
                {"seconds", record.seconds}});
}

Status RecordFolder::keep(const ProfileRecord &record) const {
  return write(folder / "profiles" / (record.key + ".json"),
               {{"schema", "klineage.profile/1"},
                {"key", record.key},
                {"version", record.version},
                {"workload", record.workload},
                {"device", record.device},
                {"instance", record.instance},
                {"reason", name(record.reason)},
                {"detail", record.detail},
                {"measured", record.measured},
                {"seconds", record.seconds},
                {"counters", record.counters}});
}

Status RecordFolder::keepVerdict(const std::string &key, const Verdict &verdict) const {
  return writeFile(folder / "verdicts" / (key + ".json"), toJson(verdict));
}

std::string toJson(const Verdict &verdict) {
  json instances = json::array(), profile = json::array();
  for (const auto &result : verdict.instances) instances.push_back(toValue(result));
  for (const auto &point : verdict.profile) {
    profile.push_back({{"instance", point.instance},
                       {"kind", point.measured ? "measured" : "modelled"},
                       {"baseline_seconds", point.baselineSeconds > 0 ? json(point.baselineSeconds) : json(nullptr)},
                       {"candidate_seconds", point.candidateSeconds},
                       {"speedup", point.baselineSeconds > 0 ? json(point.speedup()) : json(nullptr)},
                       {"baseline_counters", point.baselineCounters},
                       {"candidate_counters", point.candidateCounters}});
    if (!point.measured) continue;
    json &row = profile.back();
    row["interval"] = {point.low, point.high};
    row["smallest_difference"] = point.smallestDifference;
    row["blocks"] = point.blocks;
    row["counters_unavailable"] = point.countersUnavailable;
    row["baseline_bottleneck"] = bottleneckOf(point.baselineCounters).text();
    row["candidate_bottleneck"] = bottleneckOf(point.candidateCounters).text();
  }
  json value = {{"schema", "klineage.verdict/1"},
                {"outcome", name(verdict.outcome)},
                {"reason", name(verdict.reason)},
                {"detail", verdict.detail},
                {"instance", verdict.instance},
                {"worst_error", number(verdict.worstError)},
                {"nondeterministic", verdict.nondeterministic},
                {"oracle", verdict.oracle},
                {"resources", verdict.resources},
                {"instances", instances},
                {"profile", profile},
                {"notes", verdict.notes},
                {"from_cache", verdict.fromCache},
                {"run", verdict.runKey},
                {"gate_revision", Gate::revision},
                {"seconds", verdict.seconds}};
  return value.dump(1, ' ', false, json::error_handler_t::replace) + "\n";
}

} // namespace klineage
