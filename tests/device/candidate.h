// Candidate: a small CUDA source and its workload made in memory, run on the emulated device.
#pragma once
#include "device/device.h"
#include "support/files.h"
#include <cstring>
#include <gtest/gtest.h>

namespace klineage {

class Candidate {
public:
  explicit Candidate(std::string source) {
    sources.mainFile = "/klineage-test/kernel.cu";
    sources.files[sources.mainFile] = std::move(source);
    workload.name = "test";
    workload.entry = "launch";
    instance.name = "only";
  }
  Candidate &argument(const std::string &name, ArgumentKind kind, ElementType type, const std::string &shapeOrValue, Fill fill = {}) {
    Argument out;
    out.name = name;
    out.kind = kind;
    out.type = type;
    out.fill = fill;
    if (kind == ArgumentKind::Scalar)
      out.value = shapeOrValue;
    else
      out.shape = {shapeOrValue};
    workload.arguments.push_back(out);
    return *this;
  }
  Candidate &in(const std::string &name, ElementType type = ElementType::F32, const std::string &shape = "n", Fill fill = {}) {
    return argument(name, ArgumentKind::Input, type, shape, fill);
  }
  Candidate &out(const std::string &name, ElementType type = ElementType::F32, const std::string &shape = "n") {
    return argument(name, ArgumentKind::Output, type, shape);
  }
  Candidate &size(int64_t n) {
    instance.axes["n"] = n;
    workload.axes = {"n"};
    return argument("n", ArgumentKind::Scalar, ElementType::I32, "n");
  }

  RunOutcome run(bool profile = false) { return runAll({profile}).front(); }
  std::vector<RunOutcome> runAll(std::vector<bool> profiles) {
    std::vector<RunRequest> requests;
    for (bool profile : profiles)
      requests.push_back({&workload, &instance, 1, profile, 0});
    return device().run(sources, requests);
  }
  Build build() { return device().build(sources, workload); }

  /// The elements of argument i before the call.
  template <typename T> std::vector<T> given(size_t i) { return elements<T>(makeInputs(workload, instance, 1)->arguments[i].bytes); }
  template <typename T> static std::vector<T> elements(const std::string &bytes) {
    std::vector<T> out(bytes.size() / sizeof(T));
    std::memcpy(out.data(), bytes.data(), out.size() * sizeof(T));
    return out;
  }
  static Device &device() {
    static std::unique_ptr<Device> made = makeEmulatedDevice();
    return *made;
  }

  SourceSet sources;
  Workload workload;
  Instance instance;
};

} // namespace klineage
