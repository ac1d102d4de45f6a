#include "device/cuda/worker/counters.h"
#include <cstdint>
#include <cstdio>
#include <cupti.h>
#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_range_profiler.h>
#include <cupti_target.h>
#include <dlfcn.h>
#include <set>

namespace klineage::cuda {
namespace {

constexpr size_t kernelsAtMost = 64;

#define KL_CUPTI_FUNCTIONS(X) \
  X(cuptiProfilerInitialize) X(cuptiDeviceGetChipName) X(cuptiProfilerGetCounterAvailability) X(cuptiProfilerHostInitialize) X(cuptiProfilerHostDeinitialize) \
  X(cuptiProfilerHostGetBaseMetrics) X(cuptiProfilerHostConfigAddMetrics) X(cuptiProfilerHostGetConfigImageSize) X(cuptiProfilerHostGetConfigImage) \
  X(cuptiProfilerHostGetNumOfPasses) X(cuptiProfilerHostEvaluateToGpuValues) X(cuptiRangeProfilerEnable) X(cuptiRangeProfilerDisable) \
  X(cuptiRangeProfilerGetCounterDataSize) X(cuptiRangeProfilerCounterDataImageInitialize) X(cuptiRangeProfilerSetConfig) X(cuptiRangeProfilerStart) \
  X(cuptiRangeProfilerStop) X(cuptiRangeProfilerDecodeData) X(cuptiRangeProfilerGetCounterDataInfo) X(cuptiGetResultString)

struct Functions {
#define X(name) decltype(&::name) name = nullptr;
  KL_CUPTI_FUNCTIONS(X)
#undef X

