SELECT DATE_TRUNC('month', started_at) AS __timestamp, COUNT(*) AS count FROM public.visit GROUP BY DATE_TRUNC('month', started_at) ORDER BY count DESC LIMIT 10000
---
SELECT DATE_TRUNC('day', started_at) AS __timestamp, SUM(cost) AS "SUM(cost)" FROM public.visit WHERE started_at >= TO_TIMESTAMP('2023-01-01 00:00:00.000000', 'YYYY-MM-DD HH24:MI:SS.US') AND started_at < TO_TIMESTAMP('2023-03-01 00:00:00.000000', 'YYYY-MM-DD HH24:MI:SS.US') GROUP BY DATE_TRUNC('day', started_at)
-- plain: SELECT DATE_TRUNC('day', started_at), SUM(cost) FROM visit WHERE started_at >= TIMESTAMP '2023-01-01' AND started_at < TIMESTAMP '2023-03-01' GROUP BY 1
---
SELECT DATE_TRUNC('hour', started_at) AS __timestamp, COUNT(*) AS count FROM visit WHERE started_at >= TO_TIMESTAMP('2023-05-01 00:00:00.000000', 'YYYY-MM-DD HH24:MI:SS.US') AND started_at < TO_TIMESTAMP('2023-05-08 00:00:00.000000', 'YYYY-MM-DD HH24:MI:SS.US') GROUP BY 1
-- plain: SELECT DATE_TRUNC('hour', started_at), COUNT(*) FROM visit WHERE started_at >= TIMESTAMP '2023-05-01' AND started_at < TIMESTAMP '2023-05-08' GROUP BY 1
---
SELECT DATE_TRUNC('week', day) AS __timestamp, kind AS kind, COUNT(*) AS count FROM visit JOIN (SELECT kind AS kind__, COUNT(*) AS mme_inner__ FROM visit WHERE day >= TO_DATE('2023-01-01', 'YYYY-MM-DD') AND day < TO_DATE('2024-01-01', 'YYYY-MM-DD') GROUP BY kind ORDER BY mme_inner__ DESC LIMIT 2) AS anon_1 ON kind = kind__ WHERE day >= TO_DATE('2023-01-01', 'YYYY-MM-DD') AND day < TO_DATE('2024-01-01', 'YYYY-MM-DD') GROUP BY DATE_TRUNC('week', day), kind ORDER BY count DESC LIMIT 10000
-- plain: SELECT DATE_TRUNC('week', day), kind, COUNT(*) FROM visit WHERE kind IN (SELECT kind FROM visit WHERE day >= '2023-01-01' AND day < '2024-01-01' GROUP BY kind ORDER BY COUNT(*) DESC LIMIT 2) AND day >= '2023-01-01' AND day < '2024-01-01' GROUP BY 1, 2
---
SELECT * FROM visit WHERE 1 = 0
---
SELECT * FROM visit WHERE false
---
SELECT * FROM visit LIMIT 0
---
SELECT * FROM (SELECT * FROM public.patient) AS virtual_table WHERE 1 = 0
---
SELECT MIN(started_at), MAX(started_at) FROM visit
---
SELECT date_trunc('month', (started_at::timestamptz AT TIME ZONE 'UTC')) "visit__started_at_month", count("visit".visit_id) "visit__count" FROM public.visit AS "visit" WHERE ("visit".started_at >= '2023-01-01T00:00:00.000Z'::timestamptz AND "visit".started_at <= '2023-12-31T23:59:59.999Z'::timestamptz) GROUP BY 1 ORDER BY 1 ASC LIMIT 10000
-- plain: SELECT date_trunc('month', started_at), count(visit_id) FROM visit WHERE started_at >= '2023-01-01' AND started_at <= '2023-12-31 23:59:59.999' GROUP BY 1
---
SELECT date_trunc('day', ("visit".started_at::timestamptz AT TIME ZONE 'UTC')) "d", count(distinct "visit".patient_id) "n" FROM public.visit AS "visit" WHERE ("visit".started_at >= '2023-01-01T00:00:00Z'::timestamptz AND "visit".started_at < '2023-02-01T00:00:00Z'::timestamptz) GROUP BY 1 ORDER BY 1 ASC LIMIT 10000
-- plain: SELECT date_trunc('day', started_at), count(distinct patient_id) FROM visit WHERE started_at >= '2023-01-01' AND started_at < '2023-02-01' GROUP BY 1
---
SELECT floor(extract(epoch from started_at)/86400)*86400 AS "time", COUNT(*) AS "value" FROM visit WHERE started_at BETWEEN '2023-03-01T00:00:00Z' AND '2023-03-31T00:00:00Z' GROUP BY 1 ORDER BY 1
-- plain: SELECT floor(epoch(started_at)/86400)*86400, COUNT(*) FROM visit WHERE started_at BETWEEN '2023-03-01' AND '2023-03-31' GROUP BY 1
---
SELECT date_bin('1 day', started_at, TIMESTAMP '2023-01-01') AS "time", COUNT(*) FROM visit WHERE started_at >= '2023-03-01T00:00:00Z' AND started_at < '2023-04-01T00:00:00Z' GROUP BY 1
-- plain: SELECT date_trunc('day', started_at), COUNT(*) FROM visit WHERE started_at >= '2023-03-01' AND started_at < '2023-04-01' GROUP BY 1
---
SELECT "public"."visit"."kind" AS "kind", COUNT(*) AS "count" FROM "public"."visit" GROUP BY "public"."visit"."kind" ORDER BY "public"."visit"."kind" ASC
-- plain: SELECT kind, COUNT(*) FROM visit GROUP BY kind
---
SELECT CAST(DATE_TRUNC('month', "public"."visit"."started_at") AS DATE) AS "started_at", SUM("public"."visit"."cost") AS "sum" FROM "public"."visit" WHERE "public"."visit"."started_at" >= DATE_TRUNC('month', TIMESTAMP '2023-06-05') AND "public"."visit"."started_at" < DATE_TRUNC('month', TIMESTAMP '2024-02-05') GROUP BY CAST(DATE_TRUNC('month', "public"."visit"."started_at") AS DATE) ORDER BY 1 ASC
-- plain: SELECT date_trunc('month', started_at), sum(cost) FROM visit WHERE started_at >= '2023-06-01' AND started_at < '2024-02-01' GROUP BY 1
---
SELECT (FLOOR(("patient"."age" / 10.0)) * 10.0) AS "age", COUNT(*) AS "count" FROM "patient" GROUP BY (FLOOR(("patient"."age" / 10.0)) * 10.0) ORDER BY 1 ASC
---
SELECT (CAST(extract(dow from "visit"."started_at") AS integer) + 1) AS "started_at", COUNT(*) AS "count" FROM "visit" GROUP BY (CAST(extract(dow from "visit"."started_at") AS integer) + 1) ORDER BY 1
---
SELECT CAST(extract(hour from "visit"."started_at") AS integer) AS "h", COUNT(*) AS "count" FROM "visit" GROUP BY 1 ORDER BY 1
---
SELECT "visit"."kind" AS "kind", SUM(1) AS "sum:Number of Records:ok" FROM "public"."visit" "visit" GROUP BY 1
-- plain: SELECT kind, COUNT(*) FROM visit GROUP BY 1
---
SELECT DATE_TRUNC( 'MONTH', CAST("visit"."day" AS DATE) ) AS "tmn:day:ok", SUM("visit"."cost") AS "sum:cost:ok" FROM "public"."visit" "visit" GROUP BY 1
-- plain: SELECT date_trunc('month', day), SUM(cost) FROM visit GROUP BY 1
---
SELECT CAST(EXTRACT(YEAR FROM "visit"."day") AS INTEGER) AS "yr:day:ok", CAST(TRUNC(EXTRACT(QUARTER FROM "visit"."day")) AS INTEGER) AS "q", AVG(CAST("visit"."cost" AS DOUBLE PRECISION)) AS "avg:cost:ok" FROM "public"."visit" "visit" GROUP BY 1, 2
-- plain: SELECT year(day), quarter(day), AVG(cost) FROM visit GROUP BY 1, 2
---
select "$Table"."kind" as "kind", count(*) as "a0" from "public"."visit" "$Table" group by "kind" limit 1000001
-- plain: SELECT kind, COUNT(*) FROM visit GROUP BY 1
---
select "rows"."area" as "area", sum("rows"."salary") as "a0" from ( select "_"."area", "_"."salary" from "public"."patient" "_" where "_"."area" in ('north', 'south') ) "rows" group by "area" limit 1000001
-- plain: SELECT area, SUM(salary) FROM patient WHERE area IN ('north', 'south') GROUP BY 1
---
SELECT kind, COUNT(*) FROM visit GROUP BY kind LIMIT ALL
---
SELECT kind, COUNT(*) FROM visit GROUP BY kind ORDER BY kind LIMIT NULL
---
SELECT kind, COUNT(*) FROM visit GROUP BY kind ORDER BY kind FETCH FIRST 2 ROWS ONLY
---
SELECT kind, COUNT(*) FROM visit WHERE kind = ANY(ARRAY['test', 'surgery']) GROUP BY kind
---
SELECT kind, COUNT(*) FROM visit WHERE kind = ANY('{test,surgery}') GROUP BY kind
-- plain: SELECT kind, COUNT(*) FROM visit WHERE kind IN ('test', 'surgery') GROUP BY kind
---
SELECT kind, COUNT(*) FROM visit WHERE kind <> ALL(ARRAY['test', 'surgery']) GROUP BY kind
-- plain: SELECT kind, COUNT(*) FROM visit WHERE kind NOT IN ('test', 'surgery') GROUP BY kind
---
SELECT COUNT(*) FROM visit WHERE visit_id = ANY('{1,2,3}'::int[])
-- plain: SELECT COUNT(*) FROM visit WHERE visit_id IN (1, 2, 3)
---
SELECT to_char(day, 'YYYY-MM') AS month, COUNT(*) FROM visit GROUP BY to_char(day, 'YYYY-MM') ORDER BY 1
-- plain: SELECT strftime(day, '%Y-%m'), COUNT(*) FROM visit GROUP BY 1
---
SELECT to_char(started_at, 'YYYY-MM-DD HH24:MI') AS m, COUNT(*) FROM visit WHERE started_at < '2023-01-02' GROUP BY 1
-- plain: SELECT strftime(started_at, '%Y-%m-%d %H:%M'), COUNT(*) FROM visit WHERE started_at < '2023-01-02' GROUP BY 1
---
SELECT "salary-class", COUNT(*) FROM patient GROUP BY "salary-class"
---
SELECT virtual_table.area, COUNT(*) AS n FROM (SELECT * FROM patient WHERE smoker IS TRUE) AS virtual_table GROUP BY virtual_table.area ORDER BY n DESC LIMIT 100
---
SELECT started_at::date AS day, COUNT(*) FROM visit WHERE started_at::date >= '2024-01-01' GROUP BY started_at::date ORDER BY 1
---
SELECT AVG(EXTRACT(EPOCH FROM (ended_at - started_at)) / 60) FROM visit
-- plain: SELECT AVG(epoch(ended_at - started_at) / 60) FROM visit
---
SELECT COUNT(*) FROM visit WHERE ended_at - started_at > INTERVAL '1 day'
---
SELECT COUNT(*) FROM visit WHERE started_at >= '2024-01-01 +00' AND started_at < '2024-02-01 00:00:00+00'
-- plain: SELECT COUNT(*) FROM visit WHERE started_at >= '2024-01-01' AND started_at < '2024-02-01'
---
SELECT DATE_TRUNC('hour', started_at) + INTERVAL '15 minutes' * FLOOR(EXTRACT(MINUTE FROM started_at) / 15) AS __timestamp, COUNT(*) AS count FROM public.visit WHERE started_at >= TO_TIMESTAMP('2024-03-01 00:00:00.000000', 'YYYY-MM-DD HH24:MI:SS.US') AND started_at < TO_TIMESTAMP('2024-03-03 00:00:00.000000', 'YYYY-MM-DD HH24:MI:SS.US') GROUP BY DATE_TRUNC('hour', started_at) + INTERVAL '15 minutes' * FLOOR(EXTRACT(MINUTE FROM started_at) / 15) ORDER BY count DESC LIMIT 1000
-- plain: SELECT time_bucket(INTERVAL '15 minutes', started_at), COUNT(*) FROM visit WHERE started_at >= '2024-03-01' AND started_at < '2024-03-03' GROUP BY 1
---
SELECT DATE_TRUNC('minute', started_at) + INTERVAL '30 seconds' * FLOOR(EXTRACT(SECOND FROM started_at) / 30) AS __timestamp, COUNT(*) AS count FROM public.visit WHERE started_at >= '2024-03-01 10:00:00' AND started_at < '2024-03-01 18:00:00' GROUP BY DATE_TRUNC('minute', started_at) + INTERVAL '30 seconds' * FLOOR(EXTRACT(SECOND FROM started_at) / 30)
-- plain: SELECT time_bucket(INTERVAL '30 seconds', started_at), COUNT(*) FROM visit WHERE started_at >= '2024-03-01 10:00:00' AND started_at < '2024-03-01 18:00:00' GROUP BY 1
---
SELECT area, VARIANCE(DISTINCT age), STDDEV(DISTINCT age), COUNT(*) AS n FROM patient GROUP BY area HAVING n > 1 ORDER BY n / 2 DESC
---
WITH i AS (SELECT area, title FROM area_info), a AS (SELECT title, COUNT(*) AS n FROM patient JOIN i USING (area) GROUP BY title), b AS (SELECT title, COUNT(*) AS n FROM visit JOIN patient ON patient_id = id JOIN i USING (area) GROUP BY title) SELECT a.title, a.n, b.n FROM a JOIN b USING (title) ORDER BY 1
---
SELECT SUM(n) FROM (SELECT kind, COUNT(*) AS n FROM visit GROUP BY kind)
