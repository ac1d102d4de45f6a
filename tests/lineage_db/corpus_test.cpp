#include "lineage_db/corpus.h"
#include "support/files.h"
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace klineage;

namespace {

TransitionRow step(const std::string &kernel, int order, const std::string &outcome) {
  TransitionRow row;
  row.kernel = kernel;
  row.from = "v" + std::to_string(order - 1);
  row.to = "v" + std::to_string(order);
  row.step = "vector_load";
  row.order = order;
  row.outcome = outcome;
  row.effects = {{"emulated", false, "square", 2e-3, 3e-3, {{"barriers", 4}}, {{"barriers", 2}}}};
  return row;
}

Skill skill(const std::string &key) {
  Skill s;
  s.key = key;
  s.step = key.substr(0, key.find('/'));
  s.kernel = "sgemm";
  s.family = "matmul";
  s.summary = "read neighbouring elements with one wide load";
  s.intent = "Fewer, wider requests keep the memory pipeline full.";
  s.anchor.before = "for (int k = 0; k < 4; ++k) v[k] = row[4 * i + k];";
  s.anchor.after = "float4 v = reinterpret_cast<const float4 *>(row)[i];";
  s.conditions = {{"aligned_16", "aligned(base, 16)", "soundness", "holds", "base is 256-aligned", ConditionEvidence::Needed, "offset by 4 bytes"}};
  s.risks = {{"aligned_16", "misaligned", "address 4 mod 16"}};
  s.effects = {{"emulated", false, "square", 3e-3, 2e-3, {}, {}}, {"cuda:0", true, "square", 4e-3, 2e-3, {}, {}}};
  s.evidence.transitions = {1};
  s.evidence.runKeys = {"r1"};
  s.evidence.gateRevision = 1;
  s.evidence.families = {"matmul"};
  s.scope.archs = {"sm_80"};
  s.log = {{0, "mined", "from sgemm"}};
  s.provenance = "walk";
  return s;
}

class CorpusTest : public testing::Test {
protected:
  ScratchFolder scratch;
  std::filesystem::path file = scratch.path() / "corpus.db";
  Corpus open() {
    auto corpus = Corpus::open(file);
    if (!corpus) throw std::runtime_error(corpus.error().message());
    return std::move(*corpus);
  }
};

TEST_F(CorpusTest, KeepsAVersionWithItsFilesAndFeatures) {
  {
    Corpus corpus = open();
    VersionRow version{"h1", "sgemm", "kernel.cu", {{"kernel.cu", std::string(5000, 'x')}, {"tile.h", ""}}, 12};
    ASSERT_TRUE(corpus.saveVersion(version, {{"vector_load", "statement", "v", "kernel.cu", 17, "{\"width\":4}"}}));
  }
  Corpus corpus = open();
  auto version = corpus.version("h1");
  ASSERT_TRUE(version && *version);
  EXPECT_EQ((*version)->files.at("kernel.cu"), std::string(5000, 'x'));
  EXPECT_EQ((*version)->files.at("tile.h"), "");
  EXPECT_EQ(corpus.features("h1")->at(0).offset, 17u);
  EXPECT_FALSE(*corpus.version("none"));
  EXPECT_LT(corpus.stats()->storedBytes, 200);
}

TEST_F(CorpusTest, StoresEqualTextsOnce) {
  Corpus corpus = open();
  ASSERT_TRUE(corpus.saveVersion({"a", "k", "m", {{"m", "text"}}, 0}, {}));
  ASSERT_TRUE(corpus.saveVersion({"b", "k", "m", {{"m", "text"}, {"n", "text"}}, 0}, {}));
  EXPECT_EQ(corpus.stats()->sources, 1);
}

TEST_F(CorpusTest, KeepsAllNineFieldsOfASkill) {
  Corpus corpus = open();
  ASSERT_TRUE(corpus.saveSkill(skill("vector_load/sgemm/1")));
  auto loaded = corpus.skill("vector_load/sgemm/1");
  ASSERT_TRUE(loaded && *loaded);
  const Skill &s = **loaded;
  EXPECT_EQ(s.intent, skill("x").intent);
  EXPECT_EQ(s.anchor.after, skill("x").anchor.after);
  ASSERT_EQ(s.conditions.size(), 1u);
  EXPECT_EQ(s.conditions[0].evidence, ConditionEvidence::Needed);
  ASSERT_EQ(s.effects.size(), 2u);
  EXPECT_FALSE(s.effects[0].measured);
  EXPECT_TRUE(s.effects[1].measured);
  EXPECT_EQ(s.evidence.transitions, std::vector<int64_t>{1});
  EXPECT_EQ(s.risks[0].failure, "misaligned");
  EXPECT_EQ(s.scope.archs, std::vector<std::string>{"sm_80"});
  EXPECT_EQ(s.log[0].event, "mined");
  EXPECT_EQ((**corpus.skill(std::to_string(s.id))).key, s.key);
}

TEST_F(CorpusTest, SavingASkillTwiceKeepsOneRowAndOneLogEntryAnEvent) {
  Corpus corpus = open();
  ASSERT_TRUE(corpus.saveSkill(skill("vector_load/sgemm/1")));
  ASSERT_TRUE(corpus.setSkillStatus("vector_load/sgemm/1", SkillStatus::Reproduced, "same features"));
  Skill again = skill("vector_load/sgemm/1");
  again.status = SkillStatus::Reproduced;
  ASSERT_TRUE(corpus.saveSkill(again));
  EXPECT_EQ(corpus.skills()->size(), 1u);
  EXPECT_EQ((**corpus.skill("vector_load/sgemm/1")).log.size(), 2u);
  EXPECT_EQ((**corpus.skill("vector_load/sgemm/1")).effects.size(), 2u);
}

TEST_F(CorpusTest, HeldOutFiltersBySourceFamily) {
  Corpus corpus = open();
  ASSERT_TRUE(corpus.saveSkill(skill("vector_load/sgemm/1")));
  Skill other = skill("unroll/softmax/1");
  other.family = "row_norm";
  ASSERT_TRUE(corpus.saveSkill(other));
  SkillFilter heldOut;
  heldOut.notFamily = "matmul";
  ASSERT_EQ(corpus.skills(heldOut)->size(), 1u);
  EXPECT_EQ(corpus.skills(heldOut)->at(0).key, "unroll/softmax/1");
}

TEST_F(CorpusTest, EvidenceFromAnotherFamilyIsAddedOnce) {
  Corpus corpus = open();
  ASSERT_TRUE(corpus.saveSkill(skill("vector_load/sgemm/1")));
  EffectPoint point{"emulated", false, "tall", 2, 1, {}, {}};
  ASSERT_TRUE(corpus.addEffect("vector_load/sgemm/1", point, "row_norm"));
  ASSERT_TRUE(corpus.addEffect("vector_load/sgemm/1", point, "row_norm"));
  EXPECT_EQ((**corpus.skill("vector_load/sgemm/1")).evidence.families, (std::vector<std::string>{"matmul", "row_norm"}));
  EXPECT_FALSE(corpus.addEffect("nobody", point, "row_norm"));
}

TEST_F(CorpusTest, ABodyThatFailsLeavesNothing) {
  Corpus corpus = open();
  Status status = corpus.transact([&]() -> Status {
    (void)corpus.addTransition(step("k", 1, "accepted"));
    return refusal("changed my mind");
  });
  EXPECT_FALSE(status);
  EXPECT_TRUE(corpus.transitions("k")->empty());
}

TEST_F(CorpusTest, AFailedInnerCallDoesNotLeaveHalfOfItselfInTheOuterOne) {
  Corpus corpus = open();
  ASSERT_TRUE(corpus.transact([&]() -> Status {
    (void)corpus.addTransition(step("k", 1, "accepted"));
    TransitionRow wrong = step("k", 2, "perhaps"); // no such outcome
    EXPECT_FALSE(corpus.addTransition(wrong));
    return Done{};
  }));
  ASSERT_EQ(corpus.transitions("k")->size(), 1u);
}

TEST_F(CorpusTest, TransitionsKeepEffectsAndCounters) {
  Corpus corpus = open();
  ASSERT_TRUE(corpus.addTransition(step("k", 1, "accepted")));
  auto rows = corpus.transitions("k");
  ASSERT_EQ(rows->size(), 1u);
  EXPECT_EQ(rows->at(0).effects.at(0).beforeCounters.at("barriers"), 4);
  TransitionRow row = rows->at(0);
  row.rederived = "reproduced";
  row.codegen = "changed";
  ASSERT_TRUE(corpus.updateTransition(row));
  EXPECT_EQ((**corpus.transition(row.id)).rederived, "reproduced");
  EXPECT_EQ((**corpus.transition(row.id)).effects.size(), 1u);
}

TEST_F(CorpusTest, ADamagedFileIsNamedAndLeftAlone) {
  { Corpus corpus = open(); }
  std::string bytes = *readFile(file);
  for (size_t i = 4096; i < bytes.size(); i += 7) bytes[i] = char(i);
  ASSERT_TRUE(writeFile(file, bytes));
  std::filesystem::remove(file.string() + "-wal");
  auto corpus = Corpus::open(file);
  ASSERT_FALSE(corpus);
  EXPECT_EQ(corpus.error().fault, Fault::User);
  EXPECT_NE(corpus.error().message().find(file.string()), std::string::npos);
  EXPECT_EQ(*readFile(file), bytes);
}

TEST_F(CorpusTest, ATextFileIsNotTakenForACorpus) {
  ASSERT_TRUE(writeFile(file, "hello"));
  auto corpus = Corpus::open(file);
  ASSERT_FALSE(corpus);
  EXPECT_EQ(*readFile(file), "hello");
}

TEST_F(CorpusTest, AnotherProgramsDatabaseIsRefused) {
  sqlite3 *db = nullptr;
  sqlite3_open(file.c_str(), &db);
  sqlite3_exec(db, "CREATE TABLE mine (x)", nullptr, nullptr, nullptr);
  sqlite3_close(db);
  std::string bytes = *readFile(file);
  auto corpus = Corpus::open(file);
  ASSERT_FALSE(corpus);
  EXPECT_NE(corpus.error().what.find("no corpus"), std::string::npos);
  EXPECT_EQ(*readFile(file), bytes);
}

TEST_F(CorpusTest, ANewerSchemaIsRefusedByNumber) {
  { Corpus corpus = open(); }
  sqlite3 *db = nullptr;
  sqlite3_open(file.c_str(), &db);
  sqlite3_exec(db, "PRAGMA user_version = 9000", nullptr, nullptr, nullptr);
  sqlite3_close(db);
  auto corpus = Corpus::open(file);
  ASSERT_FALSE(corpus);
  EXPECT_NE(corpus.error().what.find("9000"), std::string::npos);
}

TEST_F(CorpusTest, ReadingWhatIsNotThereMakesNoFile) {
  EXPECT_FALSE(Corpus::openReadOnly(file));
  EXPECT_FALSE(std::filesystem::exists(file));
}

// Field fault 18.
TEST_F(CorpusTest, EveryTextIsALegalQuestionOrAUsageError) {
  Corpus corpus = open();
  ASSERT_TRUE(corpus.saveSkill(skill("vector_load/sgemm/1")));
  for (const char *words : {"float4*", "a[i]+=b", "multi-stage", "cp.async", "AND", "OR NOT", "NEAR(", "x'; DROP TABLE skills; --", "intent:", "^a", "a\"b"})
    EXPECT_TRUE(corpus.searchWords(words)) << words;
  for (const char *words : {"", "\"", "  ", "+=", "{", "***"}) {
    auto hits = corpus.searchWords(words);
    ASSERT_FALSE(hits) << words;
    EXPECT_EQ(hits.error().fault, Fault::User);
  }
  EXPECT_EQ(corpus.searchWords("float4*")->size(), 1u);
  EXPECT_EQ(corpus.searchWords("wider loads")->size(), 1u);
  EXPECT_EQ(corpus.searchWords("zebra")->size(), 0u);
}

// Field fault 19: each accepted step writes a version and a transition in one transaction; a killed writer leaves whole pairs.
TEST_F(CorpusTest, TwoWritersAReaderAndAKillLeaveWholeStepsOnly) {
  { Corpus corpus = open(); }
  auto writer = [&](const std::string &kernel, int steps) {
    auto corpus = Corpus::open(file);
    if (!corpus) _exit(2);
    for (int i = 1; i <= steps; ++i) {
      Status status = corpus->transact([&]() -> Status {
        std::string hash = kernel + std::to_string(i);
        if (Status s = corpus->saveVersion({hash, kernel, "m", {{"m", hash}}, 0}, {}); !s) return s;
        TransitionRow row = step(kernel, i, "accepted");
        row.to = hash;
        if (auto id = corpus->addTransition(row); !id) return id.error();
        return corpus->saveWalk({kernel, "running", hash, i, "{}", 0});
      });
      if (!status) _exit(3);
    }
    _exit(0);
  };
  pid_t one = fork();
  if (one == 0) writer("one", 60);
  pid_t two = fork();
  if (two == 0) writer("two", 1'000'000);
  int reads = 0, status = 0;
  auto reader = Corpus::openReadOnly(file);
  ASSERT_TRUE(reader) << reader.error().message();
  // Until the first writer has ended and the second is under way.
  for (bool ended = false, begun = false; !ended || !begun; ++reads) {
    if (!ended) ended = waitpid(one, &status, WNOHANG) == one;
    auto walk = reader->walk("two");
    ASSERT_TRUE(walk) << walk.error().message();
    begun = *walk && (*walk)->order >= 3;
  }
  EXPECT_EQ(WEXITSTATUS(status), 0);
  kill(two, SIGKILL);
  waitpid(two, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_GT(reads, 0);

  Corpus corpus = open();
  EXPECT_EQ(corpus.transitions("one")->size(), 60u);
  auto killed = corpus.transitions("two");
  auto walk = corpus.walk("two");
  ASSERT_TRUE(walk && *walk);
  EXPECT_EQ(int(killed->size()), (*walk)->order);
  for (const TransitionRow &row : *killed) EXPECT_TRUE(*corpus.version(row.to)) << row.to;
}

TEST_F(CorpusTest, ForgettingAKernelLeavesTheOthers) {
  Corpus corpus = open();
  for (const char *kernel : {"a", "b"}) {
    ASSERT_TRUE(corpus.saveKernel({kernel, "matmul", "run", "w", "", "reference", "v0"}));
    ASSERT_TRUE(corpus.addTransition(step(kernel, 1, "accepted")));
    Skill s = skill(std::string("vector_load/") + kernel + "/1");
    s.kernel = kernel;
    ASSERT_TRUE(corpus.saveSkill(s));
  }
  ASSERT_TRUE(corpus.forgetKernel("a"));
  EXPECT_TRUE(corpus.transitions("a")->empty());
  EXPECT_EQ(corpus.transitions("b")->size(), 1u);
  EXPECT_EQ(corpus.skills()->size(), 1u);
  EXPECT_EQ(corpus.searchWords("wide load")->size(), 1u);
}

TEST_F(CorpusTest, MergingTwiceAddsNothingTheSecondTime) {
  std::filesystem::path shard = scratch.path() / "shard.db";
  {
    auto other = Corpus::open(shard);
    ASSERT_TRUE(other);
    ASSERT_TRUE(other->saveKernel({"sgemm", "matmul", "run", "w", "", "reference", "v0"}));
    ASSERT_TRUE(other->saveVersion({"v1", "sgemm", "m", {{"m", "text"}}, 0}, {}));
    auto id = other->addTransition(step("sgemm", 1, "accepted"));
    Skill s = skill("vector_load/sgemm/1");
    s.evidence.transitions = {*id};
    ASSERT_TRUE(other->saveSkill(s));
    ASSERT_TRUE(other->addProbe({*id, s.key, "aligned_16", "offset", "misaligned", "accepted", ConditionEvidence::Needed, ""}));
    ASSERT_TRUE(other->saveWalk({"sgemm", "complete", "v1", 1, "{}", 0}));
  }
  Corpus corpus = open();
  ASSERT_TRUE(corpus.addTransition(step("earlier", 1, "refused"))); // so that ids differ
  ASSERT_TRUE(corpus.merge(shard));
  ASSERT_TRUE(corpus.merge(shard));
  ASSERT_EQ(corpus.transitions("sgemm")->size(), 1u);
  Skill merged = **corpus.skill("vector_load/sgemm/1");
  EXPECT_EQ(merged.evidence.transitions.at(0), corpus.transitions("sgemm")->at(0).id);
  EXPECT_EQ(merged.effects.size(), 2u);
  EXPECT_EQ(corpus.probes(merged.evidence.transitions.at(0))->size(), 1u);
  EXPECT_TRUE(*corpus.version("v1"));
}

} // namespace
