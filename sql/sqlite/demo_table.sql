-- The table of spans, as the demo fills it from a trace or makes it up.

CREATE TABLE spans(
  id     INTEGER PRIMARY KEY,
  ts_ns  INTEGER NOT NULL,
  dur_ns INTEGER NOT NULL,
  track  TEXT NOT NULL,
  depth  INTEGER NOT NULL,
  name   TEXT NOT NULL,
  args   TEXT
);
