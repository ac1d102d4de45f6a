// Every kernel folder of the project is whole.
#include "workload/workload.h"
#include <gtest/gtest.h>

using namespace klineage;

TEST(ExpertKernels, HaveLoadableWorkloadsWithReferencesAndTheFourKindsOfInstances) {
  size_t folders = 0;
  for (const auto &entry : std::filesystem::directory_iterator(std::filesystem::path(KLINEAGE_SOURCE_DIR) / "expert_kernels")) {
    if (!entry.is_directory()) continue;
    ++folders;
    auto workload = loadWorkload(entry.path());
    ASSERT_TRUE(bool(workload)) << workload.error().message();
    EXPECT_EQ(workload->name, entry.path().filename());
    EXPECT_FALSE(workload->reference.empty()) << workload->name;
    EXPECT_TRUE(workload->guessed.empty()) << workload->name;
    EXPECT_TRUE(std::filesystem::exists(entry.path() / "ORIGIN.md")) << workload->name;
    for (const char *wanted : {"aligned", "ragged", "tiny", "off_by_one"}) {
      bool found = false;
      for (const Instance &instance : workload->instances) found |= instance.name == wanted && instance.check && instance.devices.empty();
      EXPECT_TRUE(found) << workload->name << " lacks " << wanted;
    }
    for (const Instance &instance : workload->instances) {
      // What a machine without a GPU runs stays small in memory as well.
      bool emulated = instance.devices != std::vector<std::string>{"cuda"};
      if (!emulated) continue;
      auto inputs = makeInputs(*workload, instance, 1);
      ASSERT_TRUE(bool(inputs)) << inputs.error().message();
    }
  }
  EXPECT_GE(folders, 5u);
}
