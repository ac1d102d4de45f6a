// How a reduction is written: through shared memory, and through shuffles.
#include "step/reduction.h"

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
  if (shape.extent[2] > 1) return "(threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x";
  if (shape.extent[1] > 1) return "threadIdx.y * blockDim.x + threadIdx.x";
  return "threadIdx.x";
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
  if (type->isUnsignedIntegerType()) return maximum ? "0u" : "0xffffffffu";
  return maximum ? "(-2147483647 - 1)" : "2147483647";
}

std::string throughShared(const CombineForm &form) {
  std::string type = form.type.getUnqualifiedType().getAsString(), thread = threadText(form.shape), text;
  bool plain = thread == "threadIdx.x";
  std::string index = plain ? thread : form.slots + "Thread";
  std::string slot = form.slots + "[" + index + "]";
  int64_t size = form.shape.size();
  bool block = form.group == size && form.group > 0 && (form.shape.known || form.group > 32);
  text += "__shared__ " + type + " " + form.slots + "[" + number(form.shape.known ? size : 1024) + "];\n";
  if (!plain) text += "const int " + index + " = " + thread + ";\n";
  text += slot + " = " + form.variable + ";\n";
  std::string sync = block ? "__syncthreads();\n" : "__syncwarp();\n";
  text += sync;
  if (!block) { // a warp: each thread reads its group's slots in turn
    std::string first = index + " / " + number(form.group) + " * " + number(form.group);
    text += form.variable + " = " + form.slots + "[" + first + "];\n";
    text += "for (int other = 1; other < " + number(form.group) + "; ++other) " +
            combineStatement(form.combine, form.variable, form.slots + "[" + first + " + other]", form.type) + "\n";
    return text + sync;
  }
  if (form.shape.known && powerOfTwo(size)) {
    text += "for (int offset = " + number(size / 2) + "; offset > 0; offset /= 2) {\nif (" + index + " < offset) " +
            combineStatement(form.combine, slot, form.slots + "[" + index + " + offset]", form.type) + "\n" + sync + "}\n";
  } else {
    std::string count = form.shape.known ? number(size) : form.shape.extent[1] > 1 ? "blockDim.x * blockDim.y" : "blockDim.x";
    text += "if (" + index + " == 0) {\nfor (int other = 1; other < " + count + "; ++other) " +
            combineStatement(form.combine, form.slots + "[0]", form.slots + "[other]", form.type) + "\n}\n" + sync;
  }
  text += form.variable + " = " + form.slots + "[0];\n";
  return text + sync;
}

std::string throughShuffles(const CombineForm &form) {
  std::string type = form.type.getUnqualifiedType().getAsString(), thread = threadText(form.shape), text;
  auto rounds = [&](int64_t width) {
    return "for (int offset = " + number(width / 2) + "; offset > 0; offset /= 2) " +
           combineStatement(form.combine, form.variable, "__shfl_xor_sync(0xffffffffu, " + form.variable + ", offset)", form.type) + "\n";
  };
  int64_t size = form.shape.size();
  text += rounds(std::min<int64_t>(form.group, 32));
  if (form.group <= 32) return text;
  bool plain = thread == "threadIdx.x";
  std::string index = plain ? thread : form.slots + "Thread";
  if (!plain) text += "const int " + index + " = " + thread + ";\n";
  std::string warps = form.shape.known ? number(size / 32) : "blockDim.x / 32";
  text += "__shared__ " + type + " " + form.slots + "[" + (form.shape.known ? warps : "32") + "];\n";
  text += "if (" + index + " % 32 == 0) " + form.slots + "[" + index + " / 32] = " + form.variable + ";\n__syncthreads();\n";
  text += form.variable + " = " + index + " % 32 < " + warps + " ? " + form.slots + "[" + index + " % 32] : " +
          identityOf(form.combine, form.type) + ";\n";
  text += rounds(32);
  return text + "__syncthreads();\n";
}

} // namespace klineage
