// Content hashes: SHA-256 in hexadecimal, and a builder that keeps fields apart.
#pragma once
#include <string>
#include <string_view>

namespace klineage {

/// SHA-256 of the bytes, 64 hexadecimal digits.
std::string sha256(std::string_view bytes);

/// Hashes named fields; ("ab","c") and ("a","bc") differ because each field carries its length.
class Hasher {
public:
  Hasher &add(std::string_view name, std::string_view value);
  std::string hex() const { return sha256(text); }

private:
  std::string text;
};

} // namespace klineage
