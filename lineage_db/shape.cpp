#include "lineage_db/shape.h"
#include "lineage_db/shape_reader.h"

namespace klineage {

Shape shapeOf(std::string_view code) {
  auto root = fragment::parse(code);
  return fragment::ShapeReader().read(*root);
}

} // namespace klineage
