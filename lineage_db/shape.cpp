#include "lineage_db/shape.h"

namespace klineage {
// Revision 0 indexes nothing; words already find skills.
Shape shapeOf(std::string_view) { return {}; }
} // namespace klineage
