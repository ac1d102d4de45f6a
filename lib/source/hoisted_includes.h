// Inside the source room only: which headers may be read before a version's own text without changing what either means.
#pragma once
#include "source/front_end.h"

namespace klineage {

/// Headers to be precompiled, and the version's own files that decided it.
struct HoistedIncludes {
  std::string text;                          ///< #include lines, in the order in which the version meets them.
  std::map<std::string, std::string> decided; ///< Own file to directiveHash of what was read. Another hash asks for a new answer.
};

/// The leading run of #include <...> lines that the include folders of the version do not provide, as text. Also whole comments
/// and blank lines between them. Such headers belong to the toolkit or the system and do not change between versions.
std::string leadingIncludes(const SourceSet &sources);

/// Whether the main file includes anything beyond its leading run, so that hoistedIncludes may find more.
bool includesMore(const SourceSet &sources);

/// Preprocesses the version and lists the headers that are not its own but are included by files that are, also by headers of its own and behind conditions.
/// A header is listed only while moving it to the front changes nothing that the preprocessor sees: it stands outside of braces, it is guarded against being
/// read twice, it reads no file of the version, and neither uses nor defines a macro that the version's own files had defined by then. The list ends at the
/// first header that fails this. An error: the version does not preprocess.
Result<HoistedIncludes> hoistedIncludes(const std::vector<std::string> &base, const SourceSet &sources);

/// Hash of what decides the list in one own file: its directives, and its tokens up to the last #include.
std::string directiveHash(const std::string &text);

} // namespace klineage
