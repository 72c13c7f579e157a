SELECT pg_advisory_xact_lock(hashtext('{prefix}'));
CREATE TABLE IF NOT EXISTS {history} (
  namespace text PRIMARY KEY, version integer NOT NULL, stamp bigint NOT NULL,
  record text NOT NULL);
CREATE TABLE IF NOT EXISTS {slots} (
  namespace text NOT NULL, worker integer NOT NULL,
  made bigint NOT NULL, version bigint NOT NULL, stamp bigint NOT NULL,
  record text NOT NULL, token text, identity text, lease_ends bigint NOT NULL,
  PRIMARY KEY (namespace, worker), UNIQUE (namespace, token)) WITH (fillfactor = 50);
CREATE SEQUENCE IF NOT EXISTS {prefix}tickets;
INSERT INTO {history} (namespace, version, stamp, record) SELECT '*', 3,
  CASE WHEN pg_sequence_last_value('{prefix}tickets'::regclass) IS NULL THEN 0 ELSE {now} END, '{}'
  ON CONFLICT DO NOTHING;
DO $$ BEGIN IF to_regclass('{workers}') IS NULL THEN CREATE VIEW {workers} AS SELECT namespace,
  worker,
  CASE WHEN record::json->>'retired' = 'true' THEN 'retired'
    WHEN lease_ends > extract(epoch FROM statement_timestamp()) * 1000000 THEN 'held'
  ELSE 'free' END AS state,
  record::json->>'holder' AS holder, record::json->>'identity' AS identity,
  (record::json->>'generation')::bigint AS generation,
  (record::json->>'notBefore')::bigint AS first_tick,
  (record::json->>'notAfter')::bigint AS last_tick,
  to_timestamp((record::json->>'since')::bigint / 1e6) AS since,
  to_timestamp((record::json->>'renewed')::bigint / 1e6) AS renewed
FROM {slots} WHERE version > 0; END IF; END $$;
CREATE TABLE IF NOT EXISTS {namespaces} (
  namespace text PRIMARY KEY,
  made bigint NOT NULL, version bigint NOT NULL, stamp bigint NOT NULL,
  record text NOT NULL, lineage text NOT NULL);