  std::string load(const std::string &path) {
    if (path.empty()) return "there is no CUPTI";
    void *library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
    if (!library) return std::string("CUPTI cannot be loaded: ") + ::dlerror();
    std::string missing;
#define X(function) \
  if (!(function = reinterpret_cast<decltype(function)>(::dlsym(library, #function)))) missing += std::string(" ") + #function;
    KL_CUPTI_FUNCTIONS(X)
#undef X
    return missing.empty() ? missing : "this CUPTI lacks" + missing;
  }

  std::string say(const char *what, CUptiResult result) const {
    const char *text = nullptr;
    if (cuptiGetResultString) cuptiGetResultString(result, &text);
    std::string whole = std::string(what) + " answered " + (text ? text : std::to_string(result));
    if (result == CUPTI_ERROR_INSUFFICIENT_PRIVILEGES)
      whole += ": this user may not read hardware counters (ERR_NVGPUCTRPERM). Remedy: as root, put 'options nvidia NVreg_RestrictProfilingToAdminUsers=0' into "
               "/etc/modprobe.d/nvidia.conf and load the module again, or grant CAP_SYS_ADMIN";
    if (result == CUPTI_ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED) whole += ": the hypervisor does not pass counters on; ask its administrator, or use a machine of its own";
    return whole;
  }
};

template <typename Params> Params params() {
  Params p{};
  return p;
}
#define KL_PARAMS(type) \
  type##_Params p = params<type##_Params>(); \
  p.structSize = type##_Params_STRUCT_SIZE

/// The host side: knows metrics and how to collect them.
class Host {
public:
  Host(const Functions &f, const char *chip, const uint8_t *availability, std::string &error) : f(f) {
    KL_PARAMS(CUpti_Profiler_Host_Initialize);
    p.profilerType = CUPTI_PROFILER_TYPE_RANGE_PROFILER;
    p.pChipName = chip;
    p.pCounterAvailabilityImage = availability;
    if (auto result = f.cuptiProfilerHostInitialize(&p); result != CUPTI_SUCCESS) error = f.say("cuptiProfilerHostInitialize", result);
    else object = p.pHostObject;
  }
  ~Host() {
    if (!object) return;
    KL_PARAMS(CUpti_Profiler_Host_Deinitialize);
    p.pHostObject = object;
    f.cuptiProfilerHostDeinitialize(&p);
  }

  /// Splits what is asked into what the chip has and what it has not. One unknown name would spoil the whole configuration.
  void known(const std::vector<std::string> &asked, std::vector<std::string> &there, std::vector<std::string> &unknown) const {
    std::set<std::string> base;
    for (int type = 0; type < 3; ++type) {
      KL_PARAMS(CUpti_Profiler_Host_GetBaseMetrics);
      p.pHostObject = object;
      p.metricType = static_cast<CUpti_MetricType>(type);
      if (f.cuptiProfilerHostGetBaseMetrics(&p) == CUPTI_SUCCESS) base.insert(p.ppMetricNames, p.ppMetricNames + p.numMetrics);
    }
    for (const auto &name : asked) (base.count(name.substr(0, name.find('.'))) ? there : unknown).push_back(name);
  }

  std::string configure(std::vector<const char *> &names, std::vector<uint8_t> &image, size_t &passes) const {
    {
      KL_PARAMS(CUpti_Profiler_Host_ConfigAddMetrics);
      p.pHostObject = object;
      p.ppMetricNames = names.data();
      p.numMetrics = names.size();
      if (auto result = f.cuptiProfilerHostConfigAddMetrics(&p); result != CUPTI_SUCCESS) return f.say("cuptiProfilerHostConfigAddMetrics", result);
    }
    {
      KL_PARAMS(CUpti_Profiler_Host_GetConfigImageSize);
      p.pHostObject = object;
      if (auto result = f.cuptiProfilerHostGetConfigImageSize(&p); result != CUPTI_SUCCESS) return f.say("cuptiProfilerHostGetConfigImageSize", result);
      image.resize(p.configImageSize);
    }
    {
      KL_PARAMS(CUpti_Profiler_Host_GetConfigImage);
      p.pHostObject = object;
      p.configImageSize = image.size();
      p.pConfigImage = image.data();
      if (auto result = f.cuptiProfilerHostGetConfigImage(&p); result != CUPTI_SUCCESS) return f.say("cuptiProfilerHostGetConfigImage", result);
    }
    KL_PARAMS(CUpti_Profiler_Host_GetNumOfPasses);
    p.configImageSize = image.size();
    p.pConfigImage = image.data();
    if (f.cuptiProfilerHostGetNumOfPasses(&p) == CUPTI_SUCCESS) passes = p.numOfPasses;
    return {};
  }

  std::string evaluate(const std::vector<uint8_t> &counters, size_t range, std::vector<const char *> &names, std::vector<double> &values) const {
    KL_PARAMS(CUpti_Profiler_Host_EvaluateToGpuValues);
    p.pHostObject = object;
    p.pCounterDataImage = counters.data();
    p.counterDataImageSize = counters.size();
    p.rangeIndex = range;
    p.ppMetricNames = names.data();
    p.numMetrics = names.size();
    p.pMetricValues = values.data();
    auto result = f.cuptiProfilerHostEvaluateToGpuValues(&p);
    return result == CUPTI_SUCCESS ? std::string() : f.say("cuptiProfilerHostEvaluateToGpuValues", result);
  }

private:
  const Functions &f;
  CUpti_Profiler_Host_Object *object = nullptr;
};

/// The device side: one session of the range profiler.
class Session {
public:
  explicit Session(const Functions &f) : f(f) {}
  ~Session() {
    if (!object) return;
    KL_PARAMS(CUpti_RangeProfiler_Disable);
    p.pRangeProfilerObject = object;
    f.cuptiRangeProfilerDisable(&p);
  }

  std::string enable(CUcontext context) {
    KL_PARAMS(CUpti_RangeProfiler_Enable);
    p.ctx = context;
    if (auto result = f.cuptiRangeProfilerEnable(&p); result != CUPTI_SUCCESS) return f.say("cuptiRangeProfilerEnable", result);
    object = p.pRangeProfilerObject;
    return {};
  }

  std::string configure(std::vector<const char *> &names, const std::vector<uint8_t> &config) {
    {
      KL_PARAMS(CUpti_RangeProfiler_GetCounterDataSize);
      p.pRangeProfilerObject = object;
      p.pMetricNames = names.data();
      p.numMetrics = names.size();
      p.maxNumOfRanges = kernelsAtMost;
      p.maxNumRangeTreeNodes = kernelsAtMost;
      if (auto result = f.cuptiRangeProfilerGetCounterDataSize(&p); result != CUPTI_SUCCESS) return f.say("cuptiRangeProfilerGetCounterDataSize", result);
      counters.resize(p.counterDataSize);
    }
    {
      KL_PARAMS(CUpti_RangeProfiler_CounterDataImage_Initialize);
      p.pRangeProfilerObject = object;
      p.counterDataSize = counters.size();
      p.pCounterData = counters.data();
      if (auto result = f.cuptiRangeProfilerCounterDataImageInitialize(&p); result != CUPTI_SUCCESS)
        return f.say("cuptiRangeProfilerCounterDataImageInitialize", result);
    }
    KL_PARAMS(CUpti_RangeProfiler_SetConfig);
    p.pRangeProfilerObject = object;
    p.configSize = config.size();
    p.pConfig = config.data();
    p.counterDataImageSize = counters.size();
    p.pCounterDataImage = counters.data();
    p.range = CUPTI_AutoRange;
    p.replayMode = CUPTI_KernelReplay;
    p.maxRangesPerPass = kernelsAtMost;
    p.numNestingLevels = 1;
    p.minNestingLevel = 1;
    p.passIndex = 0;
    p.targetNestingLevel = 0;
    auto result = f.cuptiRangeProfilerSetConfig(&p);
    return result == CUPTI_SUCCESS ? std::string() : f.say("cuptiRangeProfilerSetConfig", result);
  }

  std::string collect(const std::function<bool()> &call, size_t &ranges) {
    {
      KL_PARAMS(CUpti_RangeProfiler_Start);
      p.pRangeProfilerObject = object;
      if (auto result = f.cuptiRangeProfilerStart(&p); result != CUPTI_SUCCESS) return f.say("cuptiRangeProfilerStart", result);
    }
    bool worked = call();
    {
      KL_PARAMS(CUpti_RangeProfiler_Stop);
      p.pRangeProfilerObject = object;
      if (auto result = f.cuptiRangeProfilerStop(&p); result != CUPTI_SUCCESS) return f.say("cuptiRangeProfilerStop", result);
    }
    if (!worked) return "the call failed while its counters were collected";
    {
      KL_PARAMS(CUpti_RangeProfiler_DecodeData);
      p.pRangeProfilerObject = object;
      if (auto result = f.cuptiRangeProfilerDecodeData(&p); result != CUPTI_SUCCESS) return f.say("cuptiRangeProfilerDecodeData", result);
      if (p.numOfRangeDropped) return "the call launches more than " + std::to_string(kernelsAtMost) + " kernels";
    }
    KL_PARAMS(CUpti_RangeProfiler_GetCounterDataInfo);
    p.pCounterDataImage = counters.data();
    p.counterDataImageSize = counters.size();
    auto result = f.cuptiRangeProfilerGetCounterDataInfo(&p);
    ranges = p.numTotalRanges;
    return result == CUPTI_SUCCESS ? std::string() : f.say("cuptiRangeProfilerGetCounterDataInfo", result);
  }

  std::vector<uint8_t> counters;

private:
  const Functions &f;
  CUpti_RangeProfiler_Object *object = nullptr;
};

bool isSum(const std::string &metric) { return metric.size() > 4 && metric.compare(metric.size() - 4, 4, ".sum") == 0; }

std::string chipOf(const Functions &f, int device, std::string &error) {
  KL_PARAMS(CUpti_Device_GetChipName);
  p.deviceIndex = size_t(device);
  if (auto result = f.cuptiDeviceGetChipName(&p); result != CUPTI_SUCCESS) {
    error = f.say("cuptiDeviceGetChipName", result);
    return {};
  }
  return p.pChipName;
}

std::vector<uint8_t> availabilityOf(const Functions &f, CUcontext context, std::string &error) {
  KL_PARAMS(CUpti_Profiler_GetCounterAvailability);
  p.ctx = context;
  std::vector<uint8_t> image;
  for (int step = 0; step < 2; ++step) {
    if (auto result = f.cuptiProfilerGetCounterAvailability(&p); result != CUPTI_SUCCESS) {
      error = f.say("cuptiProfilerGetCounterAvailability", result);
      return {};
    }
    if (step == 0) image.resize(p.counterAvailabilityImageSize);
    p.pCounterAvailabilityImage = image.data();
  }
  return image;
}

/// Sums are added; the rest is weighted by the kernels' times, the first metric.
void combine(CounterResult &result, const std::vector<std::string> &metrics, const std::vector<std::vector<double>> &rows) {
  double whole = 0;
  for (const auto &row : rows) whole += row[0];
  for (size_t m = 0; m < metrics.size(); ++m) {
    double value = 0;
    for (const auto &row : rows) value += isSum(metrics[m]) ? row[m] : whole > 0 ? row[m] * row[0] / whole : 0;
    result.values[metrics[m]] = value;
  }
}

/// Others wait for the GPU meanwhile.
constexpr double secondsForCounters = 20;

} // namespace

CounterResult countCall(const std::string &cupti, int device, CUcontext context, const std::vector<std::string> &asked,
                        const std::function<std::optional<double>()> &call) {
  CounterResult result;
  std::string &error = result.unavailable;
  Functions f;
  if (!(error = f.load(cupti)).empty()) return result;
  {
    KL_PARAMS(CUpti_Profiler_Initialize);
    if (auto answer = f.cuptiProfilerInitialize(&p); answer != CUPTI_SUCCESS) {
      error = f.say("cuptiProfilerInitialize", answer);
      return result;
    }
  }
  std::string chip = chipOf(f, device, error);
  if (!error.empty()) return result;
  auto availability = availabilityOf(f, context, error);
  if (!error.empty()) return result;
  Host host(f, chip.c_str(), availability.data(), error);
  if (!error.empty()) return result;
  std::vector<std::string> metrics{"gpu__time_duration.sum"}; // first: it is the weight of the others
  for (const auto &metric : asked)
    if (metric != metrics[0]) metrics.push_back(metric);
  std::vector<std::string> there;
  host.known(metrics, there, result.unknown);
  std::vector<const char *> names;
  for (const auto &metric : there) names.push_back(metric.c_str());
  std::vector<uint8_t> config;
  if (!(error = host.configure(names, config, result.passes)).empty()) return result;
  auto once = call();
  if (!once) {
    error = "the call failed before its counters were collected";
    return result;
  }
  if (*once * double(result.passes) > secondsForCounters) {
    char text[160];
    std::snprintf(text, sizeof text, "the call takes %.1f s and would be replayed %zu times: more than %.0f s of the GPU; count a smaller instance", *once, result.passes, secondsForCounters);
    error = text;
    return result;
  }
  Session session(f);
  if (!(error = session.enable(context)).empty()) return result;
  if (!(error = session.configure(names, config)).empty()) return result;
  if (!(error = session.collect([&] { return call().has_value(); }, result.kernels)).empty()) return result;
  if (result.kernels == 0) {
    error = "no kernel was seen by the range profiler";
    return result;
  }
  std::vector<std::vector<double>> rows(result.kernels, std::vector<double>(there.size()));
  for (size_t k = 0; k < result.kernels; ++k)
    if (!(error = host.evaluate(session.counters, k, names, rows[k])).empty()) return result;
  combine(result, there, rows);
  return result;
}

std::vector<std::string> unknownMetrics(const std::string &cupti, const std::string &chip, const std::vector<std::string> &metrics, std::string &error) {
  Functions f;
  if (!(error = f.load(cupti)).empty()) return {};
  Host host(f, chip.c_str(), nullptr, error);
  std::vector<std::string> there, unknown;
  if (error.empty()) host.known(metrics, there, unknown);
  return unknown;
}

} // namespace klineage::cuda
