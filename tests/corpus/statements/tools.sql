SELECT DATE_TRUNC('quarter', day) AS day, kind AS kind, sum(cost) AS "SUM(cost)" FROM public.visit GROUP BY DATE_TRUNC('quarter', day), kind ORDER BY "SUM(cost)" DESC LIMIT 10000
---
SELECT kind AS kind, COUNT(DISTINCT patient_id) AS "COUNT_DISTINCT(patient_id)", AVG(cost) AS "AVG(cost)" FROM public.visit WHERE kind NOT IN ('test') AND cost >= 10 GROUP BY kind ORDER BY "COUNT_DISTINCT(patient_id)" DESC LIMIT 50
---
SELECT area AS area, sum(CASE WHEN smoker THEN 1 ELSE 0 END) * 1.0 / NULLIF(COUNT(*), 0) AS "smoking rate" FROM patient GROUP BY area ORDER BY "smoking rate" DESC LIMIT 100
---
SELECT sum(cost) AS "SUM(cost)", COUNT(*) AS count FROM (SELECT v.*, p.area, p.age FROM visit v JOIN patient p ON p.id = v.patient_id) AS virtual_table WHERE area IN ('north', 'south') LIMIT 50000
---
SELECT area AS area, sex AS sex, COUNT(*) AS count FROM (SELECT area, sex, age FROM patient WHERE age BETWEEN 18 AND 65) AS virtual_table WHERE sex IS NOT NULL GROUP BY area, sex ORDER BY count DESC LIMIT 10000 OFFSET 0
---
SELECT DATE_TRUNC('month', started_at) AS __timestamp, kind AS kind, COUNT(*) AS count FROM public.visit JOIN (SELECT kind AS kind__, COUNT(*) AS mme_inner__ FROM public.visit WHERE started_at >= '2023-01-01' GROUP BY kind ORDER BY mme_inner__ DESC LIMIT 2) AS series_limit ON kind = kind__ WHERE started_at >= '2023-01-01 00:00:00.000000' GROUP BY DATE_TRUNC('month', started_at), kind ORDER BY count DESC LIMIT 50000
---
SELECT floor(age / 10) * 10 AS "age bin", COUNT(*) AS "COUNT(*)" FROM patient GROUP BY floor(age / 10) * 10 ORDER BY 1
---
SELECT CAST(DATE_TRUNC('month', CAST("public"."visit"."started_at" AS timestamp)) AS date) AS "started_at", SUM("public"."visit"."cost") AS "sum" FROM "public"."visit" WHERE ("public"."visit"."started_at" >= timestamp '2023-03-01 00:00:00.000') AND ("public"."visit"."started_at" < timestamp '2023-09-01 00:00:00.000') GROUP BY CAST(DATE_TRUNC('month', CAST("public"."visit"."started_at" AS timestamp)) AS date) ORDER BY CAST(DATE_TRUNC('month', CAST("public"."visit"."started_at" AS timestamp)) AS date) ASC
---
SELECT FLOOR(("public"."patient"."age" - 0.0) / 12.5) * 12.5 + 0.0 AS "age", COUNT(*) AS "count" FROM "public"."patient" GROUP BY FLOOR(("public"."patient"."age" - 0.0) / 12.5) * 12.5 + 0.0 ORDER BY FLOOR(("public"."patient"."age" - 0.0) / 12.5) * 12.5 + 0.0 ASC
---
SELECT "source"."area" AS "area", "source"."count" AS "count" FROM (SELECT "public"."patient"."area" AS "area", COUNT(*) AS "count" FROM "public"."patient" GROUP BY "public"."patient"."area") AS "source" WHERE "source"."count" > 20 LIMIT 1048575
---
SELECT EXTRACT(DOW FROM "public"."visit"."started_at") + 1 AS "dow", COUNT(*) AS "count", AVG("public"."visit"."cost") AS "avg" FROM "public"."visit" GROUP BY EXTRACT(DOW FROM "public"."visit"."started_at") + 1 ORDER BY 1 ASC
---
SELECT "Patient"."sex" AS "Patient__sex", COUNT(DISTINCT "public"."visit"."patient_id") AS "count" FROM "public"."visit" LEFT JOIN "public"."patient" AS "Patient" ON "public"."visit"."patient_id" = "Patient"."id" WHERE (LOWER("public"."visit"."kind") LIKE '%check%') GROUP BY "Patient"."sex" ORDER BY "Patient"."sex" ASC
---
SELECT SUM(CASE WHEN "public"."visit"."cost" > 500 THEN 1 ELSE 0.0 END) / COUNT(*) AS "share" FROM "public"."visit"
---
SELECT CAST("public"."visit"."started_at" AS date) AS "d", COUNT(*) FROM "public"."visit" WHERE "public"."visit"."started_at" >= CAST('2023-02-01' AS date) AND "public"."visit"."started_at" < (CAST('2023-02-01' AS date) + INTERVAL '14 day') GROUP BY 1 ORDER BY 1
---
SELECT "visit".kind "visit__kind", date_trunc('month', ("visit".started_at::timestamptz AT TIME ZONE 'UTC')) "visit__started_at_month", count("visit".visit_id) "visit__count" FROM public.visit AS "visit" WHERE ("visit".started_at >= '2023-01-01T00:00:00.000Z'::timestamptz AND "visit".started_at <= '2023-12-31T23:59:59.999Z'::timestamptz) GROUP BY 1, 2 ORDER BY 2 ASC LIMIT 10000
---
SELECT count(distinct CASE WHEN ("patient".age > 40) THEN "patient".id END) "patient__older", avg("patient".salary) "patient__avg" FROM public.patient AS "patient" LIMIT 10000
---
SELECT q_0."visit__kind", "visit__total" "visit__total", "visit__n" "visit__n" FROM (SELECT "main__visit".kind "visit__kind", sum("main__visit".cost) "visit__total", count(*) "visit__n" FROM public.visit AS "main__visit" WHERE ("main__visit".kind = 'surgery' OR "main__visit".kind = 'test') GROUP BY 1) as q_0 ORDER BY 2 DESC LIMIT 10000
---
SELECT CASE WHEN "patient".age < 18 THEN 'minor' WHEN "patient".age < 65 THEN 'adult' ELSE 'senior' END "patient__group", count("patient".id) "patient__count", sum(count("patient".id)) over () "patient__all" FROM public.patient AS "patient" GROUP BY 1 ORDER BY 2 DESC LIMIT 10000
---
SELECT patient.area AS "patient.area", COALESCE(SUM(visit.cost), 0) AS "visit.total_cost", COUNT(DISTINCT patient.id) AS "patient.count" FROM public.visit AS visit LEFT JOIN public.patient AS patient ON visit.patient_id = patient.id GROUP BY 1 HAVING COALESCE(SUM(visit.cost), 0) > 1000 ORDER BY 2 DESC FETCH NEXT 500 ROWS ONLY
---
SELECT (DATE(visit.started_at)) AS "visit.started_date", COUNT(*) AS c FROM visit WHERE visit.started_at >= TIMESTAMP '2023-06-01' AND visit.started_at < TIMESTAMP '2023-06-20' GROUP BY 1 ORDER BY 1 DESC
---
SELECT CASE WHEN patient.smoker THEN 'Yes' ELSE 'No' END AS "patient.smokes", AVG(patient.age) AS "a", STDDEV(patient.age) AS "s" FROM patient GROUP BY 1 ORDER BY 1
---
SELECT floor(extract(epoch from started_at)/86400)*86400 AS "time", count(*) AS value FROM visit WHERE started_at BETWEEN '2023-04-01T00:00:00Z' AND '2023-04-30T23:59:59Z' GROUP BY 1 ORDER BY 1
---
SELECT extract(epoch from date_trunc('month', started_at)) * 1000 AS "time", sum(cost) AS total FROM visit WHERE extract(epoch from started_at) >= 1672531200 AND extract(epoch from started_at) <= 1688169600 GROUP BY 1 ORDER BY 1
---
SELECT DISTINCT kind AS __text, kind AS __value FROM visit ORDER BY 1
---
SELECT to_timestamp(floor((extract('epoch' from started_at) / 604800 )) * 604800) AT TIME ZONE 'UTC' as interval_alias, count(*) FROM visit WHERE started_at < '2023-03-01' GROUP BY interval_alias ORDER BY interval_alias
---
SELECT "visit"."kind" AS "kind", SUM("visit"."cost") AS "sum:cost:ok", (CAST(EXTRACT(YEAR FROM "visit"."started_at") AS INTEGER)) AS "yr:started_at:ok" FROM "public"."visit" "visit" GROUP BY 1, 3
---
SELECT "t0"."area" AS "area", SUM("t0"."x_measure__1") AS "sum" FROM (SELECT "p"."area" AS "area", "v"."patient_id" AS "pid", SUM("v"."cost") AS "x_measure__1" FROM "public"."visit" "v" INNER JOIN "public"."patient" "p" ON ("v"."patient_id" = "p"."id") GROUP BY 1, 2) "t0" GROUP BY 1
---
SELECT (CAST(TRUNC((CAST(EXTRACT(QUARTER FROM "visit"."started_at") AS INTEGER))) AS INTEGER)) AS "qr", COUNT(1) AS "cnt" FROM "public"."visit" "visit" WHERE ((NOT ("visit"."started_at" IS NULL)) AND (CAST(EXTRACT(YEAR FROM "visit"."started_at") AS INTEGER) = 2023)) GROUP BY 1
---
SELECT DATE_TRUNC( 'MONTH', CAST("visit"."started_at" AS DATE) ) AS "tmn", AVG(CAST("visit"."cost" AS DOUBLE PRECISION)) AS "avg" FROM "visit" GROUP BY 1
---
select "_"."area" as "c1", count(*) as "a0" from (select "area", "sex" from "public"."patient" "$Table" where "sex" = 'f' and "sex" is not null) "_" group by "_"."area" limit 1000001
---
SELECT visit.kind, count(visit.visit_id) AS count_1 FROM visit JOIN patient ON patient.id = visit.patient_id WHERE patient.age >= 40 AND visit.kind IN ('test', 'surgery') GROUP BY visit.kind HAVING count(visit.visit_id) > 5 ORDER BY count_1 DESC LIMIT 10
---
SELECT anon_1.kind, anon_1.total, rank() OVER (ORDER BY anon_1.total DESC) AS rnk FROM (SELECT visit.kind AS kind, sum(visit.cost) AS total FROM visit GROUP BY visit.kind) AS anon_1
---
SELECT count(*) AS count_1 FROM (SELECT patient.id AS patient_id, patient.name AS patient_name FROM patient WHERE patient.smoker IS true) AS anon_1
---
SELECT EXISTS (SELECT 1 FROM visit WHERE visit.cost > 100000) AS anon_1
---
SELECT coalesce(sum(visit.cost), 0) AS coalesce_1 FROM visit WHERE visit.day = '2023-05-05'
---
SELECT CAST(patient.admitted AS DATE) AS d, count(*) FROM patient WHERE patient.admitted BETWEEN '2023-01-01' AND '2023-01-31' GROUP BY CAST(patient.admitted AS DATE)
---
SELECT patient.sex, count(*) FILTER (WHERE patient.age < 30) AS young, count(*) FILTER (WHERE patient.age >= 30) AS old FROM patient GROUP BY patient.sex ORDER BY patient.sex NULLS LAST
---
SELECT extract(year FROM patient.born) / 10 * 10 AS decade, count(*) FROM patient GROUP BY decade ORDER BY decade
---
SELECT "visit"."kind", COUNT("visit"."visit_id") AS "n" FROM "visit" WHERE ("visit"."started_at" AT TIME ZONE 'UTC')::date = '2023-05-05'::date GROUP BY "visit"."kind"
---
SELECT COUNT(*) AS "__count" FROM "patient" WHERE UPPER("patient"."name"::text) LIKE UPPER('ana%')
---
SELECT COUNT(*) FROM (SELECT DISTINCT "visit"."patient_id" AS "col1" FROM "visit" WHERE "visit"."kind" = 'test') subquery
---
SELECT "visit"."kind", SUM(CASE WHEN "visit"."cost" > '100' THEN 1 ELSE NULL END) AS "dear" FROM "visit" GROUP BY "visit"."kind" HAVING COUNT("visit"."visit_id") > 1 ORDER BY "visit"."kind" ASC
---
SELECT COUNT(*) AS "__count" FROM "patient" WHERE EXISTS(SELECT 1 AS "a" FROM "visit" U0 WHERE (U0."kind" = 'emergency' AND U0."patient_id" = ("patient"."id")) LIMIT 1)
---
SELECT COUNT(*) FROM "patient" WHERE NOT (EXISTS(SELECT 1 AS "a" FROM "visit" U1 WHERE (U1."cost" > 500 AND U1."patient_id" = ("patient"."id")) LIMIT 1))
---
SELECT "area", COUNT(*) AS "n" FROM "patient" GROUP BY "area" ORDER BY "n" DESC
---
SELECT "kind", AVG("cost") AS "m", SUM("cost") AS "s" FROM (SELECT "visit".*, CASE WHEN ("cost" > 500.0) THEN 'high' WHEN NOT ("cost" > 500.0) THEN 'low' END AS "level" FROM "visit") AS "q01" WHERE ("level" = 'high') GROUP BY "kind"
---
SELECT "LHS"."kind" AS "kind", COUNT(*) AS "n" FROM "visit" AS "LHS" INNER JOIN "patient" ON ("LHS"."patient_id" = "patient"."id") WHERE ("sex" = 'f') GROUP BY "LHS"."kind"
---
SELECT "sex", "n", "n" / SUM("n") OVER () AS "prop" FROM (SELECT "sex", COUNT(*) AS "n" FROM "patient" GROUP BY "sex") AS "q01"
---
SELECT *, ROUND((100.0 * "n") / SUM("n") OVER (PARTITION BY "area"), 1) AS "pct" FROM (SELECT "area", "sex", COUNT(*) AS "n" FROM "patient" GROUP BY "area", "sex") AS "q01" ORDER BY 1, 2
---
SELECT "age_group", COUNT(*) AS "n" FROM (SELECT *, (FLOOR("age" / 20.0)) * 20.0 AS "age_group" FROM "patient") AS "q01" GROUP BY "age_group"
---
SELECT COUNT(*) AS "n" FROM (SELECT "patient".* FROM "patient" WHERE NOT EXISTS (SELECT 1 FROM "visit" WHERE ("patient"."id" = "visit"."patient_id"))) AS "q01"
---
WITH monthly AS (SELECT date_trunc('month', day)::date AS month, kind, count(*) AS n FROM visit GROUP BY 1, 2) SELECT month, max(n) FILTER (WHERE kind = 'test') AS test, max(n) FILTER (WHERE kind = 'surgery') AS surgery FROM monthly GROUP BY month ORDER BY month
---
SELECT area, count(*) n, round(100.0 * count(*) / sum(count(*)) OVER (), 2) AS pct FROM patient GROUP BY area ORDER BY n DESC
---
SELECT date_trunc('month', day) AS m, count(*) AS n, count(*) - lag(count(*)) OVER (ORDER BY date_trunc('month', day)) AS change FROM visit GROUP BY 1 ORDER BY 1
---
WITH m AS (SELECT date_trunc('month', day) AS m, sum(cost) AS c FROM visit GROUP BY 1) SELECT m, c, avg(c) OVER (ORDER BY m ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) AS ma3 FROM m ORDER BY m
---
WITH first AS (SELECT patient_id, min(day) AS d FROM visit GROUP BY patient_id) SELECT date_trunc('month', d) AS cohort, count(*) FROM first GROUP BY 1 ORDER BY 1
---
WITH first AS (SELECT patient_id, date_trunc('quarter', min(day)) AS cohort FROM visit GROUP BY patient_id) SELECT f.cohort, date_trunc('quarter', v.day) AS q, count(DISTINCT v.patient_id) AS people FROM visit v JOIN first f USING (patient_id) GROUP BY 1, 2 ORDER BY 1, 2
---
SELECT visits, count(*) AS people FROM (SELECT p.id, count(v.visit_id) AS visits FROM patient p LEFT JOIN visit v ON v.patient_id = p.id GROUP BY p.id) t GROUP BY visits ORDER BY visits
---
SELECT corr(age, salary), regr_slope(salary, age), regr_intercept(salary, age) FROM patient
---
SELECT kind, stddev_pop(cost), var_samp(cost) FROM visit GROUP BY kind
---
SELECT a.title, count(*) * 1000.0 / a.inhabitants AS per_thousand FROM patient p JOIN area_info a ON a.area = p.area GROUP BY a.title, a.inhabitants
---
SELECT extract(hour FROM started_at) AS h, count(*) FROM visit GROUP BY h ORDER BY h
---
SELECT date_part('isodow', started_at) AS d, count(*) FROM visit GROUP BY d ORDER BY d
---
SELECT avg(extract(epoch FROM (ended_at - started_at)) / 3600) AS hours FROM visit
---
SELECT kind, avg(date_part('day', ended_at - started_at)) AS days FROM visit GROUP BY kind
---
SELECT count(*) FROM patient WHERE admitted >= date '2024-01-01' - interval '3 months' AND admitted < date '2024-01-01'
---
SELECT count(*) FROM patient WHERE extract(year FROM age(date '2024-06-30', born)) >= 65
---
SELECT (current_date - current_date) AS zero, count(*) FROM patient
---
SELECT split_part(name, ' ', 1) AS first_name, count(*) FROM patient GROUP BY 1 ORDER BY 2 DESC
---
SELECT left(name, 1) AS initial, count(*) FROM patient GROUP BY 1
---
SELECT count(*) FROM visit WHERE note ~* '^(follow|blood)'
---
SELECT count(*) FROM visit WHERE note ILIKE '%TEST%' OR note LIKE 'x-ray%'
---
SELECT coalesce(nullif(note, ''), '(none)') AS note, count(*) FROM visit GROUP BY 1 ORDER BY 2 DESC
---
SELECT kind, string_agg(area, ',' ORDER BY area) FROM (SELECT v.kind, p.area, count(*) n FROM visit v JOIN patient p ON p.id = v.patient_id GROUP BY 1, 2) t WHERE n > 0.5 GROUP BY kind
---
SELECT area, sex, count(*) FROM patient GROUP BY GROUPING SETS ((area), (sex), ()) ORDER BY 1, 2
---
SELECT coalesce(area, 'all') AS area, count(*) FROM patient GROUP BY ROLLUP (area)
---
SELECT area, count(*) FROM patient GROUP BY area UNION ALL SELECT 'total', count(*) FROM patient
---
SELECT x.area, x.n, y.n AS visits FROM (SELECT area, count(*) n FROM patient GROUP BY area) x JOIN (SELECT p.area, count(*) n FROM visit v JOIN patient p ON p.id = v.patient_id GROUP BY p.area) y USING (area) ORDER BY 1
---
SELECT area, (SELECT count(*) FROM patient p2 WHERE p2.area = a.area) AS n FROM area_info a ORDER BY 1
---
SELECT a.area, coalesce(t.n, 0) FROM area_info a LEFT JOIN (SELECT area, count(*) AS n FROM patient WHERE age > 50 GROUP BY area) t ON t.area = a.area ORDER BY 1
---
SELECT d::date AS day, coalesce(n, 0) AS n FROM generate_series(date '2023-01-01', date '2023-01-31', interval '1 day') d LEFT JOIN (SELECT day, count(*) AS n FROM visit GROUP BY day) v ON v.day = d::date ORDER BY 1
---
-- loose
SELECT count(*) FROM visit WHERE cost > (SELECT avg(cost) FROM visit)
---
SELECT kind, count(*) FROM visit GROUP BY kind HAVING count(*) > (SELECT count(*) / 5 FROM visit)
---
SELECT DISTINCT ON (area) area, sex, n FROM (SELECT area, sex, count(*) n FROM patient GROUP BY area, sex) t ORDER BY area, n DESC
---
SELECT area, sex, n FROM (SELECT area, sex, count(*) n, row_number() OVER (PARTITION BY area ORDER BY count(*) DESC) rn FROM patient GROUP BY area, sex) t WHERE rn = 1
---
SELECT l_returnflag, l_linestatus, sum(l_quantity) AS sum_qty, sum(l_extendedprice * (1 - l_discount)) AS disc, sum(l_extendedprice * (1 - l_discount) * (1 + l_tax)) AS charge, avg(l_discount), count(*) FROM lineitem WHERE l_shipdate <= date '1998-12-01' - interval '60' day GROUP BY 1, 2 ORDER BY 1, 2
---
SELECT n_name, sum(l_extendedprice * (1 - l_discount)) AS revenue FROM customer, orders, lineitem, nation, region WHERE c_custkey = o_custkey AND l_orderkey = o_orderkey AND c_nationkey = n_nationkey AND n_regionkey = r_regionkey AND r_name = 'EUROPE' GROUP BY n_name ORDER BY revenue DESC
---
SELECT extract(year FROM o_orderdate) AS y, sum(CASE WHEN n_name = 'FRANCE' THEN l_extendedprice ELSE 0 END) / sum(l_extendedprice) AS share FROM lineitem JOIN orders ON l_orderkey = o_orderkey JOIN customer ON o_custkey = c_custkey JOIN nation ON c_nationkey = n_nationkey GROUP BY y ORDER BY y
---
SELECT p_brand, count(*), sum(l_quantity) FROM lineitem JOIN part ON p_partkey = l_partkey WHERE p_container IN ('SM CASE', 'LG BOX') GROUP BY p_brand ORDER BY 2 DESC, 1
---
SELECT c_mktsegment, count(DISTINCT o_orderkey) FROM customer JOIN orders ON c_custkey = o_custkey GROUP BY 1
---
SELECT o_orderpriority, count(*) FROM orders WHERE EXISTS (SELECT * FROM lineitem WHERE l_orderkey = o_orderkey AND l_commitdate < l_receiptdate) GROUP BY o_orderpriority ORDER BY 1
---
SELECT sum(l_extendedprice) / 7.0 AS avg_yearly FROM lineitem, part WHERE p_partkey = l_partkey AND p_brand = 'Brand#12' AND l_quantity < 20
---
SELECT c_count, count(*) AS custdist FROM (SELECT c_custkey, count(o_orderkey) FROM customer LEFT OUTER JOIN orders ON c_custkey = o_custkey AND o_comment NOT LIKE '%special%requests%' GROUP BY c_custkey) AS c_orders (c_custkey, c_count) GROUP BY c_count ORDER BY custdist DESC, c_count DESC
---
SELECT n_name, s_name, max(s_acctbal) FROM supplier JOIN nation ON s_nationkey = n_nationkey GROUP BY GROUPING SETS ((n_name), (n_name, s_name)) ORDER BY 1, 2
---
SELECT p_type, array_agg(p_partkey ORDER BY p_partkey) FROM part GROUP BY p_type ORDER BY 1
---
SELECT s_name, s_acctbal, lag(s_acctbal) OVER w AS prev, first_value(s_name) OVER w FROM supplier WINDOW w AS (ORDER BY s_acctbal DESC) ORDER BY s_acctbal DESC FETCH FIRST 3 ROWS ONLY
---
SELECT p_container, percentile_cont(0.5) WITHIN GROUP (ORDER BY p_retailprice) FROM part GROUP BY p_container ORDER BY 1
---
SELECT s.s_name, t.ps_partkey FROM supplier s CROSS JOIN LATERAL (SELECT ps_partkey FROM partsupp WHERE ps_suppkey = s.s_suppkey ORDER BY ps_supplycost LIMIT 2) t ORDER BY 1, 2
---
WITH RECURSIVE r AS (SELECT n_nationkey, n_name, 1 AS depth FROM nation WHERE n_nationkey = 0 UNION ALL SELECT n.n_nationkey, n.n_name, depth + 1 FROM nation n JOIN r ON n.n_nationkey = r.n_nationkey + 1) SELECT depth, n_name FROM r ORDER BY depth
---
WITH ss AS (SELECT o_custkey, sum(l_extendedprice) AS spend FROM orders JOIN lineitem ON l_orderkey = o_orderkey GROUP BY o_custkey) SELECT CASE WHEN spend < 100000 THEN 'low' WHEN spend < 300000 THEN 'mid' ELSE 'high' END AS tier, count(*), avg(spend) FROM ss GROUP BY 1 ORDER BY 1
---
SELECT * FROM (SELECT l_shipmode, sum(l_quantity) AS q, rank() OVER (ORDER BY sum(l_quantity) DESC) AS rk FROM lineitem GROUP BY l_shipmode) t WHERE rk <= 3 ORDER BY rk
---
SELECT sum(CASE WHEN (l_receiptdate - l_shipdate <= 10) THEN 1 ELSE 0 END) AS "10 days", sum(CASE WHEN (l_receiptdate - l_shipdate > 10) AND (l_receiptdate - l_shipdate <= 20) THEN 1 ELSE 0 END) AS "11-20 days", sum(CASE WHEN (l_receiptdate - l_shipdate > 20) THEN 1 ELSE 0 END) AS ">20 days" FROM lineitem
---
SELECT count(*) FROM ((SELECT DISTINCT o_custkey FROM orders WHERE o_orderdate < '1995-01-01') INTERSECT (SELECT DISTINCT o_custkey FROM orders WHERE o_orderdate >= '1995-01-01')) AS hot
---
SELECT count(*) FROM (SELECT o_custkey FROM orders WHERE o_orderpriority = '1-URGENT' EXCEPT SELECT o_custkey FROM orders WHERE o_orderpriority = '5-LOW') x
---
SELECT * FROM (SELECT count(*) AS h8 FROM visit WHERE extract(hour FROM started_at) = 8) s1, (SELECT count(*) AS h9 FROM visit WHERE extract(hour FROM started_at) = 9) s2
---
SELECT "RegionID", COUNT(DISTINCT "UserID") AS u FROM hits GROUP BY "RegionID" ORDER BY u DESC LIMIT 10
---
SELECT extract(minute FROM "EventTime") AS m, COUNT(*) FROM hits GROUP BY m ORDER BY m
---
SELECT REGEXP_REPLACE("Referer", '^https?://(?:www\.)?([^/]+)/.*$', '\1') AS k, AVG(length("Referer")) AS l, COUNT(*) AS c FROM hits WHERE "Referer" <> '' GROUP BY k ORDER BY l DESC LIMIT 25
---
SELECT SUM("ResolutionWidth"), SUM("ResolutionWidth" + 1), SUM("ResolutionWidth" + 2) FROM hits
---
-- loose
SELECT "TraficSourceID", "SearchEngineID", CASE WHEN ("SearchEngineID" = 0 AND "AdvEngineID" = 0) THEN "Referer" ELSE '' END AS src, COUNT(*) AS pv FROM hits GROUP BY 1, 2, 3 ORDER BY pv DESC LIMIT 5
---
SELECT 1, "URL", COUNT(*) AS c FROM hits GROUP BY 1, "URL" ORDER BY c DESC LIMIT 10
---
SELECT "ClientIP", "ClientIP" - 1, "ClientIP" - 2, COUNT(*) AS c FROM hits GROUP BY "ClientIP", "ClientIP" - 1, "ClientIP" - 2 ORDER BY c DESC LIMIT 10
---
SELECT 2^10, 10!=9, 'a'||1, 'abc' LIKE '_b%'
---
SELECT '2024-02-29'::date + interval '1 year', date '2024-03-31' - interval '1 month'
---
SELECT round(2.5), round(2.5::float8), round(-2.5), trunc(2.567, 2), 10::numeric/3
---
SELECT greatest(1, null, 3), coalesce(null, 'x'), nullif(1, 1), 'A' < 'a'
---
SELECT * FROM (VALUES (1, 'a'), (2, 'b')) AS t(id, x)
---
SELECT count(*), sum(x), avg(x) FROM generate_series(1, 10) x
---
SELECT sum(extract(day FROM born) / 7) FROM patient
---
SELECT avg(extract(month FROM born)) / 2, sum(extract(month FROM born)) / 7 FROM patient
---
SELECT date_part('month', born) / 2 AS k, count(*) FROM patient GROUP BY 1
---
SELECT sum(ceil(salary) / 3), sum(power(age, 2) / 7), sum(sign(age - 50) / 2) FROM patient
---
SELECT extract(month FROM m) / 5 AS k, n FROM (SELECT date_trunc('month', day) AS m, count(*) AS n FROM visit GROUP BY 1) t
---
SELECT k / 5 AS k, n FROM (SELECT extract(month FROM day) AS k, count(*) AS n FROM visit GROUP BY 1) t
---
SELECT (CASE WHEN extract(month FROM born) > 6 THEN extract(month FROM born) ELSE 1 END) / 4 AS k, count(*) FROM patient GROUP BY 1
---
SELECT coalesce(extract(month FROM born), 0) / 4 + 1 AS k, count(*) FROM patient GROUP BY 1
---
SELECT (extract(year FROM born) - 1900) / 10 AS k, count(*) FROM patient GROUP BY 1
---
SELECT floor((extract(year FROM born) - 1900) / 10) AS k, count(*) FROM patient GROUP BY 1
---
SELECT count(*) FROM patient WHERE extract(month FROM born) / 4 > 2.5
---
SELECT extract(year FROM age(date '2024-06-30', born)) / 10 AS k, count(*) FROM patient GROUP BY 1
---
SELECT extract(epoch FROM (ended_at - started_at)) / 86400 > 1 AS k, count(*) FROM visit GROUP BY 1
---
SELECT a.inhabitants / 3 AS k, count(*) FROM patient p JOIN area_info a ON a.area = p.area GROUP BY 1
---
SELECT extract(month FROM born) % 5 AS k, count(*) FROM patient GROUP BY 1
---
SELECT count(*) FROM visit WHERE started_at < ended_at - interval '1 day 02:30:00'
---
SELECT count(*) FROM visit WHERE ended_at - started_at > interval '1 day 02:30:00'
---
SELECT count(*) FROM visit WHERE ended_at > started_at + '1 day 02:30'::interval
---
SELECT count(*) FROM visit WHERE note LIKE '%' || 'test' || '%'
---
SELECT count(*) FROM visit WHERE lower(note) LIKE lower('%TEST%')
---
SELECT count(*) FROM visit WHERE note LIKE concat('%', 'test')
---
SELECT count(*) FROM visit WHERE note LIKE '%test%'::text
---
SELECT count(*) FROM patient WHERE name ~* ('^' || 'ana')
---
SELECT count(*) FROM visit WHERE started_at > timestamp '2023-06-01' + 3 * interval '1 month'
---
SELECT count(*) FROM visit WHERE started_at + (30 * interval '1 day') > timestamp '2024-06-01'
---
SELECT count(*) FROM visit WHERE day + 30 > date '2024-06-01' AND day - interval '2 weeks' < '2024-06-01'
---
-- loose
WITH RECURSIVE counts AS (SELECT date_trunc('month', day)::date AS m, count(*) AS n FROM visit GROUP BY 1), chain AS (SELECT m, n, n AS total FROM counts WHERE m = '2023-01-01' UNION ALL SELECT c.m, c.n, chain.total + c.n FROM chain JOIN counts c ON c.m = (chain.m + interval '1 month')::date) SELECT m, total FROM chain ORDER BY m
---
-- plain: WITH RECURSIVE s AS (SELECT count(*) AS n FROM patient), h AS (SELECT n, 0 AS step FROM s UNION ALL SELECT n // 2, step + 1 FROM h WHERE n > 1) SELECT step, n FROM h ORDER BY step
WITH RECURSIVE s AS (SELECT count(*) AS n FROM patient), h AS (SELECT n, 0 AS step FROM s UNION ALL SELECT n / 2, step + 1 FROM h WHERE n > 1) SELECT step, n FROM h ORDER BY step
---
-- plain: SELECT true
SELECT json_agg(r_name) IS NOT NULL FROM region
---
SELECT floor(age / 7.0) / 2 AS k, count(*) FROM patient GROUP BY 1
---
SELECT avg(cost) * interval '1 hour' FROM visit
---
SELECT kind, avg(age(ended_at, started_at)) FROM visit GROUP BY kind
---
SELECT min(ended_at - started_at), max(ended_at - started_at) FROM visit
