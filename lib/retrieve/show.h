// Skills and lineages as text for people and as JSON for programs. Modelled and measured figures stay apart in both.
#pragma once
#include "lineage_db/corpus.h"
#include <nlohmann/json_fwd.hpp>

namespace klineage {

/// The nine fields of a skill in plain words, with its probes and notes.
std::string describeSkill(const Skill &skill, const std::vector<ProbeRow> &probes, const std::vector<Annotation> &notes);
/// Schema: docs/schema/skill.schema.json.
nlohmann::json skillJson(const Skill &skill, const std::vector<ProbeRow> &probes, const std::vector<Annotation> &notes);

/// The tries of one walk in their order: the accepted with their effect, the refused with their reasons.
std::string describeLineage(const KernelRow &kernel, const std::optional<WalkState> &walk, const std::vector<TransitionRow> &transitions,
                            const std::vector<FeatureRow> &left);
/// Schema: docs/schema/lineage.schema.json.
nlohmann::json lineageJson(const KernelRow &kernel, const std::optional<WalkState> &walk, const std::vector<TransitionRow> &transitions,
                           const std::vector<FeatureRow> &left);

/// One line: key, status, gain, summary.
std::string skillLine(const Skill &skill);

/// "1.50x modelled, 1.42x measured": geometric means of the points of each kind; "no figures" without points.
std::string gainText(const std::vector<EffectPoint> &points);
/// Geometric mean of the speedups of one kind; absent without points.
std::optional<double> gain(const std::vector<EffectPoint> &points, bool measured);

/// "1.2 ms", "830 us": three figures.
std::string secondsText(double seconds);

} // namespace klineage
