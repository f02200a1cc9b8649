SELECT date_trunc('month', d) AS m, COUNT(*) FROM (SELECT DISTINCT patient_id, day AS d FROM visit) AS t GROUP BY 1 ORDER BY 1
---
WITH first_visit AS (SELECT patient_id, MIN(started_at) AS first_at FROM visit GROUP BY patient_id) SELECT date_trunc('month', first_at) AS cohort, COUNT(*) FROM first_visit GROUP BY 1 ORDER BY 1
---
WITH cohort AS (SELECT patient_id, date_trunc('quarter', MIN(day)) AS c FROM visit GROUP BY patient_id), activity AS (SELECT DISTINCT patient_id, date_trunc('quarter', day) AS a FROM visit) SELECT cohort.c, activity.a, COUNT(DISTINCT cohort.patient_id) FROM cohort JOIN activity ON cohort.patient_id = activity.patient_id GROUP BY 1, 2 ORDER BY 1, 2
---
SELECT date_trunc('month', t.at) AS m, COUNT(*) FROM (SELECT patient_id, started_at AS at FROM visit UNION ALL SELECT patient_id, ended_at FROM visit) t GROUP BY 1
---
SELECT age(DATE '2024-01-01', DATE '2023-03-15')
-- plain: SELECT '9 mons 17 days'
---
SELECT COUNT(*) FROM patient WHERE age(DATE '2024-12-31', born) >= INTERVAL '65 years'
-- plain: SELECT COUNT(*) FROM patient WHERE born <= DATE '1959-12-31'
---
SELECT EXTRACT(year FROM age(DATE '2024-12-31', born)) AS years, COUNT(*) FROM patient GROUP BY 1
-- plain: SELECT date_sub('year', born, DATE '2024-12-31'), COUNT(*) FROM patient GROUP BY 1
---
SELECT split_part(name, ' ', 1) AS first, COUNT(*) FROM patient GROUP BY 1
---
SELECT initcap(lower(area)), COUNT(*) FROM patient GROUP BY 1
-- plain: SELECT upper(area[1]) || area[2:], COUNT(*) FROM patient GROUP BY 1
---
SELECT COUNT(*) FROM visit WHERE note ~* '^BLOOD'
-- plain: SELECT COUNT(*) FROM visit WHERE regexp_matches(note, '^blood', 'i')
---
SELECT COUNT(*) FROM visit WHERE note !~* 'BLOOD|show'
-- plain: SELECT COUNT(*) FROM visit WHERE NOT regexp_matches(note, 'blood|show', 'i')
---
SELECT substring(note from '[0-9]+') AS digits, COUNT(*) FROM visit GROUP BY 1
-- plain: SELECT nullif(regexp_extract(note, '[0-9]+'), ''), COUNT(*) FROM visit GROUP BY 1
---
SELECT regexp_replace(note, '[0-9]+', '#', 'g') AS note, COUNT(*) FROM visit GROUP BY 1
---
SELECT width_bucket(age, 0, 100, 10) AS bucket, COUNT(*), AVG(salary) FROM patient GROUP BY 1 ORDER BY 1
-- plain: SELECT age // 10 + 1, COUNT(*), AVG(salary) FROM patient GROUP BY 1
---
SELECT SUM(DISTINCT age) FROM patient
---
SELECT COUNT(*) FROM patient WHERE GREATEST(admitted, DATE '2024-01-01') = admitted
---
SELECT kind, string_agg(area, ', ' ORDER BY area) FROM (SELECT 'a' AS kind, area FROM area_info) t GROUP BY kind
---
SELECT array_agg(area ORDER BY area) FROM area_info
---
SELECT corr(inhabitants, density) FROM area_info
---
SELECT area, ntile(2) OVER (ORDER BY inhabitants) FROM area_info
---
SELECT area, n, ntile(2) OVER (ORDER BY area) FROM (SELECT area, COUNT(*) AS n FROM patient GROUP BY area) t
---
SELECT g, g * g FROM generate_series(1, 5) AS g
---
SELECT d::date FROM generate_series(DATE '2024-01-01', DATE '2024-01-05', INTERVAL '1 day') AS d
---
SELECT m.d, COALESCE(v.n, 0) FROM generate_series(DATE '2023-01-01', DATE '2023-06-01', INTERVAL '1 month') AS m(d) LEFT JOIN (SELECT date_trunc('month', day) AS month, COUNT(*) AS n FROM visit GROUP BY 1) v ON v.month = m.d ORDER BY 1
---
SELECT a.area, x.n FROM area_info a, LATERAL (SELECT a.inhabitants / 100 AS n) x
-- plain: SELECT area, inhabitants // 100 FROM area_info
---
WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t WHERE n < 5) SELECT SUM(n) FROM t
---
SELECT area, n FROM (SELECT area, COUNT(*) AS n FROM patient GROUP BY area) t QUALIFY row_number() OVER (ORDER BY n DESC) <= 2
---
SELECT kind, n, SUM(n) OVER w AS total, rank() OVER w FROM (SELECT kind, COUNT(*) AS n FROM visit GROUP BY kind) t WINDOW w AS (ORDER BY kind)
---
SELECT DISTINCT ON (area) area, inhabitants FROM area_info ORDER BY area, inhabitants DESC
---
SELECT v.area, COUNT(p.id) FROM (VALUES ('north', 1), ('south', 2)) AS v(area, k) JOIN patient p ON p.area = v.area GROUP BY v.area
---
VALUES (1, 'a'), (2, 'b')
---
SELECT 7 / 2
-- plain: SELECT 3
---
SELECT '1 year 2 months'::interval
-- plain: SELECT '1 year 2 mons'
---
SELECT AVG(n) FROM (SELECT patient_id, COUNT(*) AS n FROM visit GROUP BY patient_id) t
---
SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY n) FROM (SELECT area, COUNT(*) AS n FROM patient GROUP BY area) t
---
SELECT n, COUNT(*) AS persons FROM (SELECT patient_id, COUNT(*) AS n FROM visit GROUP BY patient_id) t GROUP BY n ORDER BY n
---
SELECT area, COUNT(*) * 100.0 / SUM(COUNT(*)) OVER () AS share FROM patient GROUP BY area
---
SELECT CASE WHEN age < 18 THEN 'child' WHEN age < 65 THEN 'adult' ELSE 'senior' END AS class, AVG(salary) FROM patient GROUP BY 1
---
SELECT area, COUNT(*) FILTER (WHERE sex = 'f') AS women, COUNT(*) FILTER (WHERE sex = 'm') AS men FROM patient GROUP BY area
---
SELECT p.area, SUM(v.cost) / COUNT(DISTINCT p.id) AS per_head FROM patient p JOIN visit v ON v.patient_id = p.id GROUP BY p.area
---
SELECT EXTRACT(hour FROM started_at) AS h, AVG(cost) FROM visit GROUP BY h ORDER BY h
---
SELECT AVG(gap) FROM (SELECT patient_id, day - LAG(day) OVER (PARTITION BY patient_id ORDER BY day) AS gap FROM (SELECT DISTINCT patient_id, day FROM visit) x) t
---
SELECT COUNT(*) FROM (SELECT patient_id, row_number() OVER (PARTITION BY patient_id ORDER BY started_at, visit_id) AS r FROM (SELECT patient_id, started_at, visit_id FROM visit) x) t WHERE r = 1
---
-- private
SELECT kind, string_agg(note, ',') FROM visit GROUP BY kind
---
-- private
SELECT array_agg(age) FROM patient
---
-- private
SELECT DISTINCT ON (patient_id) patient_id, day FROM visit ORDER BY patient_id, day
---
SELECT mode() WITHIN GROUP (ORDER BY kind) FROM visit
---
SELECT area, MAX(age) FROM patient GROUP BY area
---
SELECT ROUND(AVG(salary), 2), ROUND(STDDEV(salary)) FROM patient
---
SELECT COUNT(*) FROM visit WHERE started_at > CURRENT_DATE - INTERVAL '30 years'
---
SELECT to_date('2024-02-01', 'YYYY-MM-DD') - to_date('20240101', 'YYYYMMDD')
-- plain: SELECT 31
---
SELECT COUNT(*) FROM visit WHERE EXTRACT(isodow FROM started_at) IN (6, 7) AND EXTRACT(hour FROM started_at) BETWEEN 8 AND 17
---
SELECT area, density * 2 AS d2, inhabitants / 3 FROM area_info WHERE density > 20
-- plain: SELECT area, density * 2, inhabitants // 3 FROM area_info WHERE density > 20
---
SELECT AVG(p.salary / a.density) FROM patient p JOIN area_info a USING (area)
---
SELECT SUM(a.density * v.cost) FROM visit v JOIN patient p ON v.patient_id = p.id JOIN area_info a ON a.area = p.area
---
SELECT make_date(EXTRACT(year FROM day)::int, EXTRACT(month FROM day)::int, 1) AS m, COUNT(*) FROM visit GROUP BY 1
---
SELECT COUNT(*) FROM patient WHERE age BETWEEN 20 AND 30 OR (area = 'north' AND NOT smoker)
---
SELECT COALESCE(area, 'total') AS area, COUNT(*) FROM patient GROUP BY ROLLUP (area)
-- plain: SELECT COALESCE(area, 'total'), COUNT(*) FROM patient GROUP BY ROLLUP (area)
---
SELECT EXTRACT(epoch FROM MAX(ended_at)) > 0 FROM visit
---
SELECT kind, percentile_disc(0.5) WITHIN GROUP (ORDER BY EXTRACT(year FROM day)) FROM visit GROUP BY kind
---
SELECT concat_ws('-', area, sex) AS k, COUNT(*) FROM patient GROUP BY 1
---
SELECT lpad(age::text, 3, '0') AS k, COUNT(*) FROM patient GROUP BY 1
---
SELECT COUNT(*) FROM visit v JOIN patient p ON p.id = v.patient_id WHERE v.day - p.admitted BETWEEN 0 AND 90
---
SELECT COUNT(*) FROM visit WHERE date_part('year', started_at) = 2023
---
SELECT SUM(cost) FROM visit WHERE day BETWEEN '2023-01-01'::date AND '2023-01-01'::date + INTERVAL '6 months'
---
SELECT DATE(started_at) AS d, COUNT(*) FROM visit WHERE day < '2023-02-01' GROUP BY 1
-- plain: SELECT started_at::date, COUNT(*) FROM visit WHERE day < '2023-02-01' GROUP BY 1
---
SELECT COUNT(*) FROM patient WHERE name ILIKE ANY (ARRAY['ana%', 'bob%'])
-- plain: SELECT COUNT(*) FROM patient WHERE name ILIKE 'ana%' OR name ILIKE 'bob%'
---
SELECT started_at AT TIME ZONE 'UTC' AS t, 1 FROM visit WHERE 1 = 0
