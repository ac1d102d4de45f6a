#include "device/cuda/worker/buffers.h"
#include <algorithm>
#include <cstring>
#include <fstream>

namespace klineage::cuda {
namespace {

constexpr uint64_t guardBytes = 64u << 10;
constexpr unsigned char guardByte = 0xA7;
constexpr unsigned char poisonBytes[2] = {0xF5, 0xFF}; // as lib/device/device.h

uint64_t roundUp(uint64_t value, uint64_t to) { return (value + to - 1) / to * to; }

bool sameSizes(const std::vector<TaskArgument> &a, const std::vector<TaskArgument> &b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto &x, const auto &y) {
    return x.isScalar == y.isScalar && x.bytes == y.bytes && x.alignment == y.alignment && x.offsetBytes == y.offsetBytes && x.name == y.name;
  });
}

} // namespace

Buffers::~Buffers() { release(); }

void Buffers::release() {
  for (auto &place : places) {
    if (place.memory) driver.memoryFree(place.memory);
    if (place.saved) driver.memoryFree(place.saved);
  }
  places.clear();
}

CUresult Buffers::place(const std::vector<TaskArgument> &wanted) {
  bool same = sameSizes(arguments, wanted);
  arguments = wanted;
  inOut = std::any_of(arguments.begin(), arguments.end(), [](const auto &a) { return !a.isScalar && a.isResult && !a.blob.empty(); });
  if (same && !places.empty()) return CUDA_SUCCESS;
  release();
  places.resize(arguments.size());
  scalars.assign(arguments.size(), std::string(16, '\0')); // read at the width of the launcher's parameter
  values.assign(arguments.size(), nullptr);
  for (size_t i = 0; i < arguments.size(); ++i) {
    const TaskArgument &argument = arguments[i];
    if (argument.isScalar) {
      values[i] = scalars[i].data();
      continue;
    }
    Place &place = places[i];
    uint64_t alignment = std::max<uint64_t>(argument.alignment, 1);
    // The driver gives 512 at least; an odd multiple of a smaller alignment shows code that takes more for granted.
    uint64_t lead = roundUp(guardBytes, std::max<uint64_t>(alignment, 512)) + (alignment < 256 ? alignment : 0) + argument.offsetBytes;
    uint64_t grain = std::max<uint64_t>(alignment, 512);
    if (CUresult result = driver.memoryAllocate(&place.memory, grain + lead + argument.bytes + guardBytes); result != CUDA_SUCCESS) {
      place.memory = 0;
      what = "no " + std::to_string(argument.bytes) + " bytes for argument '" + argument.name + "'";
      return result;
    }
    place.base = roundUp(place.memory, grain) + lead;
    values[i] = &place.base;
  }
  return CUDA_SUCCESS;
}

CUresult Buffers::poison(const TaskArgument &argument, const Place &place) {
  if (argument.bytes == 0) return CUDA_SUCCESS;
  if (place.base % 2 == 0) {
    unsigned short word = static_cast<unsigned short>(poisonBytes[0] | poisonBytes[1] << 8);
    if (CUresult result = driver.set16(place.base, word, argument.bytes / 2); result != CUDA_SUCCESS) return result;
    return argument.bytes % 2 ? driver.set8(place.base + argument.bytes - 1, poisonBytes[0], 1) : CUDA_SUCCESS;
  }
  std::string bytes(argument.bytes, '\0');
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(poisonBytes[i & 1]);
  return driver.copyToDevice(place.base, bytes.data(), bytes.size());
}

CUresult Buffers::write(const TaskArgument &argument, const Place &place, const std::string &file) {
  std::ifstream in(file, std::ios::binary);
  std::string chunk(std::min<uint64_t>(argument.bytes, 64u << 20), '\0');
  for (uint64_t at = 0; at < argument.bytes;) {
    uint64_t length = std::min<uint64_t>(chunk.size(), argument.bytes - at);
    if (!in.read(chunk.data(), std::streamsize(length))) {
      what = "cannot read " + file;
      return CUDA_ERROR_FILE_NOT_FOUND;
    }
    if (CUresult result = driver.copyToDevice(place.base + at, chunk.data(), length); result != CUDA_SUCCESS) return result;
    at += length;
  }
  return CUDA_SUCCESS;
}

CUresult Buffers::fill(bool fresh) {
  for (size_t i = 0; i < arguments.size(); ++i) {
    const TaskArgument &argument = arguments[i];
    Place &place = places[i];
    const std::string &file = fresh && !argument.fresh.empty() ? argument.fresh : argument.blob;
    what = "while filling argument '" + argument.name + "'";
    if (argument.isScalar) {
      std::ifstream in(file, std::ios::binary);
      std::fill(scalars[i].begin(), scalars[i].end(), '\0');
      in.read(scalars[i].data(), std::streamsize(scalars[i].size()));
      continue;
    }
    CUresult result = driver.set8(place.memory, guardByte, place.base - place.memory);
    if (result == CUDA_SUCCESS) result = driver.set8(place.base + argument.bytes, guardByte, guardBytes);
    if (result == CUDA_SUCCESS) result = file.empty() ? poison(argument, place) : argument.bytes ? write(argument, place, file) : CUDA_SUCCESS;
    if (result == CUDA_SUCCESS && argument.isResult && !file.empty() && argument.bytes) {
      if (!place.saved) result = driver.memoryAllocate(&place.saved, argument.bytes);
      if (result == CUDA_SUCCESS) result = driver.copyOnDevice(place.saved, place.base, argument.bytes);
    }
    if (result != CUDA_SUCCESS) return result;
  }
  return CUDA_SUCCESS;
}

CUresult Buffers::restore() {
  for (size_t i = 0; i < arguments.size(); ++i)
    if (places[i].saved)
      if (CUresult result = driver.copyOnDevice(places[i].base, places[i].saved, arguments[i].bytes); result != CUDA_SUCCESS) return result;
  // Fills and copies on the device run on a stream that the candidate's does not wait for.
  return driver.contextSynchronize();
}

CUresult Buffers::poisonResults() {
  for (size_t i = 0; i < arguments.size(); ++i)
    if (!arguments[i].isScalar && arguments[i].blob.empty())
      if (CUresult result = poison(arguments[i], places[i]); result != CUDA_SUCCESS) return result;
  return restore();
}

CUresult Buffers::read(size_t argument, uint64_t offset, uint64_t bytes, char *to) const {
  return bytes ? driver.copyToHost(to, places[argument].base + offset, bytes) : CUDA_SUCCESS;
}

CUresult Buffers::damagedGuard(std::string &damaged) const {
  std::string zone;
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i].isScalar) continue;
    const Place &place = places[i];
    uint64_t before = place.base - place.memory;
    for (auto [from, bytes] : {std::pair(place.memory, before), std::pair(CUdeviceptr(place.base + arguments[i].bytes), guardBytes)}) {
      zone.resize(bytes);
      if (CUresult result = driver.copyToHost(zone.data(), from, bytes); result != CUDA_SUCCESS) return result;
      bool whole = std::all_of(zone.begin(), zone.end(), [](char c) { return static_cast<unsigned char>(c) == guardByte; });
      if (!whole && damaged.empty()) damaged = arguments[i].name;
    }
  }
  return CUDA_SUCCESS;
}

} // namespace klineage::cuda
