// The questions of clients.txt as a client of Node puts them: node.mjs FOLDER CLIENT, with packages in FOLDER/node_modules.
// Prints a line for each: name, tab, rows.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const [folder, client] = process.argv.slice(2);
const require = createRequire(`${folder}/`);
const start = "2024-03-03 04:05:00", end = "2024-03-20 00:00:00", next = "2024-03-04 00:00:00";
const host = process.env.PGHOST, user = process.env.PGUSER, database = "postgres";
const url = `postgres://${user}@localhost/${database}?host=${encodeURIComponent(host)}`;
const named = (name) => `SELECT set_config('application_name', '${name}', false)`;

async function print(questions, run) {
  for (const [name, ask] of Object.entries(questions)) {
    await run(named(name));
    const rows = await ask();
    console.log(`${name}\t${JSON.stringify(rows, (_, value) => (typeof value === "bigint" ? String(value) : value))}`);
  }
}

const clients = {
  async pg() {
    const { Client } = require("pg");
    const connection = new Client({ host, user, database });
    await connection.connect();
    const ask = (text, values = []) => async () => (await connection.query({ text, values })).rows;
    await print(
      {
        hourly: ask("SELECT date_trunc('hour', ts) AS at, count(*), sum(dur) FROM spans WHERE ts >= $1 AND ts < $2 GROUP BY 1 ORDER BY 1", [start, end]),
        by_service: ask("SELECT service, count(*), avg(dur), max(dur) FROM spans GROUP BY service ORDER BY service"),
        daily_by_status: ask("SELECT ts::date AS at, status, count(*) FROM spans WHERE ts BETWEEN $1 AND $2 GROUP BY 1, 2 ORDER BY 1, 2", [start, end]),
        total: ask("SELECT count(*) FROM spans WHERE ts >= $1 AND ts < $2", [start, end]),
        services: ask("SELECT count(DISTINCT service) FROM spans"),
        slow: ask("SELECT service, count(*) FILTER (WHERE dur >= 900000) FROM spans GROUP BY service ORDER BY service"),
        having: ask("SELECT service, status FROM spans GROUP BY 1, 2 HAVING count(*) > $1 ORDER BY 1, 2", [10000]),
        longest: ask("SELECT id, dur FROM spans WHERE dur IS NOT NULL ORDER BY dur DESC LIMIT $1", [10]),
        latest: ask("SELECT DISTINCT ON (service) service, ts, dur FROM spans ORDER BY service, ts DESC"),
        wrapped_count: ask("SELECT count(*) FROM (SELECT id FROM spans WHERE ts >= $1 AND ts < $2 OFFSET $3) AS sub", [start, end, 0]),
        p95: ask("SELECT service, percentile_cont(0.95) WITHIN GROUP (ORDER BY dur) FROM spans WHERE ts >= $1 AND ts < $2 GROUP BY 1 ORDER BY 1", [start, next]),
        extremes: ask("SELECT min(ts), max(ts) FROM spans"),
        in_list: ask("SELECT ts::date AS at, sum(dur) FROM spans WHERE service = ANY($1) AND status = $2 GROUP BY 1 ORDER BY 1", [["service 1", "service 3"], "error"]),
        top: ask("SELECT service, sum(dur) FROM spans GROUP BY service ORDER BY 2 DESC LIMIT 3"),
      },
      (text) => connection.query(text),
    );
    await connection.end();
  },

  async postgres() {
    const sql = require("postgres")({ host: `${host}/.s.PGSQL.${process.env.PGPORT}`, path: `${host}/.s.PGSQL.${process.env.PGPORT}`, user, database, max: 1 });
    await print(
      {
        hourly: () => sql`SELECT date_trunc('hour', ts) AS at, count(*), sum(dur) FROM spans WHERE ts >= ${start} AND ts < ${end} GROUP BY 1 ORDER BY 1`,
        by_service: () => sql`SELECT service, count(*), avg(dur), max(dur) FROM spans GROUP BY service ORDER BY service`,
        total: () => sql`SELECT count(*) FROM spans WHERE ts >= ${start} AND ts < ${end}`,
        services: () => sql`SELECT count(DISTINCT service) FROM spans`,
        slow: () => sql`SELECT service, count(*) FILTER (WHERE dur >= 900000) FROM spans GROUP BY service ORDER BY service`,
        longest: () => sql`SELECT id, dur FROM spans WHERE dur IS NOT NULL ORDER BY dur DESC LIMIT ${10}`,
        latest: () => sql`SELECT DISTINCT ON (service) service, ts, dur FROM spans ORDER BY service, ts DESC`,
        extremes: () => sql`SELECT min(ts), max(ts) FROM spans`,
        in_list: () => sql`SELECT ts::date AS at, sum(dur) FROM spans WHERE service IN ${sql(["service 1", "service 3"])} AND status = ${"error"} GROUP BY 1 ORDER BY 1`,
        top: () => sql`SELECT service, sum(dur) FROM spans GROUP BY service ORDER BY 2 DESC LIMIT 3`,
      },
      (text) => sql.unsafe(text),
    );
    await sql.end();
  },

  async knex() {
    const knex = require("knex")({ client: "pg", connection: { host, user, database }, pool: { min: 1, max: 1 } });
    const window = () => knex("spans").where("ts", ">=", start).andWhere("ts", "<", end);
    const hour = knex.raw("date_trunc('hour', ts)"), day = knex.raw("date_trunc('day', ts)");
    await print(
      {
        hourly: () => window().select({ at: hour }).count("* as n").sum("dur as total").groupBy(hour).orderBy("at"),
        by_service: () => knex("spans").select("service").count("id as n").avg("dur as mean").max("dur as most").groupBy("service").orderBy("service"),
        daily_by_status: () => knex("spans").whereBetween("ts", [start, end]).select({ at: day }, "status").count("* as n").groupByRaw("date_trunc('day', ts), status").orderBy(["at", "status"]),
        total: () => window().count("* as n"),
        services: () => knex("spans").countDistinct("service as n"),
        slow: () => knex("spans").select("service", knex.raw("sum(case when dur >= ? then 1 else 0 end) as n", [900000])).groupBy("service").orderBy("service"),
        having: () => knex("spans").select("service", "status").groupBy("service", "status").havingRaw("count(*) > ?", [10000]).orderBy(["service", "status"]),
        longest: () => knex("spans").select("id", "dur").whereNotNull("dur").orderBy("dur", "desc").limit(10),
        latest: () => knex("spans").distinctOn("service").select("service", "ts", "dur").orderBy([{ column: "service" }, { column: "ts", order: "desc" }]),
        wrapped_count: () => knex.count("* as n").from(window().as("w")),
        extremes: () => knex("spans").min("ts as first").max("ts as last"),
        in_list: () => knex("spans").whereIn("service", ["service 1", "service 3"]).andWhere({ status: "error" }).select({ at: day }).sum("dur as total").groupBy(day).orderBy("at"),
        top: () => knex("spans").select("service").sum("dur as total").groupBy("service").orderBy("total", "desc").limit(3),
      },
      (text) => knex.raw(text),
    );
    await knex.destroy();
  },

  async kysely() {
    const { Kysely, PostgresDialect, sql, CompiledQuery } = require("kysely");
    const { Pool } = require("pg");
    const db = new Kysely({ dialect: new PostgresDialect({ pool: new Pool({ host, user, database, max: 1 }) }) });
    const hour = sql`date_trunc('hour', ts)`, day = sql`date_trunc('day', ts)`;
    const window = () => db.selectFrom("spans").where("ts", ">=", start).where("ts", "<", end);
    await print(
      {
        hourly: () => window().select((e) => [hour.as("at"), e.fn.countAll().as("n"), e.fn.sum("dur").as("total")]).groupBy(hour).orderBy("at").execute(),
        by_service: () => db.selectFrom("spans").select((e) => ["service", e.fn.count("id").as("n"), e.fn.avg("dur").as("mean"), e.fn.max("dur").as("most")]).groupBy("service").orderBy("service").execute(),
        daily_by_status: () => window().select((e) => [day.as("at"), "status", e.fn.countAll().as("n")]).groupBy([day, "status"]).orderBy("at").orderBy("status").execute(),
        total: () => window().select((e) => e.fn.countAll().as("n")).execute(),
        services: () => db.selectFrom("spans").select((e) => e.fn.count("service").distinct().as("n")).execute(),
        slow: () => db.selectFrom("spans").select((e) => ["service", e.fn.countAll().filterWhere("dur", ">=", 900000).as("n")]).groupBy("service").orderBy("service").execute(),
        having: () => db.selectFrom("spans").select(["service", "status"]).groupBy(["service", "status"]).having((e) => e.fn.countAll(), ">", 10000).orderBy("service").orderBy("status").execute(),
        longest: () => db.selectFrom("spans").select(["id", "dur"]).where("dur", "is not", null).orderBy("dur", "desc").limit(10).execute(),
        latest: () => db.selectFrom("spans").distinctOn("service").select(["service", "ts", "dur"]).orderBy("service").orderBy("ts", "desc").execute(),
        wrapped_count: () => db.selectFrom(window().select("id").as("w")).select((e) => e.fn.countAll().as("n")).execute(),
        extremes: () => db.selectFrom("spans").select((e) => [e.fn.min("ts").as("first"), e.fn.max("ts").as("last")]).execute(),
        in_list: () => db.selectFrom("spans").where("service", "in", ["service 1", "service 3"]).where("status", "=", "error").select((e) => [day.as("at"), e.fn.sum("dur").as("total")]).groupBy(day).orderBy("at").execute(),
        top: () => db.selectFrom("spans").select((e) => ["service", e.fn.sum("dur").as("total")]).groupBy("service").orderBy("total", "desc").limit(3).execute(),
      },
      (text) => db.executeQuery(CompiledQuery.raw(text)),
    );
    await db.destroy();
  },

  async drizzle() {
    const { drizzle } = require("drizzle-orm/node-postgres");
    const { bigint, pgTable, text, timestamp } = require("drizzle-orm/pg-core");
    const { and, asc, avg, between, count, countDistinct, desc, eq, gte, inArray, isNotNull, lt, max, min, sql, sum } = require("drizzle-orm");
    const { Client } = require("pg");
    const connection = new Client({ host, user, database });
    await connection.connect();
    const db = drizzle(connection);
    const spans = pgTable("spans", {
      id: bigint({ mode: "number" }).primaryKey(), service: text(), status: text(), ts: timestamp({ mode: "string" }), dur: bigint({ mode: "number" }),
    });
    const window = and(gte(spans.ts, start), lt(spans.ts, end));
    const hour = sql`date_trunc('hour', ${spans.ts})`, day = sql`date_trunc('day', ${spans.ts})`;
    await print(
      {
        hourly: () => db.select({ at: hour, n: count(), total: sum(spans.dur) }).from(spans).where(window).groupBy(hour).orderBy(hour),
        by_service: () => db.select({ service: spans.service, n: count(spans.id), mean: avg(spans.dur), most: max(spans.dur) }).from(spans).groupBy(spans.service).orderBy(spans.service),
        daily_by_status: () => db.select({ at: day, status: spans.status, n: count() }).from(spans).where(between(spans.ts, start, end)).groupBy(day, spans.status).orderBy(day, spans.status),
        total: () => db.$count(spans, window),
        services: () => db.select({ n: countDistinct(spans.service) }).from(spans),
        slow: () => db.select({ service: spans.service, n: sql`count(*) filter (where ${spans.dur} >= 900000)` }).from(spans).groupBy(spans.service).orderBy(spans.service),
        having: () => db.select({ service: spans.service, status: spans.status }).from(spans).groupBy(spans.service, spans.status).having(sql`count(*) > ${10000}`).orderBy(spans.service, spans.status),
        longest: () => db.select({ id: spans.id, dur: spans.dur }).from(spans).where(isNotNull(spans.dur)).orderBy(desc(spans.dur)).limit(10),
        latest: () => db.selectDistinctOn([spans.service], { service: spans.service, ts: spans.ts, dur: spans.dur }).from(spans).orderBy(asc(spans.service), desc(spans.ts)),
        extremes: () => db.select({ first: min(spans.ts), last: max(spans.ts) }).from(spans),
        in_list: () => db.select({ at: day, total: sum(spans.dur) }).from(spans).where(and(inArray(spans.service, ["service 1", "service 3"]), eq(spans.status, "error"))).groupBy(day).orderBy(day),
        top: () => db.select({ service: spans.service, total: sum(spans.dur) }).from(spans).groupBy(spans.service).orderBy(desc(sum(spans.dur))).limit(3),
      },
      (text) => connection.query(text),
    );
    await connection.end();
  },

  async sequelize() {
    const { Sequelize, DataTypes, Op, col, fn, literal } = require("sequelize");
    const sequelize = new Sequelize(database, user, "", { host, dialect: "postgres", logging: false, pool: { max: 1 }, timezone: "+00:00" });
    const Span = sequelize.define(
      "span",
      { id: { type: DataTypes.BIGINT, primaryKey: true }, service: DataTypes.TEXT, status: DataTypes.TEXT, ts: "timestamp", dur: DataTypes.BIGINT },
      { tableName: "spans", timestamps: false },
    );
    const window = { ts: { [Op.gte]: start, [Op.lt]: end } };
    const hour = fn("date_trunc", "hour", col("ts")), day = fn("date_trunc", "day", col("ts"));
    const find = (options) => Span.findAll({ raw: true, ...options });
    await print(
      {
        hourly: () => find({ attributes: [[hour, "at"], [fn("count", col("*")), "n"], [fn("sum", col("dur")), "total"]], where: window, group: [hour], order: [hour] }),
        by_service: () => find({ attributes: ["service", [fn("count", col("id")), "n"], [fn("avg", col("dur")), "mean"], [fn("max", col("dur")), "most"]], group: ["service"], order: ["service"] }),
        daily_by_status: () => find({ attributes: [[day, "at"], "status", [fn("count", col("*")), "n"]], where: { ts: { [Op.between]: [start, end] } }, group: [day, "status"], order: [day, "status"] }),
        total: () => Span.count({ where: window }),
        services: () => Span.count({ distinct: true, col: "service" }),
        slow: () => find({ attributes: ["service", [fn("sum", literal("CASE WHEN dur >= 900000 THEN 1 ELSE 0 END")), "n"]], group: ["service"], order: ["service"] }),
        having: () => find({ attributes: ["service", "status"], group: ["service", "status"], having: literal("count(*) > 10000"), order: ["service", "status"] }),
        longest: () => find({ attributes: ["id", "dur"], where: { dur: { [Op.not]: null } }, order: [["dur", "DESC"]], limit: 10 }),
        extremes: async () => [await Span.min("ts"), await Span.max("ts")],
        in_list: () => find({ attributes: [[day, "at"], [fn("sum", col("dur")), "total"]], where: { service: ["service 1", "service 3"], status: "error" }, group: [day], order: [day] }),
        top: () => find({ attributes: ["service", [fn("sum", col("dur")), "total"]], group: ["service"], order: [[fn("sum", col("dur")), "DESC"]], limit: 3 }),
      },
      (text) => sequelize.query(text),
    );
    await sequelize.close();
  },

  async typeorm() {
    const { DataSource, EntitySchema, Between } = require("typeorm");
    const Span = new EntitySchema({
      name: "span", tableName: "spans",
      columns: { id: { type: "bigint", primary: true }, service: { type: "text" }, status: { type: "text" }, ts: { type: "timestamp" }, dur: { type: "bigint", nullable: true } },
    });
    const source = new DataSource({ type: "postgres", url, entities: [Span], extra: { max: 1, host }, installExtensions: false });
    await source.initialize();
    const spans = source.getRepository(Span);
    const query = () => spans.createQueryBuilder("s");
    const window = () => query().where("s.ts >= :start AND s.ts < :end", { start, end });
    await print(
      {
        hourly: () => window().select("date_trunc('hour', s.ts)", "at").addSelect("count(*)", "n").addSelect("sum(s.dur)", "total").groupBy("date_trunc('hour', s.ts)").orderBy("at").getRawMany(),
        by_service: () => query().select("s.service", "service").addSelect("count(s.id)", "n").addSelect("avg(s.dur)", "mean").addSelect("max(s.dur)", "most").groupBy("s.service").orderBy("s.service").getRawMany(),
        daily_by_status: () => window().select("date_trunc('day', s.ts)", "at").addSelect("s.status", "status").addSelect("count(*)", "n").groupBy("1").addGroupBy("2").orderBy("1").addOrderBy("2").getRawMany(),
        total: () => spans.countBy({ ts: Between(start, end) }),
        services: () => query().select("count(DISTINCT s.service)", "n").getRawMany(),
        slow: () => query().select("s.service", "service").addSelect("sum(CASE WHEN s.dur >= 900000 THEN 1 ELSE 0 END)", "n").groupBy("s.service").orderBy("s.service").getRawMany(),
        longest: () => query().select(["s.id", "s.dur"]).where("s.dur IS NOT NULL").orderBy("s.dur", "DESC").limit(10).getMany(),
        latest: () => query().distinctOn(["s.service"]).select(["s.service", "s.ts", "s.id"]).orderBy("s.service").addOrderBy("s.ts", "DESC").getRawMany(),

        extremes: async () => [await spans.minimum("ts"), await spans.maximum("ts")],
        in_list: () => query().select("date_trunc('day', s.ts)", "at").addSelect("sum(s.dur)", "total").where("s.service IN (:...names)", { names: ["service 1", "service 3"] }).andWhere("s.status = 'error'").groupBy("1").orderBy("1").getRawMany(),
        top: () => query().select("s.service", "service").addSelect("sum(s.dur)", "total").groupBy("s.service").orderBy("total", "DESC").limit(3).getRawMany(),
      },
      (text) => source.query(text),
    );
    await source.destroy();
  },

  /* Its adapter sends what the query compiler, WebAssembly, makes. run.sh has generated the client from spans.prisma. */
  async prisma() {
    const { PrismaClient } = require("@prisma/client");
    const { PrismaPg } = require("@prisma/adapter-pg");
    const prisma = new PrismaClient({ adapter: new PrismaPg({ host, user, database, max: 1 }) });
    const from = new Date(`${start}Z`), to = new Date(`${end}Z`), window = { ts: { gte: from, lt: to } };
    const spans = prisma.span;
    await print(
      {
        hourly: () => prisma.$queryRaw`SELECT date_trunc('hour', ts) AS at, count(*), sum(dur) FROM spans WHERE ts >= ${from} AND ts < ${to} GROUP BY 1 ORDER BY 1`,
        by_service: () => spans.groupBy({ by: ["service"], _count: { id: true }, _avg: { dur: true }, _max: { dur: true }, orderBy: { service: "asc" } }),
        total: () => spans.count({ where: window }),
        slow: () => spans.groupBy({ by: ["service"], where: { dur: { gte: 900000 } }, _count: true, orderBy: { service: "asc" } }),
        having: () => spans.groupBy({ by: ["service", "status"], having: { id: { _count: { gt: 10000 } } }, orderBy: [{ service: "asc" }, { status: "asc" }] }),
        longest: () => spans.findMany({ select: { id: true, dur: true }, where: { dur: { not: null } }, orderBy: { dur: "desc" }, take: 10 }),
        wrapped_count: () => spans.aggregate({ where: window, _count: { _all: true }, _sum: { dur: true } }),
        extremes: () => spans.aggregate({ _min: { ts: true }, _max: { ts: true } }),
        in_list: () => spans.groupBy({ by: ["service"], where: { service: { in: ["service 1", "service 3"] }, status: "error" }, _sum: { dur: true }, orderBy: { service: "asc" } }),
        top: () => spans.groupBy({ by: ["service"], _sum: { dur: true }, orderBy: { _sum: { dur: "desc" } }, take: 3 }),
        nulls: () => spans.count({ where: { dur: null } }),
      },
      (text) => prisma.$queryRawUnsafe(text.replace(/, false\)$/, ", false)::text")),
    );
    await prisma.$disconnect();
  },

  /* Queries are made by its compiler of schemas from spans.cube.js, and sent as its driver does. */
  async cube() {
    /* its native part, which makes templates in YAML and plans in another way, is no package */
    require("@cubejs-backend/native").NativeInstance.prototype.newJinjaEngine = () => null;
    const { prepareCompiler, PostgresQuery } = require("@cubejs-backend/schema-compiler");
    const { Client } = require("pg");
    const content = readFileSync(new URL("spans.cube.js", import.meta.url), "utf8");
    const compilers = prepareCompiler({ localPath: () => ".", dataSchemaFiles: async () => [{ fileName: "spans.js", content }] }, { adapter: "postgres" });
    await compilers.compiler.compile();
    const connection = new Client({ host, user, database });
    await connection.connect();
    await connection.query("SET TIME ZONE 'UTC'");
    const ask = (query) => async () => {
      const [text, values] = new PostgresQuery(compilers, { timezone: "UTC", useNativeSqlPlanner: false, ...query }).buildSqlAndParams();
      return (await connection.query({ text, values })).rows;
    };
    const window = { dimension: "spans.ts", dateRange: ["2024-03-03T04:05:00", "2024-03-19T23:59:59.999"] };
    const day = { ...window, granularity: "day" }, hour = { ...window, granularity: "hour" };
    const by = (...members) => members.map((id) => ({ id }));
    await print(
      {
        hourly: ask({ measures: ["spans.count", "spans.total"], timeDimensions: [hour], order: by("spans.ts") }),
        by_service: ask({ measures: ["spans.count", "spans.mean", "spans.most"], dimensions: ["spans.service"], order: by("spans.service") }),
        daily_by_status: ask({ measures: ["spans.count"], dimensions: ["spans.status"], timeDimensions: [day], order: by("spans.ts", "spans.status") }),
        total: ask({ measures: ["spans.count"], timeDimensions: [window] }),
        services: ask({ measures: ["spans.services"] }),
        slow: ask({ measures: ["spans.slow", "spans.share"], dimensions: ["spans.service"], order: by("spans.service") }),
        having: ask({ dimensions: ["spans.service", "spans.status"], measures: ["spans.count"], filters: [{ member: "spans.count", operator: "gt", values: ["10000"] }], order: by("spans.service", "spans.status") }),
        p95: ask({ measures: ["spans.p95"], dimensions: ["spans.service"], timeDimensions: [{ ...window, dateRange: ["2024-03-03T04:05:00", "2024-03-03T23:59:59.999"] }], order: by("spans.service") }),
        extremes: ask({ measures: ["spans.first", "spans.last"] }),
        in_list: ask({ measures: ["spans.total"], timeDimensions: [{ ...day, dateRange: undefined }], filters: [{ member: "spans.service", operator: "equals", values: ["service 1", "service 3"] }, { member: "spans.status", operator: "equals", values: ["error"] }], order: by("spans.ts") }),
        top: ask({ measures: ["spans.total"], dimensions: ["spans.service"], order: [{ id: "spans.total", desc: true }], limit: 3 }),
        milliseconds: ask({ measures: ["spans.milliseconds"], dimensions: ["spans.service"], order: by("spans.service") }),
        nulls: ask({ measures: ["spans.unknown"] }),
        speed: ask({ measures: ["spans.count"], dimensions: ["spans.speed"], order: by("spans.speed") }),
        rolling: ask({ measures: ["spans.trailing"], timeDimensions: [day], order: by("spans.ts") }),
      },
      (text) => connection.query(text),
    );
    await connection.end();
  },

  async malloy() {
    const { SingleConnectionRuntime } = require("@malloydata/malloy");
    const { PostgresConnection } = require("@malloydata/db-postgres");
    const source = `source: spans is postgres.table('public.spans') extend {
      primary_key: id
      measure: n is count()
      dimension: is_slow is dur >= 900000
    }
    `;
    const window = "where: ts >= @2024-03-03 04:05:00 and ts < @2024-03-20 00:00:00";
    let connection;
    const ask = (view, limit = 5000) => async () => {
      const runtime = new SingleConnectionRuntime({ connection });
      const result = await runtime.loadModel(source).loadQuery(`run: spans -> { ${view} limit: ${limit} }`).run({ rowLimit: limit });
      return result.data.toObject();
    };
    await print(
      {
        hourly: ask(`${window} group_by: at is ts.hour aggregate: n, total is dur.sum() order_by: at`),
        by_service: ask("group_by: service aggregate: n, mean is dur.avg(), most is dur.max() order_by: service"),
        daily_by_status: ask(`${window} group_by: at is ts.day, status aggregate: n order_by: at, status`),
        total: ask(`${window} aggregate: n`),
        services: ask("aggregate: services is count(service)"),
        slow: ask("group_by: service aggregate: slow is n { where: is_slow }, share is 100.0 * n { where: is_slow } / n order_by: service"),
        having: ask("group_by: service, status having: n > 10000 order_by: service, status"),
        longest: ask("where: dur is not null select: id, dur order_by: dur desc", 10),
        extremes: ask("aggregate: first is ts.min(), last is ts.max()"),
        in_list: ask("where: service ? 'service 1' | 'service 3', status = 'error' group_by: at is ts.day aggregate: total is dur.sum() order_by: at"),
        top: ask("group_by: service aggregate: total is dur.sum() order_by: total desc", 3),
        milliseconds: ask("group_by: service aggregate: mean is avg(dur / 1000.0) order_by: service"),
        nulls: ask("aggregate: unknown is n { where: dur is null }"),
        weekday: ask("group_by: weekday is day_of_week(ts) aggregate: n order_by: weekday"),
        speed: ask("group_by: speed is pick 'slow' when is_slow else 'fast' aggregate: n order_by: speed"),
        nested: ask("group_by: service aggregate: n nest: by_status is { group_by: status aggregate: n order_by: status } order_by: service"),
      },
      /* a connection a question, for each of its statements opens one */
      async (text) => { connection = new PostgresConnection({ name: "postgres", host, username: user, databaseName: database, setupSQL: text }); },
    );
  },
};

await clients[client]();
