// The table of tables.sql as a cube, whose queries node.mjs has made.
cube("spans", {
  sql_table: "spans",
  measures: {
    count: { type: "count" },
    total: { sql: "dur", type: "sum" },
    mean: { sql: "dur", type: "avg" },
    most: { sql: "dur", type: "max" },
    first: { sql: "ts", type: "min" },
    last: { sql: "ts", type: "max" },
    services: { sql: "service", type: "countDistinct" },
    slow: { type: "count", filters: [{ sql: `${CUBE}.dur >= 900000` }] },
    share: { sql: `100.0 * ${slow} / ${count}`, type: "number" },
    unknown: { type: "count", filters: [{ sql: `${CUBE}.dur IS NULL` }] },
    milliseconds: { sql: `${CUBE}.dur / 1000.0`, type: "avg" },
    p95: { sql: "percentile_cont(0.95) WITHIN GROUP (ORDER BY dur)", type: "number" },
    trailing: { type: "count", rolling_window: { trailing: "7 day" } },
  },
  dimensions: {
    id: { sql: "id", type: "number", primary_key: true },
    service: { sql: "service", type: "string" },
    status: { sql: "status", type: "string" },
    ts: { sql: "ts", type: "time" },
    speed: { type: "string", case: { when: [{ sql: `${CUBE}.dur >= 900000`, label: "slow" }], else: { label: "fast" } } },
  },
});
