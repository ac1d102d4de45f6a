-- Kernels, their versions, and the steps between them. Explained in docs/corpus.md.
CREATE TABLE kernels (
  name TEXT PRIMARY KEY, family TEXT NOT NULL, entry TEXT NOT NULL, workload_hash TEXT NOT NULL,
  origin TEXT NOT NULL, oracle TEXT NOT NULL, expert_version TEXT NOT NULL
) WITHOUT ROWID;

-- Equal bytes are stored once, under their SHA-256, compressed with zstd.
CREATE TABLE blobs (hash TEXT PRIMARY KEY, size INTEGER NOT NULL, bytes BLOB NOT NULL);

CREATE TABLE versions (
  hash TEXT PRIMARY KEY, kernel TEXT NOT NULL, main_file TEXT NOT NULL, complexity INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX versions_kernel ON versions(kernel);
CREATE TABLE version_files (
  version TEXT NOT NULL REFERENCES versions(hash) ON DELETE CASCADE, path TEXT NOT NULL,
  blob TEXT NOT NULL REFERENCES blobs(hash), PRIMARY KEY (version, path)
) WITHOUT ROWID;
CREATE TABLE features (
  id INTEGER PRIMARY KEY, version TEXT NOT NULL REFERENCES versions(hash) ON DELETE CASCADE, step TEXT NOT NULL,
  locus_kind TEXT NOT NULL, locus_label TEXT NOT NULL, file TEXT NOT NULL, offset INTEGER NOT NULL, parameters TEXT NOT NULL
);
CREATE INDEX features_version ON features(version);

CREATE TABLE transitions (
  id INTEGER PRIMARY KEY, kernel TEXT NOT NULL, from_version TEXT NOT NULL, to_version TEXT NOT NULL,
  step TEXT NOT NULL, step_revision INTEGER NOT NULL, direction TEXT NOT NULL,
  locus_kind TEXT NOT NULL, locus_label TEXT NOT NULL, file TEXT NOT NULL, offset INTEGER NOT NULL, line INTEGER NOT NULL,
  parameters TEXT NOT NULL, ordinal INTEGER NOT NULL,
  outcome TEXT NOT NULL CHECK (outcome IN ('accepted', 'refused', 'undecided')),
  reason TEXT NOT NULL, detail TEXT NOT NULL, run_key TEXT NOT NULL, verdict TEXT NOT NULL,
  codegen TEXT NOT NULL, codegen_detail TEXT NOT NULL, rederived TEXT NOT NULL, rederived_detail TEXT NOT NULL,
  carrier_before TEXT NOT NULL, carrier_after TEXT NOT NULL
);
CREATE INDEX transitions_kernel ON transitions(kernel, ordinal);

CREATE TABLE walks (
  kernel TEXT PRIMARY KEY, status TEXT NOT NULL, current TEXT NOT NULL, ordinal INTEGER NOT NULL,
  queue TEXT NOT NULL, updated INTEGER NOT NULL
) WITHOUT ROWID;

-- Profile points of transitions, skills and attempts. `measured` = 0 is modelled; no query adds the two up.
CREATE TABLE effects (
  id INTEGER PRIMARY KEY, owner_kind TEXT NOT NULL CHECK (owner_kind IN ('transition', 'skill', 'attempt')), owner INTEGER NOT NULL,
  device TEXT NOT NULL, measured INTEGER NOT NULL CHECK (measured IN (0, 1)), instance TEXT NOT NULL,
  before_seconds REAL NOT NULL, after_seconds REAL NOT NULL, source_family TEXT NOT NULL
);
CREATE INDEX effects_owner ON effects(owner_kind, owner);
CREATE TABLE counters (
  effect INTEGER NOT NULL REFERENCES effects(id) ON DELETE CASCADE, side TEXT NOT NULL CHECK (side IN ('before', 'after')),
  name TEXT NOT NULL, value REAL NOT NULL, PRIMARY KEY (effect, side, name)
) WITHOUT ROWID;

-- Samples stay inside the record of their run: nothing asks for them one by one.
CREATE TABLE runs (
  key TEXT PRIMARY KEY, kernel TEXT NOT NULL, version TEXT NOT NULL, baseline TEXT NOT NULL, device TEXT NOT NULL,
  compiler TEXT NOT NULL, gate_revision INTEGER NOT NULL, outcome TEXT NOT NULL, reason TEXT NOT NULL, record TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE attempts (
  id INTEGER PRIMARY KEY, search TEXT NOT NULL, target TEXT NOT NULL, target_family TEXT NOT NULL,
  from_version TEXT NOT NULL, to_version TEXT NOT NULL, skill TEXT NOT NULL, step TEXT NOT NULL, parameters TEXT NOT NULL,
  locus TEXT NOT NULL, ordinal INTEGER NOT NULL, outcome TEXT NOT NULL, reason TEXT NOT NULL, detail TEXT NOT NULL,
  run_key TEXT NOT NULL, kept INTEGER NOT NULL
);
CREATE INDEX attempts_target ON attempts(target, id);
