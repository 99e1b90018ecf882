// The questions of clients.txt as a client of Node puts them: node.mjs FOLDER CLIENT, with packages in FOLDER/node_modules.
// Prints a line for each: name, tab, rows.
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
};

await clients[client]();
