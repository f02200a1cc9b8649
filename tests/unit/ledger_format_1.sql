BEGIN TRANSACTION;
CREATE TABLE answer(
    receipt TEXT PRIMARY KEY,
    question TEXT NOT NULL,
    version TEXT NOT NULL,
    epsilon TEXT NOT NULL,
    body BLOB NOT NULL,
    debit INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    UNIQUE(question, version, epsilon));
INSERT INTO "answer" VALUES('b3bce5f05b6e748761d9ce9e17f6ec5d','q1','1','1/10',X'6F6E65',3,4);
INSERT INTO "answer" VALUES('cfdef4979142711a2dcafc7c0b763956','q4','1','1/10',X'666F7572',11,12);
CREATE TABLE entry(
    seq INTEGER PRIMARY KEY,
    time TEXT NOT NULL,
    kind TEXT NOT NULL
        CHECK(kind IN ('opened', 'policy', 'debit', 'answer', 'failed', 'frozen', 'thawed', 'reopened')),
    analyst TEXT,
    body TEXT NOT NULL,
    previous TEXT NOT NULL,
    hash TEXT NOT NULL);
INSERT INTO "entry" VALUES(1,'2026-01-02T03:04:05.000000+00:00','opened',NULL,'{"data":"clinic","format":1,"ledger":"3daa1c850d85bdd317b7b4b302c0ef49"}','0000000000000000000000000000000000000000000000000000000000000000','9a47248e241a78c021cc0de5f8f23858ce02fff09e36fe9aa48926b7857cb9a9');
INSERT INTO "entry" VALUES(2,'2026-01-02T03:04:05.000000+00:00','policy',NULL,'{"before":null,"now":{"composition":"best","delta":"1/1000000","delta_selection":"1/2000000","digest":"p1","epsilon":"4","failures":3,"shares":{"ana":"1"}},"who":"owner"}','9a47248e241a78c021cc0de5f8f23858ce02fff09e36fe9aa48926b7857cb9a9','553e77b0fcddeb6314dbed31d006455e45e562d8ba2f6c68b361d3851484af28');
INSERT INTO "entry" VALUES(3,'2026-01-02T03:04:05.000000+00:00','debit','ana','{"epsilon":"1/10","event":{"epsilon":"1/10","kind":"pure"},"price":{"delta":"0","epsilon":"1/10","rho":"1/200"},"question":"q1","receipt":"b3bce5f05b6e748761d9ce9e17f6ec5d","text":"SELECT q1","version":"1"}','553e77b0fcddeb6314dbed31d006455e45e562d8ba2f6c68b361d3851484af28','2c735fb2e0e8f9b8aaf6bed323a4d3ace9ea2d822e1fe48cc1bb526ca2f90f03');
INSERT INTO "entry" VALUES(4,'2026-01-02T03:04:05.000000+00:00','answer','ana','{"debit":3,"digest":"7692c3ad3540bb803c020b3aee66cd8887123234ea0c6e7143c0add73ff431ed","receipt":"b3bce5f05b6e748761d9ce9e17f6ec5d"}','2c735fb2e0e8f9b8aaf6bed323a4d3ace9ea2d822e1fe48cc1bb526ca2f90f03','10247dff8c30afc1a7a9a2d4722a76e775f6a311e0836ff03f19be51cdcecdb7');
INSERT INTO "entry" VALUES(5,'2026-01-02T03:04:05.000000+00:00','debit','ana','{"epsilon":"1/10","event":{"delta":"1/10000000","epsilon":"1/10","kind":"selection"},"price":{"delta":"1/10000000","epsilon":"1/10","rho":"1/200"},"question":"q2","receipt":"4947d288795b5fd9c2aae596036d3577","text":"SELECT q2","version":"2"}','10247dff8c30afc1a7a9a2d4722a76e775f6a311e0836ff03f19be51cdcecdb7','1a7fc9aba76d084d989732409164c60979f8ad2b2b93dd3d304e53ceb0e34241');
INSERT INTO "entry" VALUES(6,'2026-01-02T03:04:05.000000+00:00','failed','ana','{"debit":5,"receipt":"4947d288795b5fd9c2aae596036d3577","version":"2"}','1a7fc9aba76d084d989732409164c60979f8ad2b2b93dd3d304e53ceb0e34241','bdfb56d5aa072129f8162ad592e6ffd592f4deb83d36d9a7bc20140126bcff73');
INSERT INTO "entry" VALUES(7,'2026-01-02T03:04:05.000000+00:00','debit','bob','{"epsilon":"1/2","event":{"epsilon":"1/2","kind":"pure"},"price":{"delta":"0","epsilon":"1/2","rho":"1/8"},"question":"q3","receipt":"9eb9ca6dea7d7002159c38aabdd0fd73","text":"SELECT q3","version":"1"}','bdfb56d5aa072129f8162ad592e6ffd592f4deb83d36d9a7bc20140126bcff73','24255fa2538a716a033080ac4ccae9ab4d6eb09dd6b82ca24931a742392652ed');
INSERT INTO "entry" VALUES(8,'2026-01-02T03:04:05.000000+00:00','policy',NULL,'{"before":{"composition":"best","delta":"1/1000000","delta_selection":"1/2000000","digest":"p1","epsilon":"4","failures":3,"shares":{"ana":"1"}},"now":{"composition":"best","delta":"1/1000000","delta_selection":"1/2000000","digest":"p1","epsilon":"5","failures":3,"shares":{"ana":"1"}},"who":"owner"}','24255fa2538a716a033080ac4ccae9ab4d6eb09dd6b82ca24931a742392652ed','4636203fd7d728a5559f7a42266e8fd7b3f208abb8cd595d95ee7373cbe397f8');
INSERT INTO "entry" VALUES(9,'2026-01-02T03:04:05.000000+00:00','frozen',NULL,'{"who":"owner"}','4636203fd7d728a5559f7a42266e8fd7b3f208abb8cd595d95ee7373cbe397f8','8b11fa7580859f869c37f28305bbb4261b5ec565ce6dc387a56edf9b18b48e67');
INSERT INTO "entry" VALUES(10,'2026-01-02T03:04:05.000000+00:00','thawed',NULL,'{"who":"owner"}','8b11fa7580859f869c37f28305bbb4261b5ec565ce6dc387a56edf9b18b48e67','d28f7fec88db65fee1d0d87b9dbb42b2bff6e64d3534d0e7305e9dfa14210e2f');
INSERT INTO "entry" VALUES(11,'2026-01-02T03:04:05.000000+00:00','debit','ana','{"epsilon":"1/10","event":{"kind":"gaussian","rho":"1/1000"},"price":{"delta":"0","epsilon":null,"rho":"1/1000"},"question":"q4","receipt":"cfdef4979142711a2dcafc7c0b763956","text":"SELECT q4","version":"1"}','d28f7fec88db65fee1d0d87b9dbb42b2bff6e64d3534d0e7305e9dfa14210e2f','9a06f946418dd53d2383db29a841c0e7ae9df87b14c204ee6667e65a6e5fdee3');
INSERT INTO "entry" VALUES(12,'2026-01-02T03:04:05.000000+00:00','answer','ana','{"debit":11,"digest":"04efaf080f5a3e74e1c29d1ca6a48569382cbbcd324e8d59d2b83ef21c039f00","receipt":"cfdef4979142711a2dcafc7c0b763956"}','9a06f946418dd53d2383db29a841c0e7ae9df87b14c204ee6667e65a6e5fdee3','bd4db3e462b818d1e4e3deb334bb9f1bf2452bed170a516efc95be0b9abb83cc');
CREATE TABLE key(
    analyst TEXT NOT NULL,
    key TEXT NOT NULL,
    question TEXT NOT NULL,
    epsilon TEXT NOT NULL,
    debit INTEGER NOT NULL,
    PRIMARY KEY(analyst, key)) WITHOUT ROWID;
