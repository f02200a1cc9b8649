WITH RECURSIVE m AS (SELECT MIN(n) AS n FROM (SELECT area, COUNT(*) AS n FROM patient GROUP BY area) t UNION ALL SELECT n + 1 FROM m WHERE n < 27) SELECT n FROM m ORDER BY n
---
WITH RECURSIVE totals AS (SELECT EXTRACT(YEAR FROM day)::int AS y, SUM(cost) AS s FROM visit GROUP BY 1), walk(y, s) AS (SELECT y, s FROM totals WHERE y = 2023 UNION ALL SELECT t.y, w.s + t.s FROM walk w JOIN totals t ON t.y = w.y + 1) SELECT y, s FROM walk ORDER BY y
---
WITH RECURSIVE c(n) AS (SELECT COUNT(*) FROM patient WHERE area = 'north' UNION ALL SELECT n / 2 FROM c WHERE n > 1) SELECT n FROM c ORDER BY n DESC
---
WITH RECURSIVE ranked AS (SELECT area, COUNT(*) AS n, ROW_NUMBER() OVER (ORDER BY COUNT(*) DESC) AS rn FROM patient GROUP BY area), acc AS (SELECT rn, area, n, n AS total, area::text AS path FROM ranked WHERE rn = 1 UNION ALL SELECT r.rn, r.area, r.n, a.total + r.n, a.path || '>' || r.area FROM acc a JOIN ranked r ON r.rn = a.rn + 1) SELECT rn, path, total FROM acc ORDER BY rn
---
WITH RECURSIVE g(step, v) AS (SELECT 1, (SELECT COUNT(*) FROM patient) UNION ALL SELECT step + 1, v * 2 FROM g WHERE step < 5) SELECT step, v FROM g ORDER BY step
---
WITH RECURSIVE g AS (SELECT COUNT(*) AS v FROM patient UNION ALL SELECT v * 2 FROM g WHERE v < 2000) SELECT v, COUNT(*) OVER () AS k FROM g ORDER BY v
---
WITH RECURSIVE g AS (SELECT AVG(age) AS v, 1 AS i FROM patient UNION ALL SELECT v * 1.1, i + 1 FROM g WHERE i < 4) SELECT i, ROUND(v, 2) AS v FROM g ORDER BY i
---
WITH RECURSIVE g AS (SELECT COUNT(*) % 7 AS v FROM patient UNION SELECT (v + 3) % 7 FROM g) SELECT v FROM g ORDER BY v
---
WITH RECURSIVE d AS (SELECT DATE '2023-01-01' AS m, 0::bigint AS n UNION ALL SELECT (d.m + INTERVAL '1 month')::date, t.n FROM d JOIN (SELECT date_trunc('month', day)::date AS m, COUNT(*) AS n FROM visit GROUP BY 1) t ON t.m = (d.m + INTERVAL '1 month')::date WHERE d.m < DATE '2023-05-01') SELECT * FROM d ORDER BY m
---
WITH RECURSIVE q AS (SELECT 1 AS lvl, MIN(cost) AS lo, MAX(cost) AS hi FROM visit UNION ALL SELECT lvl + 1, lo, (lo + hi) / 2 FROM q WHERE lvl < 4) SELECT lvl, ROUND(hi, 1) FROM q
---
WITH RECURSIVE q AS (SELECT kind, COUNT(*) AS n, 1 AS i FROM visit GROUP BY kind UNION ALL SELECT kind, n - 50, i + 1 FROM q WHERE n > 50) SELECT kind, MAX(i) AS steps FROM q WHERE kind IS NOT NULL GROUP BY kind ORDER BY kind
---
WITH RECURSIVE g(k, v) AS (SELECT 0, COUNT(*) FROM patient UNION ALL SELECT g.k + 1, (SELECT COUNT(*) FROM patient p WHERE p.age = g.v) FROM g WHERE g.k < 3) SELECT * FROM g
---
WITH RECURSIVE a(n) AS (SELECT COUNT(*) FROM patient UNION ALL SELECT n - 60 FROM a WHERE n > 0), b(n) AS (SELECT n FROM a UNION ALL SELECT n + 1000 FROM b WHERE n < 1000) SELECT n FROM b ORDER BY n
---
SELECT i.title, COUNT(p.id) AS n FROM area_info i LEFT JOIN patient p ON p.area = i.area AND p.age > 95 GROUP BY i.title ORDER BY i.title
---
SELECT d::date AS day, COUNT(v.visit_id) AS n, COALESCE(SUM(v.cost), 0) AS s FROM generate_series('2023-03-01'::timestamp, '2023-03-10'::timestamp, '1 day') AS d LEFT JOIN visit v ON v.day = d::date GROUP BY d ORDER BY d
---
SELECT b.label, COUNT(p.id) AS n, SUM(CASE WHEN p.sex = 'f' THEN 1 ELSE 0 END) AS f FROM (VALUES ('kid', 0, 17), ('none', 150, 190)) AS b(label, lo, hi) LEFT JOIN patient p ON p.age BETWEEN b.lo AND b.hi GROUP BY b.label ORDER BY b.label
---
SELECT i.a, COUNT(p.id) AS n FROM (VALUES ('north', 'N'), ('mars', 'M')) AS i(a, t) LEFT JOIN patient AS p ON p.area = i.a GROUP BY i.a ORDER BY 1
---
SELECT i.title, COUNT(p.id) AS n FROM area_info i LEFT JOIN patient p ON p.area = i.area WHERE p.age > 99 GROUP BY i.title ORDER BY i.title
---
SELECT n_name, COUNT(c_custkey) FILTER (WHERE c_acctbal > 0) AS n, AVG(c_acctbal) AS m FROM nation LEFT JOIN customer ON c_nationkey = n_nationkey AND c_mktsegment = 'BUILDING' GROUP BY n_name ORDER BY n_name
---
SELECT to_char(d, 'Mon YYYY') AS m, COUNT(DISTINCT v.patient_id) AS people FROM generate_series(DATE '2023-01-01', DATE '2023-04-01', '1 month') d LEFT JOIN visit v ON date_trunc('month', v.started_at) = d GROUP BY d ORDER BY d
---
SELECT i.area, i.title, COUNT(v.visit_id) AS n FROM visit v JOIN patient p ON p.id = v.patient_id RIGHT JOIN area_info i ON i.area = p.area GROUP BY 1, 2 ORDER BY 1
---
SELECT r_name, n_name, COUNT(c.c_custkey) AS n FROM region r JOIN nation n ON n_regionkey = r_regionkey LEFT JOIN customer c ON c.c_nationkey = n.n_nationkey GROUP BY r_name, n_name HAVING COUNT(c.c_custkey) >= 0 ORDER BY 1, 2
---
SELECT COUNT(p.id) AS n FROM area_info i LEFT JOIN patient p ON p.area = i.area AND p.age > 95
---
WITH spine AS (SELECT generate_series('2023-01-01'::date, '2023-12-01'::date, interval '1 month')::date AS m) SELECT spine.m, COALESCE(v.n, 0) AS visits FROM spine LEFT JOIN (SELECT date_trunc('month', day)::date AS m, COUNT(*) AS n FROM visit GROUP BY 1) v ON v.m = spine.m ORDER BY spine.m
---
SELECT generate_series(1, 4) * 2 AS x
---
SELECT generate_series(date '2023-01-01', date '2023-01-03', '1 day')::date
---
SELECT EXTRACT(DECADE FROM born) * 10 AS decade, COUNT(*) FROM patient GROUP BY 1 HAVING COUNT(*) > 0.5 ORDER BY 1
---
SELECT EXTRACT(century FROM born) AS c, COUNT(*) FROM patient GROUP BY 1 HAVING COUNT(*) > 0.5 ORDER BY 1
---
SELECT area, COUNT(*) FROM patient GROUP BY 1 ORDER BY COUNT(*) DESC FETCH FIRST 2 ROWS WITH TIES
---
SELECT p_brand, count(*) AS n FROM part GROUP BY p_brand ORDER BY n DESC FETCH FIRST ROW WITH TIES
---
SELECT COUNT(*) FROM visit WHERE started_at::time >= '08:00' AND started_at::time < '12:00'
---
SELECT CASE WHEN started_at::time < '12:00' THEN 'am' ELSE 'pm' END AS half, COUNT(*) FROM visit GROUP BY 1 ORDER BY 1
---
SELECT COUNT(*) FROM visit WHERE CAST(started_at AS time) BETWEEN TIME '09:00' AND TIME '17:30:00'
---
SELECT COUNT(*) FROM visit WHERE (started_at, ended_at) OVERLAPS (TIMESTAMP '2023-01-01', TIMESTAMP '2023-07-01')
---
SELECT COUNT(*) FROM visit WHERE (DATE '2023-03-01', INTERVAL '10 days') OVERLAPS (day, day)
---
SELECT format('%s of %s (100%%)', COUNT(*) FILTER (WHERE smoker), COUNT(*)) AS msg FROM patient
---
SELECT p_mfgr, p_retailprice, lag(p_retailprice, 1, 0) OVER w AS prev, lead(p_retailprice, 2, -1) OVER w AS nxt FROM part WHERE p_partkey < 10 WINDOW w AS (PARTITION BY p_mfgr ORDER BY p_partkey) ORDER BY p_mfgr, p_partkey
---
SELECT kind, n, n - LAG(n, 1, 0::bigint) OVER (ORDER BY kind) AS d FROM (SELECT kind, COUNT(*) AS n FROM visit WHERE kind IS NOT NULL GROUP BY kind) t ORDER BY kind
---
SELECT initcap(r_name) AS i, reverse(r_name) AS r, repeat('x', 3) AS x, lpad(r_name, 8, '*') AS l FROM region ORDER BY r_name
---
WITH t AS NOT MATERIALIZED (SELECT area, COUNT(*) AS n FROM patient GROUP BY 1) SELECT * FROM t ORDER BY n
---
SELECT COUNT(*) FROM (SELECT patient_id, started_at, LAG(started_at, 1, TIMESTAMP '2022-01-01') OVER (PARTITION BY patient_id ORDER BY started_at) AS p FROM visit) t WHERE p < '2023-01-01'
---
WITH daily AS (SELECT day, COUNT(*) AS n FROM visit WHERE day BETWEEN '2023-05-01' AND '2023-05-31' GROUP BY day), busy AS (SELECT day, day - (ROW_NUMBER() OVER (ORDER BY day))::int AS grp FROM daily WHERE n > 0.5) SELECT MIN(day) AS from_day, MAX(day) AS to_day, COUNT(*) AS days FROM busy GROUP BY grp ORDER BY from_day
---
SELECT p_brand, mode() WITHIN GROUP (ORDER BY p_container) AS box FROM part GROUP BY p_brand ORDER BY p_brand
---
SELECT s_acctbal::int, s_acctbal::text AS t, (0 - s_acctbal)::text AS m, s_phone::varchar(2) FROM supplier ORDER BY s_suppkey LIMIT 2
---
SELECT kind, ROUND(100.0 * COUNT(*) / SUM(COUNT(*)) OVER (), 1)::text || '%' AS pct FROM visit WHERE kind IS NOT NULL GROUP BY kind ORDER BY kind
---
SELECT area, 'EUR ' || SUM(salary)::text AS pay FROM patient GROUP BY area ORDER BY area
---
SELECT COUNT(*) FROM visit WHERE cost::text LIKE '%.00'
---
SELECT ROW_NUMBER() OVER (ORDER BY area) AS r, area, COUNT(*) AS n FROM patient GROUP BY ROLLUP(area) ORDER BY r
---
SELECT quote_ident('Foo bar') AS a, format('%I.%I = %L', 'a', 'B', 'c''d') AS d, format('%s%%', 5) AS e
---
SELECT make_date(2024, 2, 29) AS a, make_timestamp(2024, 1, 2, 3, 4, 5.5) AS b
---
SELECT cardinality(ARRAY[1,2]) AS e, (ARRAY[5,6])[2] AS g, array_to_string(ARRAY['a','b'], '-') AS h, string_to_array('a-b', '-') AS i, array_position(ARRAY['a','b'], 'b') AS j
---
WITH RECURSIVE t(x) AS (SELECT 1.0 UNION ALL SELECT x / 2 FROM t WHERE x > 0.1) SELECT x FROM t
---
SELECT to_json('a'::text) AS c, jsonb_typeof('[1]'::jsonb) AS d, gcd(12, 18) AS r
---
SELECT string_agg(x::text, ',' ORDER BY x DESC) AS s, array_agg(x) AS a FROM generate_series(1, 3) AS x
---
SELECT c.relname, c.oid::regclass AS r, format_type(a.atttypid, a.atttypmod) AS t FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid WHERE c.oid = 'region'::regclass AND a.attnum = 1
---
SELECT 'patient'::regclass::oid > 0 AS ok
---
SELECT 'patient'::regclass
---
SELECT to_regclass('public.visit') AS r, to_regclass('nope') AS n
---
SELECT 'public.visit'::regclass::text
---
SELECT to_regtype('int4') AS a, 'bigint'::regtype AS b, 'int4'::regtype::oid AS c
---
SELECT 'pg_catalog'::regnamespace AS n
---
SELECT format_type(23, NULL) AS a, format_type(1043, 24) AS b, format_type(1700, 655366) AS c, pg_catalog.format_type(1184, -1) AS d
---
SELECT pg_typeof(1), pg_typeof('a'::text), pg_typeof(1.5), pg_typeof(now()), pg_typeof(ARRAY[1,2])
---
SELECT current_database() IS NOT NULL AS a, current_schema() AS b, current_schemas(true) AS c, current_user = session_user AS d
---
SELECT has_table_privilege('patient', 'SELECT') AS a, has_schema_privilege('public', 'USAGE') AS b, has_database_privilege(current_database(), 'CONNECT') AS c
---
SELECT pg_get_userbyid(10) IS NOT NULL AS u, pg_is_in_recovery() AS r, pg_backend_pid() > 0 AS p, txid_current() > 0 AS t
---
SELECT version() LIKE 'PostgreSQL%' AS v, current_setting('server_version_num')::int >= 90000 AS n, current_setting('no.such', true) AS x
---
SELECT set_config('application_name', 'x', false)
---
SELECT pg_encoding_to_char(6) AS e, getdatabaseencoding() AS d, pg_client_encoding() AS c
---
SELECT quote_ident('Foo bar') AS a, quote_literal('it''s') AS b, quote_nullable(NULL) AS c, format('%I.%I = %L', 'a', 'B', 'c''d') AS d
---
SELECT extract(epoch FROM interval '1 day 2 hours') AS a, date_part('dow', date '2024-02-29') AS b, to_char(timestamp '2024-02-29 13:05:06', 'YYYY-MM-DD HH12:MI:SS AM, Day, Mon DDth') AS c
---
SELECT pi() AS a, degrees(pi()) AS b, sin(0) AS c, atan2(1, 1) AS d, random() < 1 AS e
---
SELECT upper('a') AS a, initcap('hello world') AS b, btrim('xxaxx', 'x') AS c, left('abc', -1) AS d, right('abc', 2) AS e, substr('abcdef', 2, 3) AS f, replace('aXa', 'X', '-') AS g, strpos('high', 'ig') AS h, split_part('a,b,c', ',', -1) AS i, chr(65) AS j, ascii('A') AS k, repeat('ab', 2) AS l, reverse('abc') AS m, starts_with('abc', 'ab') AS n, to_hex(255) AS o, encode('abc'::bytea, 'hex') AS p, md5('a') AS q
---
SELECT coalesce(NULL, 1) AS a, nullif(1, 1) AS b, greatest(1, 2, NULL) AS c, least('b', 'a') AS d, num_nulls(1, NULL) AS e
---
SELECT true AND NULL AS a, NOT NULL AS b, NULL IS NULL AS c, 1 = ANY(ARRAY[1,2]) AS d, 3 IN (1, 2, NULL) AS e, 'a' || NULL AS f, 'a' || 1 AS g
---
SELECT 1.10 AS a, 1e3 AS b, 1.0 + 2 AS c, 10 / 4.0 AS d, 0.1 + 0.2 AS e, 1::numeric / 3 AS f, 2.0 * 3.00 AS g
---
SELECT 'a' < 'B' AS a, 'abc' LIKE 'a_c' AS b, 'abc' ~ '^a' AS c, 'ABC' ILIKE 'a%' AS d, 'abc' SIMILAR TO '(a|b)%' AS e, 'x' COLLATE "C" AS f
---
SELECT CASE 2 WHEN 1 THEN 'one' WHEN 2 THEN 'two' END AS a, (SELECT 5) AS b, EXISTS (SELECT 1) AS c, (SELECT count(*) FROM generate_series(1, 10)) AS d
---
SELECT x, sum(x) OVER (ORDER BY x) AS s, row_number() OVER () AS r FROM (VALUES (1), (2), (3)) AS t(x)
---
SELECT t.a, count(*) FROM (VALUES ('x', 1), ('y', 2), ('x', 3)) AS t(a, b) GROUP BY t.a ORDER BY 1
---
SELECT * FROM generate_series(1, 3) AS g(i), LATERAL (SELECT i * 2 AS d) l
---
SELECT now() > '2020-01-01' AS a, current_date > '2020-01-01' AS b, clock_timestamp() >= now() AS c, localtimestamp IS NOT NULL AS d, statement_timestamp() IS NOT NULL AS e
---
SELECT NULL AS n, 'text' AS t, 1 AS "Quoted Name", 1 AS camelCase
---
SELECT 1 AS a UNION SELECT 2 UNION ALL SELECT 2 ORDER BY a
---
SELECT 1 WHERE false
---
SELECT gen_random_uuid() IS NOT NULL AS a
---
SELECT c.oid, n.nspname, c.relname FROM pg_catalog.pg_class c LEFT JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE c.relname OPERATOR(pg_catalog.~) '^(patientx)$' COLLATE pg_catalog.default AND pg_catalog.pg_table_is_visible(c.oid) ORDER BY 2, 3
---
SELECT n.nspname as "Schema", c.relname as "Name", CASE c.relkind WHEN 'r' THEN 'table' WHEN 'v' THEN 'view' WHEN 'm' THEN 'materialized view' WHEN 'i' THEN 'index' WHEN 'S' THEN 'sequence' WHEN 't' THEN 'TOAST table' WHEN 'f' THEN 'foreign table' WHEN 'p' THEN 'partitioned table' WHEN 'I' THEN 'partitioned index' END as "Type" FROM pg_catalog.pg_class c LEFT JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace LEFT JOIN pg_catalog.pg_am am ON am.oid = c.relam WHERE c.relkind IN ('r','p','v','m','S','f','') AND n.nspname <> 'pg_catalog' AND n.nspname !~ '^pg_toast' AND n.nspname <> 'information_schema' AND pg_catalog.pg_table_is_visible(c.oid) ORDER BY 1,2
---
SELECT a.attname, pg_catalog.format_type(a.atttypid, a.atttypmod) IS NOT NULL AS t, (SELECT pg_catalog.pg_get_expr(d.adbin, d.adrelid, true) FROM pg_catalog.pg_attrdef d WHERE d.adrelid = a.attrelid AND d.adnum = a.attnum AND a.atthasdef) AS def, a.attnotnull, (SELECT c.collname FROM pg_catalog.pg_collation c, pg_catalog.pg_type t WHERE c.oid = a.attcollation AND t.oid = a.atttypid AND a.attcollation <> t.typcollation) AS attcollation, a.attidentity, a.attgenerated FROM pg_catalog.pg_attribute a WHERE a.attrelid = 'area_info'::regclass AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum
---
SELECT table_name FROM information_schema.tables WHERE table_schema = 'public' AND table_type = 'BASE TABLE' ORDER BY 1
---
SELECT column_name, ordinal_position, is_nullable FROM information_schema.columns WHERE table_schema = current_schema() AND table_name = 'region' ORDER BY 2
---
SELECT count(*) FROM pg_catalog.pg_tables WHERE schemaname = 'public'
---
SELECT relname FROM pg_class WHERE oid = 'visit'::regclass
---
SELECT attname FROM pg_attribute WHERE attrelid = 'region'::regclass AND attnum > 0 ORDER BY attnum
---
SELECT t.typname, t.typlen, t.typtype FROM pg_type t WHERE t.oid = ANY(ARRAY[16, 20, 25, 1082]::oid[]) ORDER BY t.oid
---
SELECT typname FROM pg_type WHERE oid = 'int8'::regtype
---
SELECT nspname FROM pg_namespace WHERE nspname NOT LIKE 'pg\_%' AND nspname <> 'information_schema' ORDER BY 1
---
SELECT i.relname FROM pg_index x JOIN pg_class c ON c.oid = x.indrelid JOIN pg_class i ON i.oid = x.indexrelid WHERE c.relname = 'patient'
---
SELECT conname FROM pg_constraint WHERE conrelid = 'patient'::regclass
---
SELECT proname FROM pg_proc WHERE proname = 'nosuchproc'
---
SELECT rolname IS NOT NULL AS r, rolsuper IS NOT NULL AS s FROM pg_roles WHERE rolname = current_user
---
SELECT datname = current_database() AS d, datallowconn FROM pg_database WHERE datname = current_database()
---
SELECT name, setting FROM pg_settings WHERE name IN ('standard_conforming_strings', 'server_encoding') ORDER BY 1
---
SELECT extname FROM pg_extension WHERE extname = 'nope'
---
SELECT schemaname, viewname FROM pg_views WHERE schemaname = 'public'
---
SELECT * FROM pg_matviews
---
SELECT s.schema_name FROM information_schema.schemata s WHERE s.schema_name = 'public'
---
SELECT table_catalog = current_database() AS c, table_type FROM information_schema.tables WHERE table_name = 'visit'
---
SELECT kcu.column_name FROM information_schema.table_constraints tc JOIN information_schema.key_column_usage kcu ON tc.constraint_name = kcu.constraint_name AND tc.table_schema = kcu.table_schema WHERE tc.constraint_type = 'PRIMARY KEY' AND tc.table_name = 'visit'
---
SHOW search_path
---
SHOW TRANSACTION ISOLATION LEVEL
---
SHOW standard_conforming_strings
---
SELECT pg_size_pretty(1024::bigint) AS s
---
SELECT pg_total_relation_size('patient') >= 0 AS s
---
SELECT c.reltuples::bigint >= -1 AS estimate FROM pg_class c WHERE c.oid = 'public.patient'::regclass
---
SELECT count(*) FROM pg_stat_activity WHERE state = 'nosuch'
---
SELECT pg_get_viewdef('patient'::regclass) IS NULL
---
SELECT array_to_string(ARRAY(SELECT nspname::text FROM pg_namespace WHERE nspname = 'public'), ',') AS s
---
SELECT (current_schemas(false))[1] AS s
---
SELECT unnest(current_schemas(false)) AS s
---
SELECT n.oid > 0 AS o FROM pg_namespace n WHERE n.nspname = ANY(current_schemas(false))
---
SELECT oid::regclass::text AS t FROM pg_class WHERE relname = 'visit'
---
SELECT attrelid::regclass AS t, count(*) FROM pg_attribute WHERE attrelid IN ('region'::regclass, 'nation'::regclass) AND attnum > 0 GROUP BY 1 ORDER BY 1::text
---
SELECT has_column_privilege('patient', 'age', 'SELECT') AS c, has_any_column_privilege('patient', 'SELECT') AS d
---
SELECT pg_catalog.pg_get_function_result(0)
---
SELECT overlay('Txxxxas' placing 'hom' from 2 for 4) AS a, substring('Thomas' from 2 for 3) AS b, substring('Thomas' from '...$') AS c, trim(both 'x' from 'xTomxx') AS d, position('om' in 'Thomas') AS e, extract(day from timestamp '2001-02-16 20:38:40') AS f
---
SELECT isfinite(date '2001-02-16') AS a, date_trunc('hour', timestamp '2001-02-16 20:38:40') AS b, date_trunc('week', date '2024-02-29')::date AS c, date_bin('15 minutes', timestamp '2020-02-11 15:44:17', timestamp '2001-01-01') AS d
---
WITH first_visit AS (SELECT patient_id, MIN(date_trunc('month', started_at)) AS cohort FROM visit GROUP BY patient_id) SELECT cohort, COUNT(*) AS people FROM first_visit GROUP BY cohort ORDER BY cohort
---
WITH f AS (SELECT patient_id, MIN(day) AS first_day FROM visit GROUP BY patient_id) SELECT date_trunc('quarter', f.first_day)::date AS cohort, EXTRACT(YEAR FROM v.day) * 4 + EXTRACT(QUARTER FROM v.day) - EXTRACT(YEAR FROM f.first_day) * 4 - EXTRACT(QUARTER FROM f.first_day) AS quarters_later, COUNT(DISTINCT v.patient_id) AS retained FROM f JOIN visit v ON v.patient_id = f.patient_id GROUP BY 1, 2 HAVING COUNT(DISTINCT v.patient_id) > 0 ORDER BY 1, 2
---
SELECT kind, COUNT(*) AS n, ROUND(100.0 * COUNT(*) / SUM(COUNT(*)) OVER (), 2) AS pct FROM visit GROUP BY kind ORDER BY pct DESC
---
SELECT area, sex, COUNT(*) AS n, ROUND(COUNT(*) * 100.0 / SUM(COUNT(*)) OVER (PARTITION BY area), 1) AS pct_in_area FROM patient GROUP BY area, sex ORDER BY area, sex
---
SELECT * FROM (SELECT area, kind, SUM(cost) AS total, RANK() OVER (PARTITION BY area ORDER BY SUM(cost) DESC) AS rnk FROM visit JOIN patient ON patient.id = visit.patient_id GROUP BY area, kind) ranked WHERE rnk <= 2 ORDER BY area, rnk
---
SELECT month, total, total - LAG(total) OVER (ORDER BY month) AS change, ROUND(100 * (total - LAG(total) OVER (ORDER BY month)) / NULLIF(LAG(total) OVER (ORDER BY month), 0), 1) AS pct_change FROM (SELECT date_trunc('month', day) AS month, SUM(cost) AS total FROM visit WHERE day < '2024-12-01' GROUP BY 1) m ORDER BY month
---
WITH monthly AS (SELECT EXTRACT(YEAR FROM day)::int AS y, EXTRACT(MONTH FROM day)::int AS m, COUNT(*) AS n FROM visit GROUP BY 1, 2) SELECT a.m, a.n AS n2023, b.n AS n2024, b.n - a.n AS yoy FROM monthly a JOIN monthly b ON a.m = b.m AND a.y = 2023 AND b.y = 2024 WHERE a.m <= 11 ORDER BY a.m
---
SELECT date_trunc('month', started_at)::date AS m, COUNT(*) AS n, AVG(COUNT(*)) OVER (ORDER BY date_trunc('month', started_at)::date ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) AS moving FROM visit WHERE started_at >= '2023-01-01' AND started_at < '2024-12-01' GROUP BY 1 ORDER BY 1
---
SELECT area, COUNT(*) FILTER (WHERE sex = 'f') AS women, COUNT(*) FILTER (WHERE sex = 'm') AS men, COUNT(*) FILTER (WHERE smoker IS TRUE) AS smokers, COUNT(*) FILTER (WHERE smoker IS NULL) AS unknown FROM patient GROUP BY area ORDER BY area
---
SELECT SUM(CASE WHEN age < 18 THEN 1 ELSE 0 END) AS "0-17", SUM(CASE WHEN age BETWEEN 18 AND 39 THEN 1 ELSE 0 END) AS "18-39", SUM(CASE WHEN age BETWEEN 40 AND 64 THEN 1 END) AS "40-64", SUM((age >= 65)::int) AS "65+" FROM patient
---
SELECT d::date AS day, COUNT(v.visit_id) AS n FROM generate_series('2023-03-01'::timestamp, '2023-03-10'::timestamp, '1 day') AS d LEFT JOIN visit v ON v.day = d::date GROUP BY d ORDER BY d
---
SELECT COUNT(*) FILTER (WHERE checked > 0) AS step1, COUNT(*) FILTER (WHERE checked > 0 AND tested > 0) AS step2, COUNT(*) FILTER (WHERE checked > 0 AND tested > 0 AND operated > 0) AS step3 FROM (SELECT patient_id, COUNT(*) FILTER (WHERE kind = 'check-up') AS checked, COUNT(*) FILTER (WHERE kind = 'test') AS tested, COUNT(*) FILTER (WHERE kind = 'surgery') AS operated FROM visit GROUP BY patient_id) funnel
---
WITH steps AS (SELECT patient_id, MIN(started_at) FILTER (WHERE kind = 'check-up') AS t1, MIN(started_at) FILTER (WHERE kind = 'surgery') AS t2 FROM visit GROUP BY patient_id) SELECT COUNT(t1) AS checked, COUNT(CASE WHEN t2 > t1 THEN 1 END) AS then_operated, ROUND(COUNT(CASE WHEN t2 > t1 THEN 1 END)::numeric / COUNT(t1), 3) AS conversion FROM steps
---
SELECT bucket, COUNT(*) AS people, MIN(total) AS lo, MAX(total) AS hi FROM (SELECT patient_id, SUM(cost) AS total, CASE WHEN SUM(cost) > 3000 THEN 'high' WHEN SUM(cost) > 1000 THEN 'mid' ELSE 'low' END AS bucket FROM visit GROUP BY patient_id) t GROUP BY bucket ORDER BY bucket
---
SELECT width_bucket(age, 0, 100, 5) AS bucket, COUNT(*) AS n FROM patient GROUP BY bucket ORDER BY bucket
---
SELECT CASE WHEN smoker THEN 'smoker' WHEN NOT smoker THEN 'non-smoker' ELSE 'unknown' END AS status, AVG(salary)::numeric(10,2) AS pay, COUNT(*) AS n FROM patient GROUP BY 1 ORDER BY 1
---
SELECT to_char(started_at, 'YYYY-MM') AS ym, COUNT(*) AS n, SUM(COUNT(*)) OVER (ORDER BY to_char(started_at, 'YYYY-MM')) AS running FROM visit WHERE started_at IS NOT NULL AND started_at < '2024-12-01' GROUP BY 1 ORDER BY 1
---
SELECT to_char(day, 'Dy') AS dow, COUNT(*) FROM visit GROUP BY 1 ORDER BY 2 DESC
---
SELECT EXTRACT(ISODOW FROM started_at) AS dow, EXTRACT(HOUR FROM started_at) AS h, COUNT(*) AS n FROM visit WHERE started_at IS NOT NULL GROUP BY 1, 2 HAVING COUNT(*) > 5 ORDER BY n DESC, 1, 2
---
SELECT AVG(EXTRACT(EPOCH FROM (ended_at - started_at)) / 3600)::numeric(8,2) AS avg_hours, MAX(EXTRACT(EPOCH FROM ended_at - started_at) / 60) > 100 AS long FROM visit
---
SELECT area, COUNT(*) AS n FROM patient GROUP BY area HAVING COUNT(*) > (SELECT AVG(c) FROM (SELECT COUNT(*) AS c FROM patient GROUP BY area) x) ORDER BY n DESC
---
SELECT p.area, AVG(x.n) AS visits_per_patient FROM patient p LEFT JOIN (SELECT patient_id, COUNT(*) AS n FROM visit GROUP BY patient_id) x ON x.patient_id = p.id GROUP BY p.area ORDER BY p.area
---
SELECT p.area, AVG(COALESCE(x.n, 0)) AS visits_per_patient, SUM(CASE WHEN x.n IS NULL THEN 1 ELSE 0 END) AS never FROM patient p LEFT JOIN (SELECT patient_id, COUNT(*) AS n FROM visit GROUP BY patient_id) x ON x.patient_id = p.id GROUP BY p.area ORDER BY p.area
---
SELECT COUNT(*) FROM patient p WHERE NOT EXISTS (SELECT 1 FROM visit v WHERE v.patient_id = p.id)
---
SELECT COUNT(*) FROM patient p WHERE (SELECT COUNT(*) FROM visit v WHERE v.patient_id = p.id AND v.kind = 'surgery') >= 2
---
SELECT COUNT(*) AS repeaters FROM (SELECT patient_id FROM visit GROUP BY patient_id HAVING COUNT(DISTINCT kind) = 4) t
---
WITH ordered AS (SELECT patient_id, started_at, LAG(started_at) OVER (PARTITION BY patient_id ORDER BY started_at, visit_id) AS prev FROM visit) SELECT COUNT(*) AS within_30 FROM ordered WHERE started_at - prev <= INTERVAL '30 days'
---
WITH s AS (SELECT patient_id, kind, ROW_NUMBER() OVER (PARTITION BY patient_id ORDER BY started_at DESC, visit_id) AS rn FROM visit) SELECT kind AS last_kind, COUNT(*) AS n FROM s WHERE rn = 1 GROUP BY kind ORDER BY kind
---
WITH s AS (SELECT patient_id, kind, LEAD(kind) OVER (PARTITION BY patient_id ORDER BY started_at, visit_id) AS nxt FROM visit) SELECT kind, nxt, COUNT(*) AS n FROM s WHERE nxt IS NOT NULL GROUP BY kind, nxt ORDER BY kind, nxt
---
SELECT DISTINCT ON (area) area, sex, n FROM (SELECT area, sex, COUNT(*) AS n FROM patient GROUP BY area, sex) t ORDER BY area, n DESC
---
SELECT COALESCE(area, 'TOTAL') AS area, COUNT(*) AS n, SUM(salary) AS pay FROM patient GROUP BY ROLLUP (area) ORDER BY GROUPING(area), area
---
SELECT area, sex, GROUPING(area, sex) AS g, COUNT(*) FROM patient GROUP BY CUBE (area, sex) ORDER BY 3, 1, 2
---
SELECT string_agg(area || ': ' || n, ', ' ORDER BY area) AS summary FROM (SELECT area, COUNT(*) AS n FROM patient GROUP BY area) t
---
SELECT array_agg(n ORDER BY n DESC) FROM (SELECT area, COUNT(*) AS n FROM patient GROUP BY area) t
---
SELECT corr(a.n, a.c) AS r, regr_slope(a.n, a.c) AS slope FROM (SELECT area, COUNT(*)::float AS n, SUM(age)::float AS c FROM patient GROUP BY area) a
---
SELECT CORR(age, salary) AS r FROM patient
---
SELECT area, n, NTILE(2) OVER (ORDER BY n, area) AS half, PERCENT_RANK() OVER (ORDER BY n) AS pr, CUME_DIST() OVER (ORDER BY n) AS cd FROM (SELECT area, COUNT(*) AS n FROM patient GROUP BY area) t ORDER BY n
---
SELECT area, n, FIRST_VALUE(area) OVER w AS top, LAST_VALUE(n) OVER (w ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) AS least, NTH_VALUE(n, 2) OVER (w ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) AS second FROM (SELECT area, COUNT(*) AS n FROM patient GROUP BY area) t WINDOW w AS (ORDER BY n DESC) ORDER BY n DESC
---
SELECT a.kind, b.kind AS other, a.n - b.n AS gap FROM (SELECT kind, COUNT(*) AS n FROM visit GROUP BY kind) a CROSS JOIN (SELECT kind, COUNT(*) AS n FROM visit GROUP BY kind) b WHERE a.kind < b.kind ORDER BY 1, 2
---
WITH t AS (SELECT kind, COUNT(*) AS n FROM visit GROUP BY kind) SELECT kind, n FROM t UNION ALL SELECT 'total', SUM(n) FROM t ORDER BY n
---
SELECT 'patients' AS what, COUNT(*) AS n FROM patient UNION ALL SELECT 'visits', COUNT(*) FROM visit UNION ALL SELECT 'orders', COUNT(*) FROM orders
---
SELECT (SELECT COUNT(*) FROM patient) AS patients, (SELECT COUNT(*) FROM visit) AS visits, (SELECT COUNT(*) FROM visit)::numeric / (SELECT COUNT(*) FROM patient) AS ratio
---
SELECT date_part('year', AGE(DATE '2024-12-31', born)) AS age_years, COUNT(*) AS n FROM patient WHERE born < '1940-01-01' GROUP BY 1 ORDER BY 1
---
SELECT CASE WHEN age(DATE '2024-12-31', born) > interval '65 years' THEN 'retired' ELSE 'other' END AS g, COUNT(*) FROM patient GROUP BY 1 ORDER BY 1
---
SELECT (born + interval '18 years')::date > DATE '2000-01-01' AS grown_after, COUNT(*) FROM patient GROUP BY 1 ORDER BY 1
---
SELECT EXTRACT(DECADE FROM born) * 10 AS decade, COUNT(*) FROM patient GROUP BY 1 ORDER BY 1
---
SELECT EXTRACT(century FROM born) AS c, COUNT(*) FROM patient GROUP BY 1
---
SELECT EXTRACT(week FROM day) AS w, COUNT(*) FROM visit WHERE day >= '2023-01-02' AND day < '2023-03-01' GROUP BY 1 ORDER BY 1
---
SELECT EXTRACT(isoyear FROM day) AS y, EXTRACT(week FROM day) AS w, COUNT(*) FROM visit WHERE day >= '2023-12-20' AND day < '2024-01-20' GROUP BY 1, 2 HAVING COUNT(*) > 0.5 ORDER BY 1, 2
---
SELECT EXTRACT(DOY FROM day) / 30 AS x, COUNT(*) FROM visit WHERE day < '2023-02-01' GROUP BY 1 HAVING COUNT(*) > 0.5 ORDER BY 1
---
SELECT age / 10 AS decade, COUNT(*), MIN(age), MAX(age) FROM patient GROUP BY age / 10 ORDER BY 1
---
SELECT age % 2 = 0 AS even, COUNT(*) FROM patient GROUP BY 1 ORDER BY 1
---
SELECT LEFT(name, 1) AS initial, COUNT(*) FROM patient GROUP BY 1 ORDER BY 1
---
SELECT split_part(name, ' ', 2) AS surname, COUNT(*) FROM patient GROUP BY 1 ORDER BY 1
---
SELECT UPPER(SUBSTRING(name FROM 1 FOR 3)) AS p, LENGTH(name) AS l, COUNT(*) FROM patient GROUP BY 1, 2 ORDER BY 1
---
SELECT COUNT(*) FROM patient WHERE name ILIKE '%o%' AND name NOT LIKE 'B%'
---
SELECT COUNT(*) FROM patient WHERE name ~ '^[A-C]' OR name SIMILAR TO '%(Wu|Lane)'
---
SELECT COUNT(*) FROM visit WHERE note IS NULL OR TRIM(note) = ''
---
SELECT NULLIF(note, '') AS note, COUNT(*) AS n FROM visit GROUP BY 1 ORDER BY n DESC, 1
---
SELECT kind, SUM(cost) FILTER (WHERE EXTRACT(YEAR FROM day) = 2023) AS y23, SUM(cost) FILTER (WHERE EXTRACT(YEAR FROM day) = 2024) AS y24 FROM visit GROUP BY kind ORDER BY kind
---
SELECT kind, AVG(cost) AS mean, STDDEV_SAMP(cost) AS sd, VAR_POP(cost) AS vp FROM visit GROUP BY kind ORDER BY kind
---
SELECT kind, MODE() WITHIN GROUP (ORDER BY date_trunc('month', day)) IS NOT NULL AS has_mode FROM visit GROUP BY kind ORDER BY kind
---
SELECT BOOL_OR(age > 90) AS any_old, BOOL_AND(age >= 0) AS all_ok, EVERY(age < 200) AS e FROM patient
---
SELECT area, COUNT(DISTINCT date_trunc('month', admitted)) AS months FROM patient GROUP BY area ORDER BY area
---
SELECT SUM(age) * 1.0 / COUNT(*) AS mean, SUM(age * age) AS sq, SUM(ABS(age - 50)) AS dev FROM patient
---
SELECT LN(SUM(cost)) AS l, SQRT(COUNT(*)) AS s, POWER(COUNT(*), 2) AS p, EXP(1) AS e FROM visit
---
SELECT GREATEST(COUNT(*), 100) AS g, LEAST(COUNT(*), 100) AS l, SIGN(COUNT(*) - 1000) AS s FROM visit
---
SELECT kind, COUNT(*) AS n, SUM(COUNT(*)) OVER (ORDER BY COUNT(*) DESC, kind) AS cum, SUM(COUNT(*)) OVER (ORDER BY COUNT(*) DESC, kind) * 1.0 / SUM(COUNT(*)) OVER () AS pareto FROM visit GROUP BY kind ORDER BY n DESC
---
SELECT kind, cost_class, n FROM (SELECT kind, CASE WHEN cost < 300 THEN 'a' WHEN cost < 600 THEN 'b' ELSE 'c' END AS cost_class, COUNT(*) AS n FROM visit GROUP BY 1, 2) t WHERE (kind, cost_class) IN (('test', 'a'), ('surgery', 'c')) ORDER BY 1
---
SELECT COUNT(*) FROM patient WHERE (area, sex) IN (('north', 'f'), ('south', 'm'))
---
SELECT COUNT(*) FROM visit v WHERE v.cost > (SELECT AVG(cost) FROM visit w WHERE w.kind = v.kind)
---
SELECT t.area, t.n, i.inhabitants, t.n * 1000.0 / i.inhabitants AS per_mille FROM (SELECT area, COUNT(*) AS n FROM patient GROUP BY area) t JOIN area_info i USING (area) ORDER BY per_mille DESC
---
SELECT area, n, CASE WHEN n = MAX(n) OVER () THEN '*' ELSE '' END AS mark FROM (SELECT area, COUNT(*) n FROM patient GROUP BY area) q ORDER BY 1
---
SELECT COUNT(*) FROM visit WHERE day = ANY (ARRAY['2023-01-05', '2023-01-06']::date[])
---
SELECT percentile_disc(0.9) WITHIN GROUP (ORDER BY n) AS p90 FROM (SELECT kind, COUNT(*) AS n FROM visit GROUP BY kind) x
---
SELECT date_bin('15 minutes', started_at, TIMESTAMP '2023-01-01') AS q, COUNT(*) FROM visit WHERE started_at < '2023-01-02' GROUP BY 1 HAVING COUNT(*) > 0.5 ORDER BY 1
---
SELECT anon_1.area AS anon_1_area, anon_1.n AS anon_1_n FROM (SELECT patient.area AS area, count(patient.id) AS n FROM patient GROUP BY patient.area) AS anon_1 WHERE anon_1.n > 5 ORDER BY anon_1.n DESC LIMIT 3 OFFSET 0
---
SELECT count(*) AS count_1 FROM (SELECT DISTINCT visit.patient_id AS visit_patient_id FROM visit WHERE visit.kind = 'test') AS anon_1
---
SELECT visit.kind, sum(CASE WHEN (visit.cost > 500.0) THEN 1 ELSE 0 END) AS expensive, CAST(count(*) AS FLOAT) AS n, coalesce(sum(visit.cost), 0) AS coalesce_1 FROM visit WHERE visit.day BETWEEN '2023-02-01' AND '2023-11-30' GROUP BY visit.kind ORDER BY visit.kind NULLS LAST
---
SELECT EXTRACT(year FROM visit.day) AS anon_1, count(*) AS count_1 FROM visit GROUP BY EXTRACT(year FROM visit.day)
---
SELECT "patient"."area", COUNT("patient"."id") AS "n", AVG("patient"."age") AS "a" FROM "patient" WHERE NOT ("patient"."sex" = 'x') GROUP BY "patient"."area" ORDER BY "n" DESC LIMIT 21
---
SELECT (EXTRACT('year' FROM "visit"."started_at" AT TIME ZONE 'UTC')) AS "y", COUNT("visit"."visit_id") AS "c" FROM "visit" GROUP BY 1 ORDER BY 1 ASC
---
SELECT DATE_TRUNC('month', "visit"."started_at" AT TIME ZONE 'UTC') AS "m", SUM("visit"."cost") AS "total" FROM "visit" WHERE "visit"."started_at" >= '2023-01-01T00:00:00+00:00'::timestamptz GROUP BY 1 ORDER BY 1
---
SELECT COUNT(*) AS "__count" FROM "visit" INNER JOIN "patient" ON ("visit"."patient_id" = "patient"."id") WHERE ("patient"."area" = 'north' AND UPPER("patient"."name"::text) LIKE UPPER('%ana%'))
---
SELECT COUNT("visit"."visit_id") AS count_visit_id, "visit"."kind" AS visit_kind FROM "visit" INNER JOIN "patient" ON "patient"."id" = "visit"."patient_id" WHERE "patient"."age" >= 18 AND "visit"."started_at" BETWEEN '2023-01-01 00:00:00' AND '2023-12-31 23:59:59.999999' GROUP BY "visit"."kind"
---
SELECT DATE_TRUNC('week', ("visit"."started_at"::timestamptz AT TIME ZONE 'Etc/UTC'))::date AS date_trunc_week, COUNT(*) AS count_all FROM "visit" WHERE "visit"."started_at" < '2023-03-01' GROUP BY DATE_TRUNC('week', ("visit"."started_at"::timestamptz AT TIME ZONE 'Etc/UTC'))::date
---
SELECT AVG("patient"."age") AS avg_age, MAX("patient"."age") AS max_age, MIN("patient"."age") AS min_age FROM "patient" WHERE ("patient"."smoker" = TRUE OR "patient"."smoker" IS NULL)
---
SELECT "source"."m" AS "m", SUM("source"."total") OVER (ORDER BY "source"."m" ASC ROWS UNBOUNDED PRECEDING) AS "cum" FROM (SELECT DATE_TRUNC('month', "public"."visit"."started_at") AS "m", SUM("public"."visit"."cost") AS "total" FROM "public"."visit" WHERE "public"."visit"."started_at" >= timestamp with time zone '2023-01-01 00:00:00.000Z' AND "public"."visit"."started_at" < timestamp with time zone '2024-01-01 00:00:00.000Z' GROUP BY DATE_TRUNC('month', "public"."visit"."started_at")) AS "source" ORDER BY "source"."m" ASC
---
SELECT "public"."visit"."kind" AS "kind", COUNT(DISTINCT CASE WHEN "public"."visit"."cost" > 200 THEN "public"."visit"."patient_id" ELSE NULL END) AS "d" FROM "public"."visit" GROUP BY "public"."visit"."kind" ORDER BY "public"."visit"."kind" ASC
---
SELECT count(*) AS "count", CASE WHEN "public"."patient"."age" < 30 THEN 'young' WHEN "public"."patient"."age" < 60 THEN 'middle' ELSE 'old' END AS "g" FROM "public"."patient" GROUP BY 2 ORDER BY 2
---
SELECT ("public"."visit"."cost" / NULLIF(100, 0))::int AS c, COUNT(*) FROM "public"."visit" GROUP BY 1 HAVING COUNT(*) > 0.5 ORDER BY 1
---
SELECT PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY "public"."visit"."cost") > 100 AS "p90" FROM "public"."visit"
---
SELECT SUM("t"."n") AS "TEMP(x)(1)(0)" FROM (SELECT COUNT(1) AS "n" FROM "public"."visit" "visit" GROUP BY "visit"."kind") "t" HAVING (COUNT(1) > 0)
---
SELECT CAST("patient"."area" AS TEXT) AS "area", SUM(1) AS "sum:Number of Records:ok" FROM "public"."patient" "patient" GROUP BY 1 ORDER BY 1 ASC NULLS FIRST
---
SELECT ((CAST("visit"."day" AS DATE)) - CAST(EXTRACT(DOW FROM "visit"."day") AS INTEGER)) AS "twk:day:ok", SUM("visit"."cost") AS "sum:cost:ok" FROM "public"."visit" "visit" WHERE "visit"."day" < DATE '2023-03-01' GROUP BY 1 ORDER BY 1
---
SELECT CAST(DATE_TRUNC('QUARTER', CAST("visit"."day" AS TIMESTAMP)) AS DATE) AS "tqr:day:ok", COUNT(DISTINCT "visit"."patient_id") AS "ctd:patient_id:ok" FROM "public"."visit" "visit" GROUP BY 1 ORDER BY 1
---
SELECT "t1"."area" AS "area", "t1"."a" / NULLIF("t1"."b", 0) AS "ratio" FROM (SELECT "p"."area" AS "area", SUM(CASE WHEN "p"."smoker" THEN 1.0 ELSE 0 END) AS "a", CAST(COUNT(1) AS DOUBLE PRECISION) AS "b" FROM "public"."patient" "p" GROUP BY 1) "t1" ORDER BY 1
---
select "rows"."area" as "area", "rows"."sex" as "sex", sum("rows"."salary") as "a0", count("rows"."id") as "a1" from (select "_"."area", "_"."sex", "_"."salary", "_"."id" from "public"."patient" "_" where "_"."age" >= 18) "rows" group by "area", "sex" limit 1000001
---
select cast(date_part('year', "_"."day") as int) as "t0_0", count(*) as "a0" from "public"."visit" "_" group by cast(date_part('year', "_"."day") as int)
---
select max("_"."day") as "a0", min("_"."day") as "a1" from "public"."visit" "_"
---
SELECT $$north$$ AS area, COUNT(*) FROM patient WHERE area = $$north$$
---
with source as (select * from public.visit), renamed as (select visit_id as id, patient_id, kind as visit_kind, cost::numeric(16,2) as amount, started_at as visited_at from source), final as (select visit_kind, count(*) as n, sum(amount) as revenue, avg(amount) as aov from renamed where visited_at >= '2023-01-01' group by 1) select * from final order by 1
---
with date_spine as (select * from generate_series(date '2023-01-01', date '2023-06-01', interval '1 month') as t(date_month)), agg as (select date_trunc('month', day) as date_month, count(distinct patient_id) as mau from visit group by 1) select date_spine.date_month::date, coalesce(agg.mau, 0) as mau, sum(coalesce(agg.mau, 0)) over (order by date_spine.date_month rows between unbounded preceding and current row) as total from date_spine left join agg using (date_month) order by 1
---
select count(*) as failures, count(*) != 0 as should_warn, count(*) != 0 as should_error from (select id from patient where age is null) dbt_internal_test
---
select count(*) as failures, count(*) != 0 as should_warn, count(*) != 0 as should_error from (with all_values as (select area as value_field, count(*) as n_records from patient group by area) select * from all_values where value_field not in ('north', 'east', 'south', 'west')) dbt_internal_test
---
select visit_id as unique_field, count(*) as n_records from visit where visit_id is not null group by visit_id having count(*) > 1
---
SELECT "patient".area "patient__area", count("patient".id) "patient__count", CASE WHEN count("patient".id) = 0 THEN NULL ELSE sum("patient".age)::float / count("patient".id) END "patient__mean" FROM public.patient AS "patient" GROUP BY 1 HAVING (count("patient".id) > 3) ORDER BY 2 DESC LIMIT 10000
---
SELECT "visit".kind "visit__kind", date_trunc('day', ("visit".started_at::timestamptz AT TIME ZONE 'UTC')) "visit__started_at_day", sum("visit".cost) "visit__cost" FROM public.visit AS "visit" LEFT JOIN public.patient AS "patient" ON "visit".patient_id = "patient".id WHERE ("visit".started_at >= '2023-01-01T00:00:00.000'::timestamptz AND "visit".started_at <= '2023-01-07T23:59:59.999'::timestamptz) AND ("patient".area IN ('north', 'east')) GROUP BY 1, 2 HAVING sum("visit".cost) > 0.01 ORDER BY 2 ASC LIMIT 10000
---
SELECT q_0."visit__kind", "visit__count" "visit__count", "visit__avg" "visit__avg" FROM (SELECT "main__visit".kind "visit__kind", count("main__visit".visit_id) "visit__count" FROM public.visit AS "main__visit" GROUP BY 1) as q_0 INNER JOIN (SELECT "main__visit".kind "visit__kind", avg("main__visit".cost) "visit__avg" FROM public.visit AS "main__visit" GROUP BY 1) as q_1 ON (q_0."visit__kind" = q_1."visit__kind" OR (q_0."visit__kind" IS NULL AND q_1."visit__kind" IS NULL)) ORDER BY 2 DESC LIMIT 10000
---
SELECT "visit.started_at_series"."date_from" "visit__started_at_day", sum("visit_rolling"."n") "visit__rolling" FROM (SELECT '2023-01-01T00:00:00.000'::timestamp AS date_from, '2023-01-01T23:59:59.999'::timestamp AS date_to UNION ALL SELECT '2023-01-02T00:00:00.000'::timestamp, '2023-01-02T23:59:59.999'::timestamp) AS "visit.started_at_series" LEFT JOIN (SELECT date_trunc('day', started_at) AS "d", count(*) AS "n" FROM public.visit GROUP BY 1) AS "visit_rolling" ON "visit_rolling"."d" > "visit.started_at_series"."date_to" - interval '7 day' AND "visit_rolling"."d" <= "visit.started_at_series"."date_to" GROUP BY 1 ORDER BY 1
---
SELECT floor(extract(epoch from started_at)/21600)*21600 AS "time", kind AS metric, count(*) AS value FROM visit WHERE started_at BETWEEN '2023-01-01T00:00:00Z' AND '2023-01-04T00:00:00Z' GROUP BY 1,2 HAVING count(*) > 0.5 ORDER BY 1,2
---
SELECT to_timestamp(extract(epoch from date_trunc('hour', started_at))) AS "time", count(*) FROM visit WHERE started_at >= to_timestamp(1672531200) AND started_at <= to_timestamp(1672700000) GROUP BY 1 HAVING count(*) > 0.5 ORDER BY 1
---
SELECT area AS "__text", area AS "__value" FROM area_info ORDER BY 1
---
SELECT kind AS kind, COUNT(*) AS count FROM public.visit WHERE started_at >= TO_TIMESTAMP('2023-01-01 00:00:00.000000', 'YYYY-MM-DD HH24:MI:SS.US') AND started_at < TO_TIMESTAMP('2024-01-01 00:00:00.000000', 'YYYY-MM-DD HH24:MI:SS.US') GROUP BY kind ORDER BY count DESC LIMIT 1000
---
SELECT DATE_TRUNC('day', started_at) AS started_at, COUNT(DISTINCT patient_id) / NULLIF(COUNT(*), 0)::float AS r FROM public.visit WHERE started_at >= '2023-01-01' AND started_at < '2023-01-08' GROUP BY DATE_TRUNC('day', started_at) HAVING COUNT(*) > 0.5 ORDER BY 1 LIMIT 10000
---
SELECT CASE WHEN kind IN ('test') THEN kind ELSE 'Others' END AS kind, COUNT(*) AS count FROM public.visit GROUP BY CASE WHEN kind IN ('test') THEN kind ELSE 'Others' END ORDER BY count DESC
---
SELECT "area", "n", "rank" FROM (SELECT "area", COUNT(*) AS "n", DENSE_RANK() OVER (ORDER BY COUNT(*) DESC) AS "rank" FROM "patient" GROUP BY "area") "q01" WHERE ("rank" <= 2.0) ORDER BY "rank"
---
SELECT "area", AVG("age") AS "m", COUNT(*) AS "n" FROM (SELECT "patient".*, "age" + 1.0 AS "age1" FROM "patient") "q01" GROUP BY "area" HAVING (COUNT(*) > 3.0) ORDER BY "area"
---
SELECT COUNT(*) FROM visit WHERE kind = ANY('{test,surgery}'::text[])
---
SELECT COUNT(*) FROM visit WHERE NOT (kind <> ALL(ARRAY['test', 'surgery']::varchar[]))
---
SELECT COUNT(*) FROM visit WHERE day >= CURRENT_DATE - INTERVAL '20 years'
---
SELECT date_trunc('month', day)::date AS m, COUNT(*) FROM visit WHERE day >= date_trunc('year', DATE '2023-06-15') AND day < date_trunc('year', DATE '2023-06-15') + INTERVAL '1 year' GROUP BY m ORDER BY m
---
SELECT p.area, v.kind, COUNT(*) AS n FROM patient AS p NATURAL JOIN (SELECT patient_id AS id, kind FROM visit) AS v GROUP BY p.area, v.kind HAVING COUNT(*) > 0.5 ORDER BY 1, 2
---
SELECT area, count(*) FILTER (WHERE age > 50)::float8 / count(*)::float8 AS share FROM patient GROUP BY area ORDER BY share DESC
---
TABLE area_info
---
VALUES (1, 'a'), (2, 'b')
---
SELECT * FROM area_info ORDER BY inhabitants DESC LIMIT 2
---
SELECT a.*, a.inhabitants * density AS x FROM area_info a WHERE a.title ILIKE 'n%'
---
SELECT * FROM patient LIMIT 0
---
SELECT * FROM visit WHERE 1=0
---
SELECT COUNT(*) OVER () AS n, area FROM patient GROUP BY area ORDER BY area
---
SELECT COUNT(*), NULL AS x, 'lit' AS y, 3.5 AS z FROM patient
---
SELECT area FROM patient GROUP BY area ORDER BY area
---
SELECT DISTINCT area, sex FROM patient WHERE sex IS NOT NULL ORDER BY area, sex
---
SELECT area, COUNT(*) FROM patient GROUP BY patient.area ORDER BY patient.area DESC
---
SELECT p."salary-class", COUNT(*) FROM patient p GROUP BY p."salary-class" ORDER BY 1
---
SELECT "salary-class" AS c, SUM(salary) / 1000 AS k FROM "public"."patient" WHERE "salary-class" IS NOT NULL GROUP BY "salary-class" ORDER BY c
---
SELECT AREA, Count(*) AS "Anzahl" FROM PATIENT GROUP BY AREA ORDER BY "Anzahl" DESC
---
SELECT COUNT(*)::text || ' patients' AS msg FROM patient
---
SELECT format('%s of %s', COUNT(*) FILTER (WHERE smoker), COUNT(*)) AS msg FROM patient
---
SELECT ROUND(AVG(age)) AS r0, ROUND(AVG(age), 1) AS r1, TRUNC(AVG(age)) AS t, CEIL(AVG(age)) AS c, FLOOR(AVG(age)) AS f FROM patient
---
SELECT concat(area, '-', sex) AS k, COUNT(*) FROM patient WHERE sex IS NOT NULL GROUP BY 1 ORDER BY 1
---
SELECT concat_ws('/', area, sex) AS k, COUNT(*) FROM patient WHERE sex IS NOT NULL GROUP BY area, sex ORDER BY 1
---
SELECT area || '-' || EXTRACT(YEAR FROM admitted) AS k, COUNT(*) FROM patient GROUP BY 1 HAVING COUNT(*) > 0.5 ORDER BY 1
---
SELECT unnest(ARRAY['a','b']) AS x
---
SELECT x, COUNT(*) FROM unnest(ARRAY['north','south']) AS x JOIN patient p ON p.area = x GROUP BY x ORDER BY x
---
SELECT b.lo, b.hi, COUNT(*) AS n FROM (VALUES (0, 17), (18, 64), (65, 120)) AS b(lo, hi) JOIN patient p ON p.age BETWEEN b.lo AND b.hi GROUP BY b.lo, b.hi ORDER BY b.lo
---
SELECT b.label, COUNT(p.id) AS n FROM (VALUES ('kid', 0, 17), ('adult', 18, 120)) AS b(label, lo, hi) LEFT JOIN patient p ON p.age BETWEEN b.lo AND b.hi GROUP BY b.label ORDER BY b.label
---
WITH RECURSIVE months AS (SELECT DATE '2023-01-01' AS m UNION ALL SELECT (m + INTERVAL '1 month')::date FROM months WHERE m < DATE '2023-06-01') SELECT months.m, COALESCE(t.n, 0) AS n FROM months LEFT JOIN (SELECT date_trunc('month', day)::date AS m, COUNT(*) AS n FROM visit GROUP BY 1) t ON t.m = months.m ORDER BY 1
---
WITH RECURSIVE r AS (SELECT r_regionkey AS k, r_name AS path, 0 AS depth FROM region UNION ALL SELECT n.n_nationkey + 100, r.path || '/' || n.n_name, r.depth + 1 FROM r JOIN nation n ON n.n_regionkey = r.k WHERE r.depth = 0) SELECT depth, COUNT(*) AS n FROM r GROUP BY depth ORDER BY depth
---
WITH RECURSIVE fact(n, f) AS (VALUES (1, 1) UNION ALL SELECT n + 1, f * (n + 1) FROM fact WHERE n < 8) SELECT * FROM fact
---
WITH RECURSIVE fib(a, b) AS (SELECT 0, 1 UNION ALL SELECT b, a + b FROM fib WHERE b < 100) SELECT a FROM fib
---
SELECT n_name, r_name, ROW_NUMBER() OVER (PARTITION BY r_name ORDER BY n_name) AS rn FROM nation JOIN region ON n_regionkey = r_regionkey ORDER BY 2, 1
---
SELECT r_name, string_agg(n_name, ', ' ORDER BY n_name DESC) AS nations, array_agg(n_nationkey ORDER BY n_nationkey) AS keys, count(*) FILTER (WHERE n_name LIKE '%A%') AS a FROM region LEFT JOIN nation ON n_regionkey = r_regionkey GROUP BY r_name ORDER BY r_name
---
SELECT p_brand, percentile_cont(0.5) WITHIN GROUP (ORDER BY p_retailprice) AS med, mode() WITHIN GROUP (ORDER BY p_container) AS box, stddev_pop(p_size) AS sd FROM part GROUP BY p_brand ORDER BY p_brand
---
SELECT p_brand, p_type, sum(p_retailprice) FROM part GROUP BY GROUPING SETS ((p_brand), (p_type), ()) ORDER BY 1 NULLS LAST, 2 NULLS LAST
---
SELECT s.s_name, x.ps_supplycost FROM supplier s CROSS JOIN LATERAL (SELECT ps_supplycost FROM partsupp ps WHERE ps.ps_suppkey = s.s_suppkey ORDER BY ps_supplycost DESC LIMIT 1) x ORDER BY 1
---
SELECT DISTINCT ON (p_brand) p_brand, p_name, p_retailprice FROM part ORDER BY p_brand, p_retailprice DESC
---
SELECT p_mfgr, p_retailprice, lag(p_retailprice, 1, 0) OVER w AS prev, avg(p_retailprice) OVER (w ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING) AS m FROM part WHERE p_partkey < 10 WINDOW w AS (PARTITION BY p_mfgr ORDER BY p_partkey) ORDER BY p_mfgr, p_partkey
---
SELECT n_name FROM nation WHERE n_regionkey IN (SELECT r_regionkey FROM region WHERE r_name LIKE 'A%') EXCEPT SELECT 'BRAZIL' ORDER BY 1
---
SELECT * FROM region r WHERE NOT EXISTS (SELECT FROM nation n WHERE n.n_regionkey = r.r_regionkey) ORDER BY r.r_name
---
SELECT i, i * i AS sq FROM generate_series(1, 5) AS i
---
SELECT generate_series(1, 3) AS i
---
SELECT d::date FROM generate_series(now()::date - 2, now()::date, '1 day'::interval) d
---
SELECT x.n, x.ord FROM unnest(ARRAY['a', 'b']) WITH ORDINALITY AS x(n, ord)
---
SELECT '{"a": {"b": 2}}'::jsonb -> 'a' ->> 'b' AS v, '{"a": 1}'::json ->> 'a' AS w
---
SELECT count(*), sum(ps_supplycost * ps_availqty)::numeric(20,2) AS v, min(ps_supplycost), max(ps_availqty) FROM partsupp
---
SELECT p_size / 7 AS q, p_size % 7 AS r, p_size::float / 7 AS f, p_retailprice / 3 AS d, round(p_retailprice / 3, 2) AS rd FROM part WHERE p_partkey = 5
---
SELECT corr(ps_availqty, ps_supplycost) AS c, covar_samp(ps_availqty, ps_supplycost) AS cs, regr_r2(ps_availqty, ps_supplycost) AS r2 FROM partsupp
---
SELECT a.n_name, b.n_name FROM nation a FULL JOIN nation b ON a.n_nationkey = b.n_nationkey + 5 ORDER BY 1 NULLS LAST, 2 NULLS LAST
---
SELECT CASE p_size % 3 WHEN 0 THEN 'zero' WHEN 1 THEN 'one' ELSE 'two' END AS c, count(*) FROM part GROUP BY 1 ORDER BY 1
---
SELECT count(*) FROM part WHERE p_name IN ('hot pink') AND p_container SIMILAR TO '(SM|LG)%'
---
SELECT s_acctbal::int, s_acctbal::text, s_phone::varchar(2), length(s_name)::smallint FROM supplier ORDER BY s_suppkey LIMIT 2
---
SELECT max(r_name) AS hi, min(r_name) AS lo, count(DISTINCT left(r_name, 1)) AS c FROM region
---
SELECT p_partkey FROM part ORDER BY p_retailprice DESC NULLS LAST OFFSET 2 ROWS FETCH NEXT 3 ROWS ONLY
---
SELECT COALESCE(p_brand, 'all') AS b, COUNT(*) FROM part GROUP BY ROLLUP(p_brand) HAVING COUNT(*) > 0 ORDER BY 2, 1
---
SELECT n_regionkey AS k, sum(count(*)) OVER (ORDER BY n_regionkey GROUPS BETWEEN 1 PRECEDING AND CURRENT ROW) AS w, count(*) AS n FROM nation GROUP BY 1 ORDER BY 1
---
SELECT r_name ~* '^a' AS a, r_name LIKE '_S%' AS b, r_name !~ 'E' AS c, r_name BETWEEN SYMMETRIC 'Z' AND 'A' AS d, r_name IS DISTINCT FROM 'ASIA' AS e FROM region ORDER BY r_name
---
SELECT l_returnflag, l_linestatus, SUM(l_quantity) AS sum_qty, SUM(l_extendedprice * (1 - l_discount) * (1 + l_tax)) AS sum_charge, AVG(l_discount) AS avg_disc, COUNT(*) AS count_order FROM lineitem WHERE l_shipdate <= DATE '1998-12-01' - INTERVAL '60' DAY GROUP BY l_returnflag, l_linestatus ORDER BY l_returnflag, l_linestatus
---
SELECT SUM(l_extendedprice * l_discount) AS revenue FROM lineitem WHERE l_shipdate >= DATE '1995-01-01' AND l_shipdate < DATE '1995-01-01' + INTERVAL '1' YEAR AND l_discount BETWEEN 0.04 AND 0.06 AND l_quantity < 25
---
SELECT o_year, SUM(CASE WHEN nation = 'BRAZIL' THEN volume ELSE 0 END) / SUM(volume) AS mkt_share FROM (SELECT EXTRACT(YEAR FROM o_orderdate) AS o_year, l_extendedprice * (1 - l_discount) AS volume, n2.n_name AS nation FROM part, supplier, lineitem, orders, customer, nation n1, nation n2, region WHERE p_partkey = l_partkey AND s_suppkey = l_suppkey AND l_orderkey = o_orderkey AND o_custkey = c_custkey AND c_nationkey = n1.n_nationkey AND n1.n_regionkey = r_regionkey AND r_name = 'AMERICA' AND s_nationkey = n2.n_nationkey AND o_orderdate BETWEEN DATE '1994-01-01' AND DATE '1997-12-31') AS all_nations GROUP BY o_year HAVING SUM(volume) > 1 ORDER BY o_year
---
SELECT c_count, COUNT(*) AS custdist FROM (SELECT c_custkey, COUNT(o_orderkey) FROM customer LEFT OUTER JOIN orders ON c_custkey = o_custkey AND o_comment NOT LIKE '%special%requests%' GROUP BY c_custkey) AS c_orders (c_custkey, c_count) GROUP BY c_count HAVING COUNT(*) > 0.5 ORDER BY custdist DESC, c_count DESC
---
SELECT o_orderpriority, COUNT(*) AS order_count FROM orders WHERE o_orderdate >= '1993-01-01' AND EXISTS (SELECT * FROM lineitem WHERE l_orderkey = o_orderkey AND l_commitdate < l_receiptdate) GROUP BY o_orderpriority HAVING COUNT(*) > 0.5 ORDER BY o_orderpriority
---
SELECT l_shipmode, SUM(CASE WHEN o_orderpriority IN ('1-URGENT', '2-HIGH') THEN 1 ELSE 0 END) AS high_line_count, SUM(CASE WHEN o_orderpriority <> '1-URGENT' AND o_orderpriority <> '2-HIGH' THEN 1 ELSE 0 END) AS low_line_count FROM orders, lineitem WHERE o_orderkey = l_orderkey AND l_shipmode IN ('RAIL', 'FOB') AND l_shipdate < l_commitdate GROUP BY l_shipmode ORDER BY l_shipmode
---
WITH revenue (supplier_no, total_revenue) AS (SELECT l_suppkey, SUM(l_extendedprice * (1 - l_discount)) FROM lineitem WHERE l_shipdate >= DATE '1996-01-01' AND l_shipdate < DATE '1996-01-01' + INTERVAL '3' MONTH GROUP BY l_suppkey) SELECT s_suppkey, s_name, total_revenue FROM supplier, revenue WHERE s_suppkey = supplier_no AND total_revenue = (SELECT MAX(total_revenue) FROM revenue) ORDER BY s_suppkey
---
SELECT 100.00 * SUM(CASE WHEN p_type LIKE 'PROMO%' THEN l_extendedprice * (1 - l_discount) ELSE 0 END) / SUM(l_extendedprice * (1 - l_discount)) AS promo_revenue FROM lineitem, part WHERE l_partkey = p_partkey AND l_shipdate >= DATE '1995-09-01' AND l_shipdate < DATE '1995-09-01' + INTERVAL '12' MONTH
---
SELECT supp_nation, cust_nation, l_year, SUM(volume) AS revenue FROM (SELECT n1.n_name AS supp_nation, n2.n_name AS cust_nation, EXTRACT(YEAR FROM l_shipdate) AS l_year, l_extendedprice * (1 - l_discount) AS volume FROM supplier, lineitem, orders, customer, nation n1, nation n2 WHERE s_suppkey = l_suppkey AND o_orderkey = l_orderkey AND c_custkey = o_custkey AND s_nationkey = n1.n_nationkey AND c_nationkey = n2.n_nationkey AND ((n1.n_name = 'FRANCE' AND n2.n_name = 'GERMANY') OR (n1.n_name = 'GERMANY' AND n2.n_name = 'FRANCE')) AND l_shipdate BETWEEN DATE '1993-01-01' AND DATE '1998-12-31') AS shipping GROUP BY supp_nation, cust_nation, l_year HAVING SUM(volume) > 1 ORDER BY supp_nation, cust_nation, l_year
---
SELECT SUM(l_extendedprice * (1 - l_discount)) AS revenue FROM lineitem JOIN part ON p_partkey = l_partkey WHERE (p_brand = 'Brand#12' AND p_container IN ('SM CASE', 'MED BAG') AND l_quantity BETWEEN 1 AND 31) OR (p_brand = 'Brand#13' AND p_container IN ('LG BOX') AND l_quantity >= 10 AND p_size BETWEEN 1 AND 30)
---
SELECT d_year, c_nation, SUM(rev) AS profit FROM (SELECT EXTRACT(YEAR FROM o_orderdate)::int AS d_year, n_name AS c_nation, l_extendedprice - l_quantity AS rev FROM lineitem JOIN orders ON l_orderkey = o_orderkey JOIN customer ON o_custkey = c_custkey JOIN nation ON c_nationkey = n_nationkey JOIN region ON n_regionkey = r_regionkey WHERE r_name = 'ASIA') t GROUP BY d_year, c_nation HAVING SUM(rev) > 1 ORDER BY d_year, c_nation
---
SELECT i_category, total, RANK() OVER (ORDER BY total DESC) AS rk, total * 100 / SUM(total) OVER () AS revenueratio FROM (SELECT p_mfgr AS i_category, SUM(l_extendedprice) AS total FROM lineitem JOIN part ON l_partkey = p_partkey WHERE l_shipdate BETWEEN '1993-01-01' AND (DATE '1993-01-01' + 700) GROUP BY p_mfgr) x ORDER BY rk
---
SELECT * FROM (SELECT COUNT(*) AS h8 FROM visit WHERE EXTRACT(HOUR FROM started_at) = 8 AND EXTRACT(MINUTE FROM started_at) >= 30) s1, (SELECT COUNT(*) AS h9 FROM visit WHERE EXTRACT(HOUR FROM started_at) = 9) s2, (SELECT COUNT(*) AS h10 FROM visit WHERE EXTRACT(HOUR FROM started_at) = 10) s3
---
SELECT CASE WHEN (SELECT COUNT(*) FROM lineitem WHERE l_quantity BETWEEN 1 AND 20) > 100 THEN (SELECT AVG(l_discount) FROM lineitem WHERE l_quantity BETWEEN 1 AND 20) ELSE (SELECT AVG(l_tax) FROM lineitem WHERE l_quantity BETWEEN 1 AND 20) END AS bucket1
---
WITH ssr AS (SELECT c_mktsegment AS seg, SUM(o_totalprice) AS sales, 0 AS returns FROM orders JOIN customer ON c_custkey = o_custkey WHERE o_orderstatus = 'F' GROUP BY c_mktsegment UNION ALL SELECT c_mktsegment, 0, SUM(o_totalprice) FROM orders JOIN customer ON c_custkey = o_custkey WHERE o_orderstatus = 'O' GROUP BY c_mktsegment) SELECT seg, SUM(sales) AS sales, SUM(returns) AS returns FROM ssr WHERE seg IS NOT NULL GROUP BY ROLLUP (seg) ORDER BY seg NULLS LAST
---
SELECT COUNT(DISTINCT o_orderkey) AS "order count", SUM(l_extendedprice) AS "total", AVG(l_quantity) AS q FROM lineitem l1 JOIN orders ON o_orderkey = l_orderkey WHERE l_shipdate BETWEEN CAST('1994-02-01' AS date) AND (CAST('1994-02-01' AS date) + INTERVAL '60 days')
---
SELECT "SearchEngineID", "SearchPhrase", COUNT(*) AS c FROM hits WHERE "SearchPhrase" <> '' GROUP BY "SearchEngineID", "SearchPhrase" HAVING COUNT(*) > 0.5 ORDER BY c DESC, 1, 2 LIMIT 10
---
SELECT extract(minute FROM "EventTime") AS m, COUNT(*) AS c FROM hits GROUP BY m HAVING COUNT(*) > 0.5 ORDER BY c DESC, m LIMIT 5
---
SELECT "URL", COUNT(*) AS PageViews FROM hits WHERE "CounterID" = 62 AND "EventDate" >= '2013-07-01' AND "EventDate" <= '2013-07-31' AND "DontCountHits" = 0 AND "IsRefresh" = 0 AND "URL" <> '' GROUP BY "URL" ORDER BY PageViews DESC LIMIT 10
---
SELECT REGEXP_REPLACE("Referer", '^https?://(?:www\.)?([^/]+)/.*$', '\1') AS k, AVG(length("Referer")) AS l, COUNT(*) AS c FROM hits WHERE "Referer" <> '' GROUP BY k HAVING COUNT(*) > 1 ORDER BY l DESC LIMIT 25
---
SELECT DATE_TRUNC('minute', "EventTime") AS M, COUNT(*) AS PageViews FROM hits WHERE "CounterID" = 62 AND "EventDate" >= '2013-07-14' AND "EventDate" <= '2013-07-15' GROUP BY DATE_TRUNC('minute', "EventTime") HAVING COUNT(*) > 0.5 ORDER BY DATE_TRUNC('minute', "EventTime") LIMIT 10
---
SELECT "TraficSourceID", CASE WHEN ("SearchEngineID" = 0 AND "AdvEngineID" = 0) THEN "Referer" ELSE '' END AS Src, COUNT(*) AS PageViews FROM hits GROUP BY 1, 2 HAVING COUNT(*) > 0.5 ORDER BY PageViews DESC, 1, 2 LIMIT 10
---
SELECT COUNT(*) FROM hits WHERE "URL" LIKE '%google%' AND "Title" LIKE '%Google%'
---
SELECT "WindowClientWidth" / 100 AS w, COUNT(*) AS c FROM hits GROUP BY 1 HAVING COUNT(*) > 0.5 ORDER BY 1
---
SELECT sex, area, AVG(salary) AS inc, COUNT(*) AS n FROM public.patient GROUP BY sex, area HAVING COUNT(*) > 0.5 ORDER BY n DESC LIMIT 5
---
SELECT VAR_SAMP(age) AS v, STDDEV_POP(salary) AS sd, SUM(age) / COUNT(age) AS m, POWER(STDDEV(age), 2) AS p FROM patient
---
SELECT a.area, AVG(a.age) + 10 AS x, SUM(2 * a.age + 1) AS y, 2 * SUM(a.age) AS z FROM patient a WHERE a.age > 0 AND a.age < 100 GROUP BY a.area ORDER BY x
---
SELECT COUNT(*) AS n, CASE WHEN age IS NULL THEN 'none' WHEN age > 50 THEN 'old' ELSE 'young' END AS g FROM (SELECT id, CASE WHEN age > 90 THEN NULL ELSE age END AS age FROM patient) t GROUP BY g ORDER BY g
---
WITH t1 AS (SELECT area, age FROM patient WHERE age > 30), t2 AS (SELECT area, AVG(age) AS m FROM t1 GROUP BY area) SELECT t1.area, COUNT(*) AS n FROM t1 JOIN t2 ON t1.area = t2.area WHERE t1.age > t2.m GROUP BY t1.area ORDER BY 1
---
SELECT COUNT(x.a) FROM (SELECT age AS a FROM patient UNION ALL SELECT age FROM patient) AS x
---
SELECT area, COUNT(*) FROM patient WHERE id IN (SELECT patient_id FROM visit WHERE cost > 800) GROUP BY area ORDER BY area
---
SELECT MAX(n) AS most, AVG(n) AS mean FROM (SELECT patient_id, COUNT(*) AS n FROM visit GROUP BY patient_id) t
---
SELECT COUNT(*) FROM patient WHERE sqrt(age) > 7 AND ln(age + 1) < 4.5
---
SELECT RANK() OVER (ORDER BY COUNT(*) DESC) AS r, area FROM patient GROUP BY area ORDER BY r
---
SELECT AVG(cost) AS m FROM visit INNER JOIN patient ON visit.patient_id = patient.id AND patient.sex = 'f' WHERE kind = 'test' OR kind = 'surgery'
---
SELECT v.kind, p.area, COUNT(DISTINCT p.id) AS people, SUM(v.cost) / COUNT(DISTINCT p.id) AS per_head FROM patient p RIGHT JOIN visit v ON v.patient_id = p.id GROUP BY v.kind, p.area HAVING COUNT(*) > 0.5 ORDER BY 1, 2
---
SELECT COUNT(*) FROM patient p CROSS JOIN region r WHERE r.r_name = 'ASIA'
---
SELECT COUNT(*) FROM visit a JOIN visit b ON a.patient_id = b.patient_id AND a.visit_id < b.visit_id
---
SELECT a.kind, COUNT(DISTINCT a.patient_id) FROM visit a WHERE EXISTS (SELECT 1 FROM visit b WHERE b.patient_id = a.patient_id AND b.started_at > a.started_at AND b.started_at <= a.started_at + INTERVAL '30 days') GROUP BY a.kind HAVING COUNT(*) > 0.5 ORDER BY 1
---
WITH RECURSIVE q AS (SELECT COUNT(*) AS n FROM patient UNION ALL SELECT n - 30 FROM q WHERE n > 30) SELECT COUNT(*) FROM patient p WHERE p.age IN (SELECT n FROM q)
---
WITH RECURSIVE o(n) AS (SELECT COUNT(*) FROM patient UNION ALL SELECT o.n - 50 FROM o JOIN (WITH RECURSIVE i(k) AS (SELECT COUNT(*) FROM visit UNION ALL SELECT k - 100 FROM i WHERE k > 100) SELECT COUNT(*) AS steps FROM i) s ON s.steps > 2 WHERE o.n > 0) SELECT n FROM o ORDER BY n
---
SELECT i.title, COUNT(*) FILTER (WHERE p.id IS NOT NULL) FROM area_info i LEFT JOIN patient p ON p.area = i.area GROUP BY i.title ORDER BY i.title
---
SELECT 7/2, version() IS NOT NULL
---
SELECT 7/2, now() IS NULL
---
SELECT pg_typeof(7/2), 7/2
---
SELECT 7/2 AS a, length(current_schema()) / 4 AS b
---
SELECT current_schema(), 10/4, 10.0/4
---
SELECT 'x' || current_schema || 7/2
---
SELECT CASE WHEN current_schema() = 'public' THEN 7/2 ELSE 0 END
---
SELECT current_date - current_date, 5/2
---
SELECT 5/2 AS x, (SELECT count(*) FROM pg_class WHERE relname = 'pg_class') / 2 AS y
---
SELECT 7/2, 'a' || 1/2 FROM pg_class WHERE relname = 'pg_class'
---
SELECT relnatts/2, 7.0/2 FROM pg_class WHERE relname = 'pg_class'
---
SELECT -7/2, -7 % 3, current_schema()
---
SELECT current_schema() AS s, 1 = 1.0 AS q, 7/2 AS d ORDER BY 1 LIMIT 1
---
SELECT * FROM (SELECT 7/2 AS q, current_schema() AS w) t
---
SELECT 7/2 WHERE current_schema() = 'public'
---
WITH a AS (SELECT current_schema() AS s, 7/2 AS d) SELECT s, d/2 FROM a
---
SELECT has_table_privilege('pg_class', 'select'), 9/2, NULL::int
---
SELECT concat('a', NULL, 7/2), current_schema()
---
SELECT 7/2 UNION ALL SELECT length(current_schema())/4
---
SELECT format('%s', 7/2), current_schema()
---
SELECT coalesce(current_setting('no.such', true), 'none'), 3/2
---
SELECT array_to_string(current_schemas(false), ','), current_schemas(false), 3/2
---
SELECT 'pg_class'::regclass, 3/2
---
SELECT 'b' AS s, 7/2 AS d ORDER BY 1
---
SELECT timestamp '1 Jun 2023 03:04 PM', date '2023-152', date 'Jun 1 2023', '6/1/2023'::date
---
SELECT timestamp '2023-06-01 12:30 am', timestamp '2023-06-01 12:30:15 PM', '2023-06-01 00:30 AM'::timestamp, date '1 Jun 2023 03:04 PM'
---
SELECT date '2023-366'
---
SELECT date '2024-366', date '2023-001'
---
SELECT date 'yesterday' - current_date, date 'tomorrow' - date 'today', timestamp 'yesterday' = current_date - 1
---
SELECT COUNT(*) FROM visit WHERE started_at < timestamp '1 Jun 2023 03:04 PM'
---
SELECT COUNT(*) FROM visit WHERE started_at < '1 Jun 2023 03:04 PM' AND day > '2023-032'
---
SELECT COUNT(*) FROM visit WHERE day < 'yesterday'::date
---
SELECT string_agg(DISTINCT r_name, ',' ORDER BY r_name) FROM region
---
SELECT string_agg(DISTINCT area, ', ') FROM area_info
---
SELECT string_agg(DISTINCT left(n_name, 1), '' ORDER BY left(n_name, 1) DESC) FROM nation
---
SELECT n_regionkey, string_agg(DISTINCT left(n_name, 1), ',') AS s FROM nation GROUP BY 1 ORDER BY 1
---
SELECT string_agg(DISTINCT area, '|' ORDER BY area) FILTER (WHERE n > 26) FROM (SELECT area, COUNT(*) AS n FROM patient GROUP BY area) t
---
SELECT COUNT(*) FROM visit WHERE (patient_id, kind) IN (SELECT patient_id, kind FROM visit WHERE cost > 500)
---
SELECT COUNT(*) FROM visit v WHERE (patient_id, day) IN (SELECT patient_id, MAX(day) FROM visit GROUP BY patient_id)
---
SELECT COUNT(*) FROM visit v WHERE kind = 'test' OR (patient_id, cost) = ANY (SELECT patient_id, MAX(cost) FROM visit GROUP BY patient_id)
---
SELECT COUNT(*) FROM patient WHERE (area, sex) IN (SELECT area, 'f' FROM area_info WHERE density > 10)
---
SELECT COUNT(*) FROM visit v WHERE cost >= ALL (SELECT cost FROM visit w WHERE w.patient_id = v.patient_id)
---
SELECT COUNT(*) FROM visit v WHERE cost > ANY (SELECT cost FROM visit w WHERE w.patient_id = v.patient_id)
---
SELECT kind, COUNT(*) FROM visit v WHERE started_at <= ALL (SELECT started_at FROM visit w WHERE w.patient_id = v.patient_id) GROUP BY kind ORDER BY kind
---
SELECT COUNT(*) FROM patient p WHERE age < ALL (SELECT cost FROM visit v WHERE v.patient_id = p.id)
---
SELECT COUNT(*) FROM patient p WHERE age < ANY (SELECT cost FROM visit v WHERE v.patient_id = p.id AND kind = 'surgery')
---
SELECT COUNT(*) FROM patient p WHERE NOT age < ANY (SELECT cost FROM visit v WHERE v.patient_id = p.id AND kind = 'surgery')
---
SELECT COUNT(*) FROM patient WHERE salary > ALL (SELECT AVG(salary) FROM patient GROUP BY area)
---
SELECT COUNT(*) FROM patient WHERE salary > SOME (SELECT AVG(salary) FROM patient GROUP BY area)
---
SELECT area FROM patient GROUP BY area HAVING COUNT(*) >= ALL (SELECT COUNT(*) FROM patient GROUP BY area)
---
SELECT area, AVG(age) FROM patient GROUP BY area HAVING AVG(age) <= ALL (SELECT AVG(age) FROM patient GROUP BY area)
---
SELECT area FROM area_info WHERE density >= ALL (SELECT density FROM area_info)
---
SELECT a.area FROM area_info a WHERE a.density > ALL (SELECT b.density FROM area_info b WHERE b.area <> 'north' AND b.title = a.title) ORDER BY 1
---
SELECT n_name, n_nationkey > ALL (SELECT 3 UNION ALL SELECT NULL) AS a, n_nationkey > ANY (SELECT 3 UNION ALL SELECT NULL) AS b, n_nationkey = ALL (SELECT 3 UNION ALL SELECT NULL) AS c, n_nationkey <> ANY (SELECT 3 UNION ALL SELECT NULL) AS d FROM nation ORDER BY 1
---
SELECT NULL::int > ALL (SELECT n_nationkey FROM nation), NULL::int > ALL (SELECT n_nationkey FROM nation WHERE false), NULL::int < ANY (SELECT n_nationkey FROM nation WHERE false), 3 = ALL (SELECT 3 FROM nation), 3 <> ANY (SELECT 3 FROM nation)
---
SELECT COUNT(*) FILTER (WHERE (age > ALL (SELECT inhabitants / 1000 FROM area_info UNION ALL SELECT NULL)) IS NULL) AS a, COUNT(*) FILTER (WHERE age > ALL (SELECT 50 UNION ALL SELECT 40)) AS b, COUNT(*) FILTER (WHERE NOT (age <= ANY (SELECT 50 UNION ALL SELECT NULL))) AS c FROM patient
---
SELECT COUNT(*) FROM patient WHERE area > ALL (SELECT 'east' UNION ALL SELECT 'north')
---
SELECT COUNT(*) FROM visit WHERE day > ALL (SELECT DATE '2023-05-01' UNION SELECT DATE '2024-01-01')
---
SELECT COUNT(*) FROM patient WHERE age > ALL (ARRAY(SELECT 50 UNION SELECT 60))
---
SELECT COUNT(*) FROM patient WHERE age > ALL ((SELECT 50 UNION SELECT 60))
---
SELECT area, MAX(age) > ALL (SELECT 100 UNION SELECT 2) AS old FROM patient GROUP BY area ORDER BY area
---
WITH t AS (SELECT area, COUNT(*) AS n FROM patient GROUP BY area) SELECT area FROM t WHERE n >= ALL (SELECT n FROM t)
---
WITH t AS (SELECT area, COUNT(*) AS n FROM patient GROUP BY area) SELECT a.area FROM t a WHERE n > ALL (SELECT n FROM t b WHERE b.area <> 'north') OR n <= ALL (SELECT n FROM t c) ORDER BY 1
---
SELECT date_trunc('decade', born), COUNT(*) FROM patient GROUP BY 1 ORDER BY 1
---
SELECT date_trunc('century', born) AS c, date_trunc('millennium', started_at) AS m, COUNT(*) FROM patient p JOIN visit v ON v.patient_id = p.id GROUP BY 1, 2 ORDER BY 1
---
SELECT ended_at - started_at AS d, COUNT(*) AS n FROM visit GROUP BY 1 HAVING COUNT(*) > 3 ORDER BY 1
---
SELECT age, SUM(n) OVER (ORDER BY age RANGE BETWEEN 5 PRECEDING AND 5 FOLLOWING) AS s FROM (SELECT age, COUNT(*) AS n FROM patient GROUP BY age) AS t WHERE n > 0.5 ORDER BY age
---
SELECT age, SUM(COUNT(*)) OVER (ORDER BY age DESC RANGE BETWEEN 5 PRECEDING AND CURRENT ROW) AS s FROM patient GROUP BY age HAVING COUNT(*) > 0.5 ORDER BY age
---
SELECT day, SUM(COUNT(*)) OVER (ORDER BY day RANGE BETWEEN INTERVAL '6 days' PRECEDING AND CURRENT ROW) AS s FROM visit GROUP BY day HAVING COUNT(*) > 0.5 ORDER BY day
---
SELECT area, density, COUNT(*) OVER (ORDER BY density RANGE BETWEEN 12.5 PRECEDING AND 12.5 FOLLOWING) AS s, MIN(area) OVER (ORDER BY inhabitants RANGE BETWEEN UNBOUNDED PRECEDING AND 100 FOLLOWING) AS m FROM area_info ORDER BY area
---
SELECT m, SUM(n) OVER (ORDER BY m RANGE BETWEEN INTERVAL '2 months' PRECEDING AND INTERVAL '1 month' FOLLOWING) AS s FROM (SELECT date_trunc('month', started_at) AS m, COUNT(*) AS n FROM visit GROUP BY 1) t WHERE n > 0.5 ORDER BY m
---
SELECT n, COUNT(*) OVER (ORDER BY n RANGE BETWEEN 1 PRECEDING AND CURRENT ROW) AS c FROM (SELECT 1 AS n UNION ALL SELECT 2 UNION ALL SELECT NULL UNION ALL SELECT NULL UNION ALL SELECT 4) t ORDER BY n
---
SELECT kind, day, COUNT(*) OVER (PARTITION BY kind ORDER BY day RANGE BETWEEN INTERVAL '30 days' PRECEDING AND INTERVAL '1 day' PRECEDING) AS c FROM (SELECT kind, day, COUNT(*) AS n FROM visit GROUP BY kind, day) t WHERE n > 0.5 AND kind IS NOT NULL ORDER BY kind, day
---
SELECT kind, json_agg(area ORDER BY area) AS areas FROM (SELECT v.kind, p.area, count(*) AS n FROM visit v JOIN patient p ON p.id = v.patient_id GROUP BY 1, 2) t WHERE kind IS NOT NULL GROUP BY kind ORDER BY kind
---
SELECT json_build_object('area', area, 'n', n) AS j FROM (SELECT area, count(*) AS n FROM patient GROUP BY area) t ORDER BY area
---
SELECT jsonb_object_agg(area, n) AS j FROM (SELECT area, count(*) AS n FROM patient GROUP BY area) t
---
SELECT json_agg(t) FROM (SELECT area, title FROM area_info ORDER BY area) t
---
SELECT json_agg(json_build_object('a', area, 'i', inhabitants) ORDER BY area) FROM area_info
---
SELECT md5(area) AS h, count(*) FROM patient GROUP BY 1 ORDER BY 1
---
SELECT md5(name) AS h, count(*) FROM patient GROUP BY 1 ORDER BY 1
---
SELECT md5(title) FROM area_info ORDER BY 1
---
SELECT regexp_replace(name, '^.* ', '') AS last, count(*) FROM patient GROUP BY 1 ORDER BY 1
---
SELECT regexp_replace("Referer", '^.*//', '') AS r, count(*) FROM hits GROUP BY 1 ORDER BY 1
---
SELECT regexp_replace(name, '\s+', ' ', 'g') AS n2, count(*) FROM patient GROUP BY 1
---
SELECT regexp_replace(note, '(\w+) (\w+)', '\2 \1') AS n2, count(*) FROM visit GROUP BY 1
---
SELECT (regexp_match("URL", '//([^/]+)'))[1] AS host, count(*) FROM hits GROUP BY 1
---
SELECT regexp_substr(note, '[0-9]+') AS d, count(*) FROM visit GROUP BY 1
---
SELECT regexp_count(note, 'o') AS c, count(*) FROM visit GROUP BY 1
---
SELECT (string_to_array(name, ' '))[1] AS first, count(*) FROM patient GROUP BY 1 ORDER BY 1
---
SELECT (date_trunc('month', day) + interval '1 month - 1 day')::date AS eom, count(*) FROM visit GROUP BY 1 ORDER BY 1
---
SELECT p_brand, array_agg(DISTINCT p_container ORDER BY p_container) FROM part GROUP BY p_brand ORDER BY 1
---
SELECT upper(n_name) || ' (' || r_name || ')' AS label, length(n_name) AS l, ascii(n_name) AS a, md5(n_name) AS m FROM nation JOIN region ON r_regionkey = n_regionkey ORDER BY 1
---
SELECT translate(n_name, 'AEIOU', '*****') AS t, overlay(n_name placing 'xx' from 2 for 1) AS o, position('A' in n_name) AS p FROM nation ORDER BY 1
---
SELECT n_regionkey, json_agg(n_name ORDER BY n_name) FROM nation GROUP BY 1 ORDER BY 1
---
SELECT round(p_retailprice, -2) AS r, count(*) FROM part GROUP BY 1 ORDER BY 1
---
SELECT extract(epoch from timestamptz '2024-01-01 00:00:00+02') AS e, timestamptz '2024-01-01 00:00:00+02' AT TIME ZONE 'UTC' AS u, timestamp '2024-07-01 12:00' AT TIME ZONE 'Europe/Paris' AS p
---
SELECT extract(hour from started_at AT TIME ZONE 'UTC' AT TIME ZONE 'America/New_York') AS h, count(*) FROM visit GROUP BY 1 ORDER BY 1
---
SELECT width_bucket(cost, ARRAY[0, 100, 500, 1000]) AS b, count(*) FROM visit GROUP BY 1 ORDER BY 1
---
SELECT initcap(name) AS n, ascii(name) AS a, count(*) FROM patient GROUP BY 1, 2 ORDER BY 1
---
SELECT translate(name, 'aeiou', 'xxxxx') AS n, count(*) FROM patient GROUP BY 1 ORDER BY 1
---
SELECT btrim(name, 'A') AS n, octet_length(name) AS o, count(*) FROM patient GROUP BY 1, 2 ORDER BY 1
---
SELECT overlay(name placing '**' from 2 for 2) AS n, count(*) FROM patient GROUP BY 1 ORDER BY 1
---
SELECT round(age, -1) AS a, count(*) FROM patient GROUP BY 1 ORDER BY 1
---
SELECT round(salary, -4) AS a, count(*) FROM patient GROUP BY 1 ORDER BY 1
---
SELECT trunc(salary, -4) AS a, count(*) FROM patient GROUP BY 1 ORDER BY 1
---
SELECT array_agg(n ORDER BY area) AS ns, array_to_string(array_agg(area ORDER BY area), '; ') AS s FROM (SELECT area, count(*) AS n FROM patient GROUP BY area) t
---
select count(distinct("basetable0"."patient_id")) + max(case when "basetable0"."patient_id" is null then 1 else 0 end) as "a0" from "public"."visit" as "basetable0"
---
SELECT kind, n, avg(n) OVER () AS m, n - avg(n) OVER () AS d, (n - avg(n) OVER ()) / nullif(stddev(n) OVER (), 0) AS z FROM (SELECT kind, count(*) AS n FROM visit WHERE kind IS NOT NULL GROUP BY kind) t ORDER BY kind
---
SELECT count(*) FROM patient WHERE name = 'Eve O''Hara' OR name LIKE E'Bob\x20%' OR name = U&'\0041na Silva'
---
SELECT date_trunc('day', started_at AT TIME ZONE 'UTC' AT TIME ZONE 'Europe/Paris') AS d, count(*) FROM visit WHERE started_at < '2023-01-20' GROUP BY 1 HAVING count(*) > 0.5 ORDER BY 1
---
SELECT date_trunc('month', started_at::timestamptz, 'Europe/Paris') AS m, count(*) FROM visit WHERE started_at IS NOT NULL GROUP BY 1 HAVING count(*) > 0.5
---
SELECT date_trunc('week', started_at + interval '1 day') - interval '1 day' AS w, count(*) FROM visit WHERE started_at < '2023-02-20' GROUP BY 1 HAVING count(*) > 0.5
---
SELECT (started_at AT TIME ZONE 'UTC' AT TIME ZONE 'America/New_York')::date AS d, count(*), sum(cost) FROM visit WHERE started_at BETWEEN '2023-03-01' AND '2023-03-31' GROUP BY 1 HAVING count(*) > 0.5
---
SELECT extract(dow from timezone('Asia/Kolkata', started_at::timestamptz)) AS d, count(*) FROM visit WHERE started_at IS NOT NULL GROUP BY 1 ORDER BY 1
---
SELECT to_char(started_at AT TIME ZONE 'UTC' AT TIME ZONE 'Australia/Sydney', 'YYYY-MM') AS m, count(*) FROM visit GROUP BY 1 HAVING count(*) > 0.5 ORDER BY 1
---
SELECT count(*) FROM visit WHERE started_at AT TIME ZONE 'Europe/Paris' >= '2023-06-01 00:00:00+00'
---
SELECT count(*) FROM visit WHERE (started_at AT TIME ZONE 'Europe/Paris')::date = '2023-06-01'
---
SELECT min(h), max(h) FROM (SELECT patient_id, extract(hour from started_at AT TIME ZONE 'UTC' AT TIME ZONE 'Europe/London') AS h FROM visit) t
---
SELECT t.m, count(*) FROM (SELECT patient_id, started_at AT TIME ZONE 'UTC' AS u, date_trunc('month', started_at) AS m FROM visit) t WHERE extract(hour from t.u AT TIME ZONE 'Europe/Paris') < 8 AND m IS NOT NULL GROUP BY 1 HAVING count(*) > 0.5
---
SELECT timestamp '2024-03-31 02:30' AT TIME ZONE 'Europe/Paris' AS gap, timestamp '2024-10-27 02:30' AT TIME ZONE 'Europe/Paris' AS twice, timestamptz '2024-07-01 12:00+00' AT TIME ZONE 'europe/paris' AS p
---
SELECT date_trunc('day', max(started_at) AT TIME ZONE 'UTC' AT TIME ZONE 'Europe/Paris') > '2024-01-01' AS x FROM visit
---
SELECT jsonb_build_object('area', area, 'n', n, 'x', NULL, 't', true, 'd', date '2024-01-01', 'ts', timestamp '2024-01-01 10:00') AS j FROM (SELECT area, count(*) AS n FROM patient GROUP BY area) t ORDER BY area
---
SELECT json_build_array(area, n) AS j FROM (SELECT area, count(*) AS n FROM patient GROUP BY area) t ORDER BY area
---
SELECT jsonb_agg(t) AS j FROM (SELECT area, title FROM area_info ORDER BY area) t
---
SELECT json_agg(n ORDER BY n DESC) FILTER (WHERE n > 20) AS j FROM (SELECT area, count(*) AS n FROM patient GROUP BY area) t
---
SELECT to_json(title) AS j, to_jsonb(inhabitants) AS k FROM area_info ORDER BY title
---
SELECT json_agg(json_build_object('m', m, 'n', n) ORDER BY m) AS j FROM (SELECT date_trunc('year', day)::date AS m, count(*) AS n FROM visit GROUP BY 1) t WHERE m IS NOT NULL
---
SELECT json_build_object('total', count(*), 'mean', round(avg(age), 1)) AS j FROM patient
---
SELECT count(*) FROM visit WHERE ended_at > started_at + '3 hours'::interval
---
SELECT interval '1 month -1 day' AS a, interval '1 month - 1 day' AS b, interval '-2 days' AS c
---
SELECT E'a\nb\\c\'d\x41\u0042\tz\101' AS x, E'it''s' AS y, E'q\qx' AS z
---
SELECT count(*) FROM patient WHERE name LIKE E'Bob\x20%'
---
SELECT kind, n, avg(n) OVER () AS m, (n - avg(n) OVER ()) / nullif(stddev(n) OVER (), 0) AS z, variance(n) OVER () AS v FROM (SELECT kind, count(*) AS n FROM visit WHERE kind IS NOT NULL GROUP BY kind) t ORDER BY kind
---
select max(case when note is null then 1 else 0 end) AS a, count(*) + max(case when area is null then 1 else 0 end) AS b from visit join patient on id=patient_id
---
SELECT COUNT(DISTINCT (sex, area)) AS n, COUNT(DISTINCT ROW(sex, area, age)) AS m, COUNT(DISTINCT (area, born)) AS b FROM patient
---
SELECT kind, COUNT(DISTINCT (patient_id, day)) AS n, COUNT(DISTINCT (patient_id, started_at, ended_at)) AS m FROM visit GROUP BY kind ORDER BY kind
---
SELECT COUNT(DISTINCT (patient_id, kind)) FILTER (WHERE cost > 50) AS n, COUNT(DISTINCT (cost, kind, ended_at - started_at)) AS m FROM visit
---
SELECT COUNT(DISTINCT (n % 3, area)) AS n, COUNT(DISTINCT (area, NULL::text)) AS m FROM (SELECT area, sex, COUNT(*) AS n FROM patient GROUP BY 1, 2) t
---
SELECT COUNT(DISTINCT (a, b)) AS n, COUNT(DISTINCT (b, a, c)) AS m, COUNT(DISTINCT ROW(b)) AS k FROM (VALUES (',', ''), ('', ','), (NULL, ''), ('', NULL), (NULL, NULL), (NULL, NULL), ('1:', 'x'), ('1', ':x'), ('a', '2:b'), ('a,1', 'b')) AS v(a, b), (VALUES (1.5), (2)) AS w(c)
---
SELECT COUNT(DISTINCT (area, inhabitants)) AS n, COUNT(DISTINCT (inhabitants > 2000, title)) AS m FROM area_info
---
SELECT AVG(k) AS a, MAX(k) AS m FROM (SELECT patient_id, COUNT(DISTINCT (kind, day)) AS k FROM visit GROUP BY 1) t
---
SELECT COUNT(*) AS n FROM patient WHERE ROW(sex, area) = ROW('f', 'north')
---
SELECT to_char(COUNT(*), '9,999') AS n, to_char(AVG(age), 'FM990.00') AS a, to_char(SUM(cost), '$999,999.99') AS s FROM patient JOIN visit ON id = patient_id
---
SELECT to_char(age, '000') AS k, COUNT(*) AS n FROM patient WHERE age < 30 GROUP BY 1 HAVING COUNT(*) > 0.5 ORDER BY 1
---
SELECT to_char(cost, 'FM9,990.0') AS k, COUNT(*) AS n FROM visit WHERE cost < 40 GROUP BY 1 HAVING COUNT(*) > 0.5 ORDER BY 1
---
SELECT area, to_char(100.0 * COUNT(*) / SUM(COUNT(*)) OVER (), 'FM990.0') || ' %' AS share FROM patient GROUP BY area ORDER BY area
---
SELECT title, to_char(inhabitants, '9,999,999') AS n, to_char(-inhabitants, 'S9G999G999') AS m FROM area_info ORDER BY title
---
SELECT to_char(1234.565, '9,999.99') AS a, to_char(-0.1, '99.99') AS b, to_char(0, 'FM9.99') AS c, to_char(12345, '999') AS d, to_char(485, '"Good number:" 999') AS e, to_char(-12, '999MI') AS f
---
SELECT to_char(12, '099')
---
SELECT to_char(AVG(cost), 'FM999,999.00') FROM visit
---
SELECT SUM(age & 7) AS a, SUM(age | 64) AS o, SUM(age # 85) AS x, SUM(~age) AS n, SUM(age << 3) AS l, SUM(age >> 2) AS r, SUM((-age) >> 1) AS m FROM patient
---
SELECT age & 3 AS k, COUNT(*) AS n FROM patient GROUP BY 1 ORDER BY 1
---
SELECT COUNT(*) FROM patient WHERE age & 1 = 1 AND (~age) & 2 <> 0 OR age << 1 > 150
---
SELECT area, COUNT(*) & 15 AS a, COUNT(*) << 40 AS l, COUNT(*) >> 2 AS r, ~COUNT(*) AS n, COUNT(*) # 5 | 1 AS x FROM patient GROUP BY area ORDER BY area
---
SELECT title, inhabitants & 255 AS a, inhabitants >> 4 AS r, inhabitants::bigint << 35 AS l, -inhabitants # 77 AS x FROM area_info ORDER BY title
---
SELECT 5 & 3 AS a, 5 | 8 AS o, 5 # 1 AS x, ~5 AS n, 1 << 4 AS l, 1 << 31 AS w, 1 << 40 AS v, 1::bigint << 40 AS b, -17 >> 2 AS r, ~(5 + 1) AS m, 2 | 4 + 1 AS p
---
SELECT SUM(CAST(age AS bigint) << 40) AS s, MAX((CAST(age AS bigint) << 40) >> 38) AS m FROM patient
---
SELECT 6 & 3
---
SELECT COUNT(*) FROM visit WHERE (day + (visit_id % 3) * INTERVAL '1 day')::date BETWEEN '2023-01-06' AND '2023-02-06'
---
SELECT COUNT(*) FROM visit v JOIN patient p ON p.id = v.patient_id WHERE ended_at - started_at > p.age * INTERVAL '1 minute'
---
SELECT COUNT(*) FROM visit v JOIN patient p ON p.id = v.patient_id WHERE ended_at > started_at + p.age * INTERVAL '1 minute' AND started_at - INTERVAL '1 hour' * p.age < '2024-01-01'
---
SELECT MAX(day + p.age * INTERVAL '36 hours') AS m, MIN(started_at - p.age * INTERVAL '1 second') AS s FROM visit v JOIN patient p ON p.id = v.patient_id
---
SELECT title, TIMESTAMP '2024-02-28 12:00' + (inhabitants % 5) * INTERVAL '1 day' AS t FROM area_info ORDER BY title
