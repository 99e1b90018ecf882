// Words that people search for, asked of the site's own search: node site_search.mjs SITE
// prints "WORD: PAGE is not among the first three" for each word that does not lead to its page.
import { readFileSync, readdirSync } from "node:fs";
import vm from "node:vm";

const words = {
  heatmap: "recipes",
  "latency heatmap": "recipes",
  M4: "charts",
  LTTB: "charts",
  "line chart": "charts",
  SLO: "recipes",
  Apdex: "recipes",
  RED: "recipes",
  "error rate": "recipes",
  "continuous aggregate": "compare",
  TimescaleDB: "compare",
  ClickHouse: "compare",
  "last point": "recipes",
  gapfill: "recipes",
  "gap fill": "recipes",
  "peak concurrency": "recipes",
  nsys: "nsys",
  Nsight: "nsys",
  PyTorch: "traces",
  Perfetto: "trace_formats",
  OpenTelemetry: "trace_formats",
  Grafana: "dashboards",
  "Grafana dashboard": "dashboards",
  dashboard: "dashboards",
  Metabase: "dashboards",
  Superset: "dashboards",
  Datasette: "dashboards",
  Jupyter: "dashboards",
  notebook: "dashboards",
  percentile: "postgres_sketch",
  p99: "recipes",
  "managed service": "install",
};

const site = process.argv[2];
const index = JSON.parse(readFileSync(`${site}/search/search_index.json`, "utf8"));
const scripts = `${site}/assets/javascripts/workers/`;
const script = readdirSync(scripts).find((name) => /^search\..*\.js$/.test(name));

// The script is a worker: it is asked by messages, and answers by messages.
let answered;
const listeners = [];
const worker = {
  addEventListener: (_, listener) => listeners.push(listener),
  postMessage: (message) => answered(message.data),
  console, Promise, setTimeout,
};
worker.self = worker;
vm.runInNewContext(readFileSync(scripts + script, "utf8"), worker);
function ask(type, data) {
  return new Promise((resolve) => {
    answered = resolve;
    for (const listener of listeners) listener({ data: { type, data } });
  });
}
const [setup, query] = [0, 2];

await ask(setup, { ...index, options: { pipeline: ["trimmer", "stopWordFilter"], suggestions: true } });
let isMissing = false;
for (const [word, page] of Object.entries(words)) {
  const { items } = await ask(query, word);
  const first = items.slice(0, 3).map((entries) => entries[0].location);
  if (!first.some((location) => location.startsWith(`docs/${page}.html`))) {
    console.log(`${word}: ${page} is not among the first three: ${first.join(" ") || "nothing is found"}`);
    isMissing = true;
  }
}
process.exit(isMissing ? 1 : 0);
