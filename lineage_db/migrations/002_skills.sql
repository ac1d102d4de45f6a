-- Skills with their nine fields, and the two indexes that find them. Explained in docs/corpus.md.
CREATE TABLE skills (
  id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, step TEXT NOT NULL, step_revision INTEGER NOT NULL, stage TEXT NOT NULL,
  kernel TEXT NOT NULL, family TEXT NOT NULL,
  status TEXT NOT NULL CHECK (status IN ('candidate', 'reproduced', 'admitted', 'stale', 'rejected')),
  summary TEXT NOT NULL, intent TEXT NOT NULL, anchor_before TEXT NOT NULL, anchor_after TEXT NOT NULL,
  locus_kind TEXT NOT NULL, locus_label TEXT NOT NULL, parameters TEXT NOT NULL, carrier_code TEXT NOT NULL,
  gate_revision INTEGER NOT NULL,
  provenance TEXT NOT NULL, merit REAL, review TEXT NOT NULL
);
CREATE INDEX skills_step ON skills(step);
CREATE INDEX skills_kernel ON skills(kernel);
CREATE TABLE skill_conditions (
  skill INTEGER NOT NULL REFERENCES skills(id) ON DELETE CASCADE, ordinal INTEGER NOT NULL, name TEXT NOT NULL, text TEXT NOT NULL,
  kind TEXT NOT NULL, truth TEXT NOT NULL, why TEXT NOT NULL, evidence TEXT NOT NULL, evidence_detail TEXT NOT NULL,
  PRIMARY KEY (skill, ordinal)
) WITHOUT ROWID;
CREATE TABLE skill_risks (
  skill INTEGER NOT NULL REFERENCES skills(id) ON DELETE CASCADE, ordinal INTEGER NOT NULL, condition TEXT NOT NULL,
  failure TEXT NOT NULL, detail TEXT NOT NULL, PRIMARY KEY (skill, ordinal)
) WITHOUT ROWID;
-- Lists of words: kind is transition, run, family (evidence), arch, dtype, scope_family, shape (scope).
CREATE TABLE skill_lists (
  skill INTEGER NOT NULL REFERENCES skills(id) ON DELETE CASCADE, kind TEXT NOT NULL, ordinal INTEGER NOT NULL, value TEXT NOT NULL,
  PRIMARY KEY (skill, kind, ordinal)
) WITHOUT ROWID;
CREATE TABLE skill_log (
  id INTEGER PRIMARY KEY, skill INTEGER NOT NULL REFERENCES skills(id) ON DELETE CASCADE, time INTEGER NOT NULL,
  event TEXT NOT NULL, detail TEXT NOT NULL
);
CREATE INDEX skill_log_skill ON skill_log(skill);

CREATE TABLE probes (
  id INTEGER PRIMARY KEY, transition_id INTEGER NOT NULL, skill TEXT NOT NULL, condition TEXT NOT NULL, change TEXT NOT NULL,
  expert_answer TEXT NOT NULL, plain_answer TEXT NOT NULL, evidence TEXT NOT NULL, detail TEXT NOT NULL
);
CREATE INDEX probes_transition ON probes(transition_id);
CREATE INDEX probes_skill ON probes(skill);

CREATE TABLE annotations (
  id INTEGER PRIMARY KEY, subject_kind TEXT NOT NULL, subject TEXT NOT NULL, author TEXT NOT NULL, text TEXT NOT NULL, time INTEGER NOT NULL
);
CREATE TABLE artifacts (
  id INTEGER PRIMARY KEY, subject_kind TEXT NOT NULL, subject TEXT NOT NULL, kind TEXT NOT NULL, blob TEXT NOT NULL REFERENCES blobs(hash)
);

-- Words: rowid is skills.id. The stemmer lets "vectorized loads" find "vector load"; an underscore parts words.
CREATE VIRTUAL TABLE skill_words USING fts5(step, summary, intent, code, tokenize = 'porter unicode61');
-- Shapes: how often each structural token stands in one side. The tokens are those of lineage_db/shape.h, of the stated revision.
CREATE TABLE skill_shapes (
  skill INTEGER NOT NULL REFERENCES skills(id) ON DELETE CASCADE, side TEXT NOT NULL CHECK (side IN ('plain', 'expert')),
  token TEXT NOT NULL, count INTEGER NOT NULL, PRIMARY KEY (skill, side, token)
) WITHOUT ROWID;
CREATE TABLE shape_revision (revision INTEGER NOT NULL);
INSERT INTO shape_revision VALUES (0);