INSERT INTO "key" VALUES('ana','k','q1','1/10',3);
CREATE TABLE sums(
    analyst TEXT PRIMARY KEY,
    epsilon TEXT NOT NULL CHECK(length(epsilon) = 60 AND epsilon NOT GLOB '*[^0-9]*'),
    rho TEXT NOT NULL CHECK(length(rho) = 60 AND rho NOT GLOB '*[^0-9]*'),
    delta TEXT NOT NULL CHECK(length(delta) = 60 AND delta NOT GLOB '*[^0-9]*'),
    epsilon_shut INTEGER NOT NULL CHECK(epsilon_shut IN (0, 1)),
    rho_shut INTEGER NOT NULL CHECK(rho_shut IN (0, 1)),
    debits INTEGER NOT NULL CHECK(debits >= 0),
    epsilon_limit TEXT,
    rho_limit TEXT,
    delta_limit TEXT) WITHOUT ROWID;
INSERT INTO "sums" VALUES('','000000000000000000000000000000000000000000000700000000000000','000000000000000000000000000000000000000000000136000000000000','000000000000000000000000000000000000000000000000000100000000',1,0,4,'000000000000000000000000000000000000000000005000000000000000','000000000000000000000000000000000000000000000441726960541963','000000000000000000000000000000000000000000000000000500000000');
INSERT INTO "sums" VALUES('ana','000000000000000000000000000000000000000000000200000000000000','000000000000000000000000000000000000000000000011000000000000','000000000000000000000000000000000000000000000000000100000000',1,0,3,'000000000000000000000000000000000000000000001000000000000000','000000000000000000000000000000000000000000000022937446688722','000000000000000000000000000000000000000000000000000500000000');
INSERT INTO "sums" VALUES('bob','000000000000000000000000000000000000000000000500000000000000','000000000000000000000000000000000000000000000125000000000000','000000000000000000000000000000000000000000000000000000000000',0,0,1,NULL,NULL,NULL);
CREATE INDEX entry_rare ON entry(kind, seq) WHERE kind NOT IN ('debit', 'answer');
CREATE TRIGGER entry_follows BEFORE INSERT ON entry
WHEN NEW.seq IS NOT (SELECT coalesce(max(seq), 0) + 1 FROM entry)
    OR NEW.previous IS NOT coalesce((SELECT hash FROM entry ORDER BY seq DESC LIMIT 1), printf('%064d', 0))
