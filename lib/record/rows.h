// What the engine and the gate say, as rows of the corpus. Used by the walk and the materializer.
#pragma once
#include "gate/gate.h"
#include "lineage_db/records.h"
#include "step/engine.h"

namespace klineage {

std::string json(const Parameters &parameters);
Parameters parametersFromJson(const std::string &text);
std::string json(const Verdict &verdict);

/// The kernel folder as a row but for its versions. Its origin is the first sentence of ORIGIN.md; without one nothing is stated.
KernelRow kernelRow(const Workload &workload);
VersionRow versionRow(const Workload &workload, const LoadedVersion &version);
std::vector<FeatureRow> featureRows(const Workload &workload, const LoadedVersion &version);
/// The sources of a stored version, with the workload's folders.
SourceSet sourcesFrom(const Workload &workload, const VersionRow &row);

/// Baseline before, candidate after.
std::vector<EffectPoint> effectPoints(const Verdict &verdict, const std::string &device);

/// The changed stretches of the sources with a few lines around them: before and after.
std::pair<std::string, std::string> changedCode(const SourceSet &before, const SourceSet &after);

/// Path relative to the kernel folder when it lies in it.
std::string relativePath(const Workload &workload, const std::string &path);
unsigned lineOf(const SourceSet &sources, const Locus &locus);

} // namespace klineage
