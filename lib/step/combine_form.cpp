// How a reduction is written: through shared memory, and through shuffles.
#include "step/reduction.h"
#include "llvm/Support/FormatVariadic.h"

namespace klineage {

const char *name(Combine combine) {
  switch (combine) {
  case Combine::Sum: return "sum";
  case Combine::Product: return "product";
  case Combine::Maximum: return "maximum";
  case Combine::Minimum: return "minimum";
  case Combine::ScaledSum: return "scaled sum";
  }
  return "";
}

namespace {

const char *extremum(Combine combine, clang::QualType type) {
  bool maximum = combine == Combine::Maximum;
  if (type->isSpecificBuiltinType(clang::BuiltinType::Float)) return maximum ? "fmaxf" : "fminf";
  if (type->isRealFloatingType()) return maximum ? "fmax" : "fmin";
  return maximum ? "max" : "min";
}

std::string number(int64_t value) { return std::to_string(value); }

/// The linear index of a thread in its block, and the number of threads.
std::string threadText(const BlockShape &shape) {
  if (shape.extent[2] > 1 || shape.axes[1]) return "(threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x";
  if (shape.extent[1] > 1 || shape.axes[0]) return "threadIdx.y * blockDim.x + threadIdx.x";
  return "threadIdx.x";
}

std::string countText(const BlockShape &shape) {
  if (shape.known) return number(shape.size());
  return std::string("blockDim.x") + (shape.axes[0] || shape.axes[1] ? " * blockDim.y" : "") + (shape.axes[1] ? " * blockDim.z" : "");
}

/// The lanes of the thread's own group: the rest of its warp need not be there.
std::string lanesText(int64_t group, const std::string &thread) {
  if (group >= 32) return "0xffffffffu";
  std::string lanes = llvm::formatv("{0:x}u", (1u << group) - 1), of = number(group);
  return lanes + " << (" + thread + " % 32 / " + of + " * " + of + ")";
}

/// The least integer of a type, or the largest.
std::string integerLimit(bool least, clang::QualType type) {
  using clang::BuiltinType;
  const auto *builtin = type->getAs<BuiltinType>();
  switch (builtin ? builtin->getKind() : BuiltinType::Int) {
  case BuiltinType::Bool: return least ? "false" : "true";
  case BuiltinType::Char_U: case BuiltinType::UChar: return least ? "0" : "255";
  case BuiltinType::Char_S: case BuiltinType::SChar: return least ? "-128" : "127";
  case BuiltinType::UShort: return least ? "0" : "65535";
  case BuiltinType::Short: return least ? "-32768" : "32767";
  case BuiltinType::UInt: return least ? "0u" : "0xffffffffu";
  case BuiltinType::ULong: case BuiltinType::ULongLong: return least ? "0ull" : "0xffffffffffffffffull";
  case BuiltinType::Long: case BuiltinType::LongLong: return least ? "(-9223372036854775807ll - 1)" : "9223372036854775807ll";
  default: return least ? "(-2147483647 - 1)" : "2147483647";
  }
}

bool powerOfTwo(int64_t value) { return value > 0 && (value & (value - 1)) == 0; }

} // namespace

std::string combineStatement(Combine combine, const std::string &into, const std::string &other, clang::QualType type) {
  if (combine == Combine::Sum || combine == Combine::ScaledSum) return into + " += " + other + ";";
  if (combine == Combine::Product) return into + " *= " + other + ";";
  return into + " = " + extremum(combine, type) + "(" + into + ", " + other + ");";
}

std::string identityOf(Combine combine, clang::QualType type) {
  bool single = type->isSpecificBuiltinType(clang::BuiltinType::Float), real = type->isRealFloatingType();
  switch (combine) {
  case Combine::Sum: case Combine::ScaledSum: return single ? "0.0f" : real ? "0.0" : "0";
  case Combine::Product: return single ? "1.0f" : real ? "1.0" : "1";
  default: break;
  }
  bool maximum = combine == Combine::Maximum;
  if (real) return maximum ? "-INFINITY" : "INFINITY";
  return integerLimit(maximum, type);
}

namespace {

/// One statement a value, in braces when there are several.
std::string each(const CombineForm &form, const std::function<std::string(const CombineForm::Value &)> &statement) {
  std::string text;
  for (const auto &value : form.values) text += statement(value) + "\n";
  return form.values.size() == 1 ? text : "{\n" + text + "}\n";
}

std::string lines(const CombineForm &form, const std::function<std::string(const CombineForm::Value &)> &line) {
  std::string text;
  for (const auto &value : form.values) text += line(value) + "\n";
  return text;
}

std::string spelled(const CombineForm::Value &value) {
  return value.type->isBooleanType() ? "bool" : value.type.getUnqualifiedType().getAsString();
}

} // namespace

std::string throughShared(const CombineForm &form) {
  using Value = CombineForm::Value;
  std::string thread = threadText(form.shape), text;
  bool plain = thread == "threadIdx.x";
  std::string index = plain ? thread : form.values.front().slots + "Thread";
  int64_t size = form.shape.size();
  bool block = form.group == size && form.group > 0 && (form.shape.known || form.group > 32);
  auto slot = [&](const Value &value) { return value.slots + "[" + index + "]"; };
  auto add = [](const Value &value, const std::string &into, const std::string &from) { return combineStatement(value.combine, into, value.slots + "[" + from + "]", value.type); };
  text += lines(form, [&](const Value &value) { return "__shared__ " + spelled(value) + " " + value.slots + "[" + number(form.shape.known ? size : 1024) + "];"; });
  if (!plain) text += "const int " + index + " = " + thread + ";\n";
  text += lines(form, [&](const Value &value) { return slot(value) + " = " + value.variable + ";"; });
  std::string sync = block ? "__syncthreads();\n" : form.group < 32 ? "__syncwarp(" + lanesText(form.group, index) + ");\n" : "__syncwarp();\n";
  text += sync;
  if (!block) { // a warp: each thread reads its group's slots in turn
    std::string first = index + " / " + number(form.group) + " * " + number(form.group);
    text += lines(form, [&](const Value &value) { return value.variable + " = " + value.slots + "[" + first + "];"; });
    text += "for (int other = 1; other < " + number(form.group) + "; ++other) " + each(form, [&](const Value &value) { return add(value, value.variable, first + " + other"); });
    return text + sync;
  }
  if (form.shape.known && powerOfTwo(size)) {
    text += "for (int offset = " + number(size / 2) + "; offset > 0; offset /= 2) {\nif (" + index + " < offset) " +
            each(form, [&](const Value &value) { return add(value, slot(value), index + " + offset"); }) + sync + "}\n";
  } else {
    text += "if (" + index + " == 0) {\nfor (int other = 1; other < " + countText(form.shape) + "; ++other) " +
            each(form, [&](const Value &value) { return add(value, value.slots + "[0]", "other"); }) + "}\n" + sync;
  }
  text += lines(form, [&](const Value &value) { return value.variable + " = " + value.slots + "[0];"; });
  return text + sync;
}

std::string throughShuffles(const CombineForm &form) {
  using Value = CombineForm::Value;
  std::string thread = threadText(form.shape), text;
  bool plain = thread == "threadIdx.x";
  std::string index = plain ? thread : form.values.front().slots + "Thread";
  if (!plain && form.group != 32) text += "const int " + index + " = " + thread + ";\n";
  auto rounds = [&](int64_t width) {
    return "for (int offset = " + number(width / 2) + "; offset > 0; offset /= 2) " + each(form, [&](const Value &value) {
             return combineStatement(value.combine, value.variable, "__shfl_xor_sync(" + lanesText(width, index) + ", " + value.variable + ", offset)", value.type);
           });
  };
  int64_t size = form.shape.size();
  text += rounds(std::min<int64_t>(form.group, 32));
  if (form.group <= 32) return text;
  std::string warps = form.shape.known ? number(size / 32) : form.shape.axes[0] || form.shape.axes[1] ? "(" + countText(form.shape) + ") / 32" : "blockDim.x / 32";
  text += lines(form, [&](const Value &value) { return "__shared__ " + spelled(value) + " " + value.slots + "[" + (form.shape.known ? warps : "32") + "];"; });
  text += "if (" + index + " % 32 == 0) " + each(form, [&](const Value &value) { return value.slots + "[" + index + " / 32] = " + value.variable + ";"; });
  text += "__syncthreads();\n";
  text += lines(form, [&](const Value &value) {
    return value.variable + " = " + index + " % 32 < " + warps + " ? " + value.slots + "[" + index + " % 32] : " + identityOf(value.combine, value.type) + ";";
  });
  text += rounds(32);
  return text + "__syncthreads();\n";
}

} // namespace klineage
