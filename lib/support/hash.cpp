#include "support/hash.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/SHA256.h"

namespace klineage {

std::string sha256(std::string_view bytes) {
  auto digest = llvm::SHA256::hash(llvm::ArrayRef<uint8_t>(reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size()));
  return llvm::toHex(digest, /*LowerCase=*/true);
}

Hasher &Hasher::add(std::string_view name, std::string_view value) {
  text.append(std::to_string(name.size())).append(":").append(name);
  text.append(std::to_string(value.size())).append(":").append(value);
  return *this;
}

} // namespace klineage
