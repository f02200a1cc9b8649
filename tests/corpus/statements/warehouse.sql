SELECT o_orderpriority, SUM(CASE WHEN o_orderstatus = 'F' THEN o_totalprice ELSE 0 END) AS done, SUM(CASE WHEN o_orderstatus <> 'F' THEN o_totalprice ELSE 0 END) AS open FROM orders GROUP BY o_orderpriority ORDER BY o_orderpriority
---
WITH yearly AS (SELECT EXTRACT(year FROM o_orderdate) AS y, SUM(o_totalprice) AS total FROM orders GROUP BY 1) SELECT a.y, a.total, b.total AS before, a.total - b.total AS diff FROM yearly a LEFT JOIN yearly b ON b.y = a.y - 1 ORDER BY a.y
---
SELECT c_mktsegment, n_name, SUM(o_totalprice) AS s, RANK() OVER (PARTITION BY c_mktsegment ORDER BY SUM(o_totalprice) DESC) AS r FROM customer JOIN orders ON c_custkey = o_custkey JOIN nation ON n_nationkey = c_nationkey GROUP BY c_mktsegment, n_name
---
SELECT c_mktsegment, o_orderstatus, SUM(o_totalprice) FROM customer JOIN orders ON c_custkey = o_custkey GROUP BY ROLLUP (c_mktsegment, o_orderstatus)
---
SELECT c_mktsegment, o_orderstatus, GROUPING(c_mktsegment) + GROUPING(o_orderstatus) AS lvl, COUNT(*) FROM customer JOIN orders ON c_custkey = o_custkey GROUP BY CUBE (c_mktsegment, o_orderstatus)
---
SELECT AVG(cnt) FROM (SELECT o_custkey, COUNT(*) AS cnt FROM orders WHERE o_orderdate BETWEEN '1993-01-01' AND '1996-12-31' GROUP BY o_custkey HAVING COUNT(*) BETWEEN 2 AND 5) t
---
SELECT COUNT(*) FROM (SELECT DISTINCT o_custkey, o_orderdate FROM orders INTERSECT SELECT DISTINCT o_custkey, o_orderdate FROM orders WHERE o_orderstatus = 'O') x
---
SELECT COUNT(*) FROM (SELECT o_custkey FROM orders WHERE o_orderstatus = 'F' EXCEPT SELECT o_custkey FROM orders WHERE o_orderstatus = 'P') x
---
SELECT SUM(o_totalprice) / 7.0 AS avg_weekly, CAST(SUM(o_totalprice) AS DECIMAL(20,2)) / COUNT(*) AS per_order FROM orders
---
SELECT l_shipmode, SUM(CASE WHEN l_receiptdate - l_shipdate <= 10 THEN 1 ELSE 0 END) AS "10 days", SUM(CASE WHEN l_receiptdate - l_shipdate > 10 AND l_receiptdate - l_shipdate <= 20 THEN 1 ELSE 0 END) AS "11-20 days", SUM(CASE WHEN l_receiptdate - l_shipdate > 20 THEN 1 ELSE 0 END) AS ">20 days" FROM lineitem GROUP BY l_shipmode ORDER BY 1 LIMIT 100
---
SELECT CASE WHEN am.c > 100 THEN 1 ELSE CAST(am.c AS DECIMAL(15,4)) / CAST(pm.c AS DECIMAL(15,4)) END AS ratio FROM (SELECT COUNT(*) AS c FROM lineitem WHERE l_quantity < 25) am, (SELECT COUNT(*) AS c FROM lineitem WHERE l_quantity >= 25) pm
---
SELECT * FROM (SELECT COUNT(*) AS h8 FROM hits WHERE EXTRACT(hour FROM "EventTime") = 8) a, (SELECT COUNT(*) AS h9 FROM hits WHERE EXTRACT(hour FROM "EventTime") = 9) b
---
SELECT s, COUNT(*) FROM (SELECT o_custkey, SUM(CASE WHEN o_orderstatus = 'F' THEN 1 ELSE 0 END) AS s FROM orders GROUP BY o_custkey) t GROUP BY s ORDER BY s
---
SELECT o_orderstatus, AVG(o_totalprice), STDDEV_SAMP(o_totalprice), STDDEV_SAMP(o_totalprice) / AVG(o_totalprice) AS cov FROM orders GROUP BY o_orderstatus
---
SELECT d_moy, total, SUM(total) OVER (ORDER BY d_moy ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS cume FROM (SELECT EXTRACT(month FROM o_orderdate) AS d_moy, COUNT(*) AS total FROM orders GROUP BY 1) t ORDER BY 1
---
SELECT n_name, total, total * 100.0 / SUM(total) OVER (PARTITION BY n_regionkey) AS revenueratio FROM (SELECT n_name, n_regionkey, SUM(o_totalprice) AS total FROM orders JOIN customer ON c_custkey = o_custkey JOIN nation ON n_nationkey = c_nationkey GROUP BY n_name, n_regionkey) t
---
SELECT c_mktsegment, COUNT(DISTINCT c_custkey) FROM customer WHERE c_custkey NOT IN (SELECT o_custkey FROM orders) GROUP BY c_mktsegment
---
SELECT COUNT(*) FROM customer c WHERE NOT EXISTS (SELECT * FROM orders o WHERE o.o_custkey = c.c_custkey)
---
SELECT COUNT(*) FROM customer c WHERE EXISTS (SELECT 1 FROM orders WHERE o_custkey = c.c_custkey AND o_orderstatus = 'F') AND (EXISTS (SELECT 1 FROM orders WHERE o_custkey = c.c_custkey AND o_orderstatus = 'O') OR EXISTS (SELECT 1 FROM orders WHERE o_custkey = c.c_custkey AND o_orderstatus = 'P'))
---
SELECT COUNT(*) FROM orders o WHERE o_totalprice > 1.2 * (SELECT AVG(o_totalprice) FROM orders i WHERE i.o_custkey = o.o_custkey)
---
SELECT o_orderpriority, COUNT(*) FROM orders WHERE o_totalprice > (SELECT AVG(o_totalprice) FROM orders) GROUP BY o_orderpriority HAVING COUNT(*) > 3
---
SELECT COALESCE(c_mktsegment, 'ALL') AS seg, SUM(c_acctbal) FROM customer GROUP BY GROUPING SETS ((c_mktsegment), ())
---
-- suppressed
SELECT SUBSTRING(c_phone FROM 1 FOR 2) AS cc, COUNT(*) FROM customer WHERE SUBSTRING(c_phone FROM 1 FOR 2) IN ('13', '31', '23', '29') GROUP BY 1
---
SELECT AVG(CAST(l_quantity AS DOUBLE PRECISION)), AVG(l_extendedprice * (1 - l_discount)), MIN(l_shipdate), MAX(l_quantity) FROM lineitem WHERE l_shipmode IN ('AIR', 'RAIL')
---
SELECT l_returnflag, ROUND(SUM(l_extendedprice * (1 - l_discount) * (1 + l_tax)), 2) AS charge FROM lineitem WHERE l_shipdate <= DATE '1998-12-01' - INTERVAL '90' DAY GROUP BY l_returnflag
---
WITH ranked AS (SELECT o_custkey, o_totalprice, ROW_NUMBER() OVER (PARTITION BY o_custkey ORDER BY o_totalprice DESC, o_orderdate, o_orderkey, o_orderstatus, o_orderpriority, o_shippriority, o_comment) AS rn FROM orders) SELECT AVG(o_totalprice) FROM ranked WHERE rn = 1
---
SELECT COUNT(*) FROM (SELECT o_custkey, o_orderdate, LEAD(o_orderdate) OVER (PARTITION BY o_custkey ORDER BY o_orderdate) AS nxt FROM (SELECT DISTINCT o_custkey, o_orderdate FROM orders) d) t WHERE nxt - o_orderdate < 60
---
SELECT EXTRACT(year FROM o_orderdate) AS y, EXTRACT(quarter FROM o_orderdate) AS q, COUNT(DISTINCT o_custkey) FROM orders GROUP BY 1, 2 ORDER BY 1, 2
---
SELECT CASE WHEN o_totalprice BETWEEN 0 AND 50000 THEN 'a' WHEN o_totalprice BETWEEN 50000.01 AND 150000 THEN 'b' ELSE 'c' END AS bucket, COUNT(*), SUM(o_totalprice) FROM orders GROUP BY CASE WHEN o_totalprice BETWEEN 0 AND 50000 THEN 'a' WHEN o_totalprice BETWEEN 50000.01 AND 150000 THEN 'b' ELSE 'c' END
---
SELECT n_name, r_name FROM nation, region WHERE n_regionkey = r_regionkey ORDER BY r_name, n_name
---
SELECT r_name, COUNT(*), string_agg(n_name, ',' ORDER BY n_name) FROM nation JOIN region ON n_regionkey = r_regionkey GROUP BY r_name HAVING COUNT(*) > 1
---
SELECT p_brand, AVG(p_retailprice), MAX(p_size), COUNT(DISTINCT p_container) FROM part GROUP BY p_brand ORDER BY 2 DESC
---
SELECT SUM(DISTINCT p_size), AVG(DISTINCT p_size) FROM part
---
SELECT ps_partkey, SUM(ps_supplycost * ps_availqty) AS value FROM partsupp, supplier, nation WHERE ps_suppkey = s_suppkey AND s_nationkey = n_nationkey AND n_name = 'GERMANY' GROUP BY ps_partkey HAVING SUM(ps_supplycost * ps_availqty) > (SELECT SUM(ps_supplycost * ps_availqty) * 0.001 FROM partsupp) ORDER BY value DESC
---
SELECT p.p_name, x.cheapest FROM part p CROSS JOIN LATERAL (SELECT MIN(ps_supplycost) AS cheapest FROM partsupp WHERE ps_partkey = p.p_partkey) x WHERE p.p_size < 5
---
SELECT p.p_partkey, t.ps_suppkey, t.ps_supplycost FROM part p, LATERAL (SELECT * FROM partsupp ps WHERE ps.ps_partkey = p.p_partkey ORDER BY ps_supplycost LIMIT 2) t WHERE p.p_size < 4
---
SELECT n.n_name, s.k FROM nation n LEFT JOIN LATERAL (SELECT COUNT(*) AS k FROM supplier s WHERE s.s_nationkey = n.n_nationkey) s ON true ORDER BY 1
---
WITH RECURSIVE d(x) AS (SELECT DATE '2023-01-01' UNION ALL SELECT (x + INTERVAL '1 month')::date FROM d WHERE x < DATE '2023-06-01') SELECT d.x, COALESCE(v.n, 0) FROM d LEFT JOIN (SELECT date_trunc('month', day)::date AS m, COUNT(*) AS n FROM visit GROUP BY 1) v ON v.m = d.x ORDER BY 1
---
WITH RECURSIVE fib(a, b) AS (SELECT 0, 1 UNION ALL SELECT b, a + b FROM fib WHERE b < 100) SELECT a FROM fib
---
WITH RECURSIVE chain AS (SELECT area, 1 AS lvl FROM area_info WHERE area = 'north' UNION SELECT 'east', lvl + 1 FROM chain WHERE lvl < 3) SELECT * FROM chain
---
SELECT array_agg(n_name ORDER BY n_name) FROM nation
---
SELECT n_regionkey, array_agg(n_name ORDER BY n_name DESC) AS names FROM nation GROUP BY n_regionkey ORDER BY 1
---
SELECT array_agg(area ORDER BY n DESC) FROM (SELECT area, COUNT(*) AS n FROM patient GROUP BY area) t
---
SELECT corr(a, b), regr_slope(a, b) FROM (SELECT COUNT(*) AS a, EXTRACT(month FROM day) AS b FROM visit GROUP BY 2) t
---
SELECT area, n, n - LAG(n) OVER (ORDER BY area) AS d, FIRST_VALUE(n) OVER (ORDER BY area), CUME_DIST() OVER (ORDER BY area) FROM (SELECT area, COUNT(*) AS n FROM patient GROUP BY area) t
---
SELECT COUNT(*) FILTER (WHERE cost > 100) * 1.0 / NULLIF(COUNT(*), 0) AS share FROM visit
---
SELECT day, COUNT(*) FROM visit WHERE day >= '2023-01-01'::date AND day < ('2023-01-01'::date + INTERVAL '7 day') GROUP BY day ORDER BY day
---
SELECT SUM(cost), kind FROM visit GROUP BY kind ORDER BY SUM(cost) DESC NULLS LAST FETCH FIRST 2 ROWS ONLY
---
SELECT COUNT(*) FROM patient p JOIN visit v ON v.patient_id = p.id AND v.day > p.admitted WHERE p.area IN (SELECT area FROM area_info WHERE inhabitants > 1500)
---
SELECT a.title, COUNT(p.id) FROM area_info a JOIN patient p ON p.area = a.area WHERE a.density BETWEEN 10 AND 40 GROUP BY a.title
---
SELECT a.title, (SELECT COUNT(*) FROM patient p WHERE p.area = a.area) AS n FROM area_info a
---
SELECT AVG(age) FILTER (WHERE smoker IS TRUE) - AVG(age) FILTER (WHERE smoker IS NOT TRUE) FROM patient
---
SELECT COUNT(*) FROM patient WHERE COALESCE(smoker, false) = false
---
SELECT var_pop(age), var_samp(age), stddev_pop(age), covar_pop(age, salary), regr_slope(salary, age) FROM patient
---
SELECT area, sex, COUNT(*) AS n, RANK() OVER (PARTITION BY area ORDER BY COUNT(*) DESC, sex) FROM patient GROUP BY area, sex
---
SELECT position('-' in note) > 0 AS dashed, COUNT(*) FROM visit GROUP BY 1
---
-- plain: SELECT age // 10 * 10 AS decade, COUNT(*), ROUND(AVG(salary)) FROM patient GROUP BY 1
SELECT age / 10 * 10 AS decade, COUNT(*), ROUND(AVG(salary)) FROM patient GROUP BY age / 10 * 10 ORDER BY decade
---
SELECT FLOOR(age / 10.0) * 10 AS decade, COUNT(*) FROM patient GROUP BY 1 ORDER BY 1
---
SELECT MOD(age, 2) AS odd, COUNT(*) FROM patient GROUP BY 1
---
SELECT EXTRACT(week FROM day) AS w, COUNT(*) FROM visit WHERE EXTRACT(year FROM day) = 2023 GROUP BY 1 ORDER BY 1
---
SELECT COUNT(*) FROM visit WHERE ended_at - started_at > INTERVAL '1 hour'
---
SELECT AVG(EXTRACT(epoch FROM (ended_at - started_at)) / 60) FROM visit
---
SELECT AVG(EXTRACT(epoch FROM d) / 3600) FROM (SELECT patient_id, ended_at - started_at AS d FROM visit) t
---
SELECT AVG(EXTRACT(day FROM a)) FROM (SELECT id, age(admitted, born) AS a FROM patient) t
---
SELECT MAX(EXTRACT(epoch FROM a)) > 0 FROM (SELECT id, age(admitted, born) AS a FROM patient) t
---
SELECT EXTRACT(year FROM a) AS y, COUNT(*) FROM (SELECT id, age(admitted, born) AS a FROM patient) t GROUP BY 1
---
SELECT MIN(date_trunc('month', day)), MAX(date_trunc('quarter', day)) FROM visit
---
SELECT m, COUNT(*) FROM (SELECT patient_id, MIN(date_trunc('month', day)) AS m FROM visit GROUP BY patient_id) t GROUP BY m ORDER BY m
---
SELECT g.d, COUNT(v.patient_id) FROM visit v JOIN generate_series(DATE '2023-01-01', DATE '2023-03-01', INTERVAL '1 month') AS g(d) ON date_trunc('month', v.day) = g.d GROUP BY g.d
---
SELECT g, COUNT(*) FROM patient JOIN generate_series(0, 90, 10) AS g ON age >= g AND age < g + 10 GROUP BY g ORDER BY g
---
SELECT p_retailprice, COUNT(*) FROM part GROUP BY p_retailprice ORDER BY 1 LIMIT 5
---
SELECT DISTINCT p_size % 7 AS m FROM part ORDER BY m
---
SELECT o_orderstatus AS s, o_orderpriority AS p, COUNT(*) AS c FROM orders GROUP BY s, p HAVING COUNT(*) > 10 ORDER BY c DESC, s, p OFFSET 1 LIMIT 3
---
SELECT t.* FROM (SELECT o_orderstatus, COUNT(*) AS c FROM orders GROUP BY 1) t WHERE t.c > 10 ORDER BY t.c
---
SELECT COUNT(*) AS n, 'total' AS label FROM orders UNION ALL SELECT COUNT(*), 'open' FROM orders WHERE o_orderstatus = 'O' ORDER BY n
---
SELECT o_orderstatus, COUNT(*) FROM orders GROUP BY 1 INTERSECT SELECT o_orderstatus, COUNT(*) FROM orders GROUP BY 1
---
SELECT * FROM (VALUES (1, 'one'), (2, 'two')) AS t(n, w) JOIN (SELECT sex, COUNT(*) AS k FROM patient GROUP BY sex) p ON true ORDER BY n, sex
---
SELECT nullif(area, 'north') AS a, COUNT(*) FROM patient GROUP BY 1
---
SELECT SUM(v.cost) FROM visit v LEFT JOIN patient p ON p.id = v.patient_id WHERE p.sex = 'f'
---
SELECT p.area, AVG(COALESCE(t.total, 0)) FROM patient p LEFT JOIN (SELECT patient_id, SUM(cost) AS total FROM visit GROUP BY patient_id) t ON t.patient_id = p.id GROUP BY p.area
---
SELECT COUNT(*) FROM patient p WHERE (SELECT COUNT(*) FROM visit v WHERE v.patient_id = p.id) > 5
---
SELECT AVG((SELECT COUNT(*) FROM visit v WHERE v.patient_id = p.id)) FROM patient p
---
SELECT COUNT(*) FROM visit v WHERE v.day = (SELECT MIN(w.day) FROM visit w WHERE w.patient_id = v.patient_id)
---
SELECT "UserID" % 10 AS shard, COUNT(*) FROM hits GROUP BY shard
---
SELECT COUNT(DISTINCT "RegionID"), COUNT(DISTINCT "SearchPhrase") FROM hits
---
SELECT regexp_replace("Referer", '^https?://(?:www\.)?([^/]+)/.*$', '\1') AS k, COUNT(*) AS c FROM hits WHERE "Referer" <> '' GROUP BY k HAVING COUNT(*) > 1 ORDER BY c DESC
---
SELECT "RegionID", SUM("AdvEngineID"), COUNT(*) AS c, AVG("ResolutionWidth"), COUNT(DISTINCT "UserID") FROM hits GROUP BY "RegionID" ORDER BY c DESC LIMIT 10
---
SELECT AVG(length("URL")), AVG(char_length("Title")) FROM hits WHERE "URL" <> ''
---
SELECT 1 AS "1", COUNT(*) FROM hits GROUP BY 1
---
SELECT CASE WHEN "SearchEngineID" = 0 AND "AdvEngineID" = 0 THEN 'none' ELSE 'some' END AS src, SUM("IsRefresh"), AVG("ResolutionWidth" * 1.5 + 1) FROM hits GROUP BY 1
---
SELECT area, COUNT(*) FROM patient GROUP BY area ORDER BY CASE area WHEN 'north' THEN 1 WHEN 'south' THEN 2 ELSE 3 END, area
---
SELECT GREATEST(COUNT(*), 10), LEAST(COUNT(*), 10) FROM patient WHERE area = 'north'
---
SELECT SUM(cost) OVER () FROM (SELECT kind, SUM(cost) AS cost FROM visit GROUP BY kind) t LIMIT 1
---
SELECT kind, cost, cost > AVG(cost) OVER () AS above FROM (SELECT kind, SUM(cost) AS cost FROM visit GROUP BY kind) t
---
SELECT x.kind FROM (SELECT kind, SUM(cost) AS cost FROM visit GROUP BY kind) x WHERE x.cost = (SELECT MAX(cost) FROM (SELECT kind, SUM(cost) AS cost FROM visit GROUP BY kind) y)
---
SELECT COUNT(*), COUNT(smoker), COUNT(*) - COUNT(smoker) AS missing FROM patient
---
SELECT area, mode() WITHIN GROUP (ORDER BY sex) FROM patient GROUP BY area
---
SELECT MEDIAN(n) FROM (SELECT area, COUNT(*) AS n FROM patient GROUP BY area) t
---
SELECT unnest(ARRAY[1, 2, 3]) AS u
---
SELECT u FROM unnest(ARRAY['north', 'south']) AS u
---
SELECT COUNT(*) FROM patient WHERE area IN (SELECT unnest(ARRAY['north', 'south']))
---
SELECT TABLESPACE.area FROM area_info AS TABLESPACE LIMIT 1
---
SELECT p1.id FROM patient p1 NATURAL JOIN patient p2 WHERE false
---
SELECT EXTRACT(epoch FROM TIMESTAMP '2024-01-01 00:00:00')
---
SELECT DATE '2024-02-29' + INTERVAL '1 year', DATE '2024-01-31' + 1, DATE '2024-03-01' - DATE '2024-02-01'
---
-- plain: SELECT k, AVG(val) FROM (SELECT 'age' AS k, age AS val FROM patient UNION ALL SELECT 'more', age + 50 FROM patient) t GROUP BY k
SELECT v.k, AVG(v.val) FROM patient p CROSS JOIN LATERAL (VALUES ('age', p.age), ('more', p.age + 50)) AS v(k, val) GROUP BY v.k
---
SELECT AVG(v.n) FROM patient p CROSS JOIN LATERAL (SELECT COUNT(*) AS n FROM visit w WHERE w.patient_id = p.id) v
---
SELECT p.area, SUM(v.cost) FROM patient p JOIN LATERAL (SELECT cost FROM visit w WHERE w.patient_id = p.id AND w.kind = 'test') v ON true GROUP BY p.area
---
SELECT t.area, u.best FROM (SELECT area, COUNT(*) AS n FROM patient GROUP BY area) t, LATERAL (SELECT MAX(title) AS best FROM area_info i WHERE i.area = t.area) u
---
WITH RECURSIVE b(lo) AS (SELECT 0 UNION ALL SELECT lo + 20 FROM b WHERE lo < 80) SELECT b.lo, COUNT(*) FROM b JOIN patient p ON p.age >= b.lo AND p.age < b.lo + 20 GROUP BY b.lo ORDER BY 1
---
-- plain: SELECT bool_or(smoker), bool_and(age > 0), bool_and(age >= 0) FROM patient
SELECT bool_or(smoker), bool_and(age > 0), every(age >= 0) FROM patient
---
-- plain: SELECT strftime(day, '%Y-%m') AS month, COUNT(DISTINCT patient_id) FROM visit GROUP BY 1
SELECT to_char(day, 'YYYY-MM') AS month, COUNT(DISTINCT patient_id) FROM visit GROUP BY 1 ORDER BY 1
---
-- plain: SELECT COUNT(*) FROM patient WHERE age NOT BETWEEN 20 AND 60
SELECT COUNT(*) FROM patient WHERE age NOT BETWEEN SYMMETRIC 60 AND 20
---
-- private
WITH RECURSIVE t AS (SELECT id, age FROM patient WHERE age > 90 UNION SELECT p.id, p.age FROM patient p JOIN t ON p.age = t.age - 1) SELECT COUNT(*) FROM t
---
-- private
SELECT p.area, array_agg(p.age) FROM patient p GROUP BY p.area
---
-- private
SELECT COUNT(*) FROM patient p, LATERAL (SELECT w.cost FROM visit w WHERE w.cost > p.age) v
---
SELECT SUM(DISTINCT age), AVG(DISTINCT age) FROM patient
---
-- plain: SELECT COUNT(*) FROM visit WHERE note LIKE '%test%' OR regexp_full_match(note, '.*(show|ray).*', 's')
SELECT COUNT(*) FROM visit WHERE note LIKE '%test%' OR note SIMILAR TO '%(show|ray)%'
---
SELECT percentile_disc(ARRAY[0.25, 0.5, 0.75]) WITHIN GROUP (ORDER BY n) FROM (SELECT area, COUNT(*) AS n FROM patient GROUP BY area) t
---
SELECT COUNT(*) FROM patient WHERE (age, area) = (30, 'north') OR (area, sex) IN (('north', 'f'), ('south', 'm'))
---
-- plain: SELECT 'a' AS x, COUNT(*) FROM patient
SELECT $$a$$ AS x, COUNT(*) FROM patient
---
-- plain: SELECT TRUNC(AVG(salary) / 100) * 100, CEIL(AVG(age)) FROM patient
SELECT TRUNC(AVG(salary), -2), CEIL(AVG(age)) FROM patient
