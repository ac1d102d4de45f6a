#include "device/emulated/module_tables.h"
#include "device/emulated/lowering.h"
#include "llvm/IR/DebugInfoMetadata.h"

namespace klineage::emulated {

using llvm::Constant;
using llvm::ConstantInt;

unsigned ModuleTables::addSite(kl_site_kind kind, unsigned bytes, unsigned space, unsigned flags, const llvm::DebugLoc &exact) {
  llvm::DebugLoc location = readersPlace(exact);
  Site site{{uint8_t(kind), uint8_t(space), uint16_t(flags), bytes, 0, 0, nullptr, 0, 0}, {}};
  if (location) {
    site.info.line = location.getLine();
    site.info.column = location.getCol();
    site.file = llvm::cast<llvm::DIScope>(location.getScope())->getFilename().str();
  }
  sites.push_back(std::move(site));
  return unsigned(sites.size() - 1);
}

Constant *ModuleTables::text(const std::string &string) {
  Constant *&slot = texts[string];
  if (!slot) {
    Constant *bytes = llvm::ConstantDataArray::getString(module.getContext(), string);
    slot = new llvm::GlobalVariable(module, bytes->getType(), true, llvm::GlobalValue::PrivateLinkage, bytes, "kl.text");
  }
  return slot;
}

Constant *ModuleTables::array(llvm::ArrayRef<Constant *> rows, llvm::StructType *type, const char *name) {
  auto *arrayType = llvm::ArrayType::get(type, rows.size());
  return new llvm::GlobalVariable(module, arrayType, true, llvm::GlobalValue::PrivateLinkage, llvm::ConstantArray::get(arrayType, rows), name);
}

void ModuleTables::write() {
  llvm::LLVMContext &context = module.getContext();
  llvm::Type *i8 = llvm::Type::getInt8Ty(context), *i16 = llvm::Type::getInt16Ty(context), *i32 = llvm::Type::getInt32Ty(context),
             *i64 = llvm::Type::getInt64Ty(context), *pointer = llvm::PointerType::get(context, 0);
  auto number = [](llvm::Type *type, uint64_t value) { return ConstantInt::get(type, value); };

  auto *siteType = llvm::StructType::get(context, {i8, i8, i16, i32, i32, i32, pointer, i32, i32});
  std::vector<Constant *> rows;
  for (Site &site : sites)
    rows.push_back(llvm::ConstantStruct::get(siteType, {number(i8, site.info.kind), number(i8, site.info.space), number(i16, site.info.flags),
                                                        number(i32, site.info.bytes), number(i32, site.info.line),
                                                        number(i32, site.info.column), text(site.file), number(i32, site.info.sharedBegin),
                                                        number(i32, site.info.sharedEnd)}));
  size_t siteCount = rows.size();
  Constant *siteTable = array(rows, siteType, "kl.sites");

  auto *mixType = llvm::ArrayType::get(i16, KL_INSTRUCTION_KINDS);
  auto *blockType = llvm::StructType::get(context, {mixType, i16, i32});
  auto *kernelType = llvm::StructType::get(context, {pointer, pointer, pointer, i32, i32, i32, i32, i32, i32, i32});
  std::vector<Constant *> kernelRows;
  for (Kernel &kernel : kernels) {
    rows.clear();
    for (kl_block &block : kernel.blocks)
      rows.push_back(llvm::ConstantStruct::get(
          blockType, {llvm::ConstantDataArray::get(context, llvm::ArrayRef(block.mix)), number(i16, block.depth), number(i32, block.line)}));
    kernelRows.push_back(llvm::ConstantStruct::get(
        kernelType, {text(kernel.name), kernel.entry, array(rows, blockType, "kl.blocks"), number(i32, rows.size()),
                     number(i32, kernel.staticShared), number(i32, kernel.maxThreads), number(i32, kernel.parameterBytes),
                     number(i32, kernel.cluster[0]), number(i32, kernel.cluster[1]), number(i32, kernel.cluster[2])}));
  }
  Constant *kernelTable = array(kernelRows, kernelType, "kl.kernels");

  auto *globalType = llvm::StructType::get(context, {pointer, pointer, i64, i8, i8});
  std::vector<Constant *> globalRows;
  for (llvm::GlobalVariable &variable : module.globals()) {
    if (variable.getName().starts_with("kl.") || variable.getName().starts_with("llvm.") || !variable.hasInitializer()) continue;
    uint64_t bytes = module.getDataLayout().getTypeAllocSize(variable.getValueType()).getFixedValue();
    unsigned space = variable.getAddressSpace() == KL_CONSTANT ? KL_CONSTANT : KL_GLOBAL;
    globalRows.push_back(llvm::ConstantStruct::get(
        globalType, {text(variable.getName().str()), llvm::ConstantExpr::getPointerBitCastOrAddrSpaceCast(&variable, pointer),
                     number(i64, bytes), number(i8, space), number(i8, variable.isConstant())}));
  }
  Constant *globalTable = array(globalRows, globalType, "kl.globals");

  auto *tableType = llvm::StructType::get(context, {pointer, pointer, pointer, i32, i32, i32, i32});
  Constant *table = llvm::ConstantStruct::get(tableType, {kernelTable, siteTable, globalTable, number(i32, kernelRows.size()),
                                                          number(i32, siteCount), number(i32, globalRows.size()), number(i32, KL_ABI_VERSION)});
  new llvm::GlobalVariable(module, tableType, true, llvm::GlobalValue::ExternalLinkage, table, "kl_module_table");
}

} // namespace klineage::emulated
