// Reads an ALB access log with DuckDB's CSV reader and groups it as gapless does:
// requests per second, target and status, with a p99. Run in a folder in which
// @duckdb/node-api is installed; prints the number of requests.
import { createRequire } from "node:module";
import { join } from "node:path";

const { DuckDBInstance } = createRequire(join(process.cwd(), "package.json"))("@duckdb/node-api");

const names = [
  "type", "time", "elb", "client", "target", "request_time", "target_time", "response_time", "status", "target_status",
  "received", "sent", "request", "agent", "cipher", "tls", "target_group", "trace", "domain", "cert", "rule", "created",
  "actions", "redirect", "error", "targets", "target_statuses", "classification", "classification_reason", "conn_trace",
  "host", "uri", "transform", "node",
];
const types = { time: "TIMESTAMP", created: "TIMESTAMP" };
const columns = names.map((name) => `'${name}': '${types[name] ?? "VARCHAR"}'`).join(", ");
const connection = await (await DuckDBInstance.create(":memory:")).connect();
const reader = await connection.runAndReadAll(`
  SELECT sum(n)::BIGINT AS requests FROM (
    SELECT date_trunc('second', created) AS second, target, status, target_status, count(*) AS n,
           approx_quantile(epoch_us("time") - epoch_us(created), 0.99) AS p99
    FROM read_csv('${process.argv[2]}', delim = ' ', quote = '"', escape = '"', header = false, auto_detect = false,
                  columns = {${columns}})
    GROUP BY ALL)`);
console.log(String(reader.getRows()[0][0]));