BEGIN SELECT RAISE(ABORT, 'an entry follows the last one'); END;
CREATE TRIGGER entry_stays BEFORE UPDATE ON entry
BEGIN SELECT RAISE(ABORT, 'an entry is never changed'); END;
CREATE TRIGGER entry_remains BEFORE DELETE ON entry
BEGIN SELECT RAISE(ABORT, 'an entry is never removed'); END;
CREATE TRIGGER sums_within_limits BEFORE UPDATE OF epsilon, rho, delta, epsilon_shut, rho_shut, debits ON sums
WHEN NEW.delta_limit IS NOT NULL AND NOT (
    NEW.delta <= NEW.delta_limit AND (
        NEW.epsilon_limit IS NOT NULL AND NEW.epsilon_shut = 0 AND NEW.epsilon <= NEW.epsilon_limit
        OR NEW.rho_limit IS NOT NULL AND NEW.rho_shut = 0 AND NEW.rho <= NEW.rho_limit))
BEGIN SELECT RAISE(ABORT, 'sums stay within their limits'); END;
CREATE TRIGGER sums_grow BEFORE UPDATE OF analyst, epsilon, rho, delta, epsilon_shut, rho_shut, debits ON sums
WHEN NEW.epsilon < OLD.epsilon OR NEW.rho < OLD.rho OR NEW.delta < OLD.delta OR NEW.analyst IS NOT OLD.analyst
    OR NEW.epsilon_shut < OLD.epsilon_shut OR NEW.rho_shut < OLD.rho_shut OR NEW.debits IS NOT OLD.debits + 1
BEGIN SELECT RAISE(ABORT, 'nothing is refunded'); END;
CREATE TRIGGER sums_remain BEFORE DELETE ON sums
BEGIN SELECT RAISE(ABORT, 'sums are never removed'); END;
CREATE TRIGGER answer_stays BEFORE UPDATE ON answer
BEGIN SELECT RAISE(ABORT, 'an answer is never changed'); END;
CREATE TRIGGER answer_remains BEFORE DELETE ON answer
BEGIN SELECT RAISE(ABORT, 'an answer is never removed'); END;
COMMIT;
