CREATE TABLE IF NOT EXISTS {history} (
  namespace varbinary(128) NOT NULL PRIMARY KEY, version int NOT NULL, stamp bigint NOT NULL,
  record mediumblob NOT NULL) ENGINE = InnoDB;
CREATE TABLE IF NOT EXISTS {slots} (
  namespace varbinary(128) NOT NULL, worker int NOT NULL,
  made bigint NOT NULL, version bigint NOT NULL, stamp bigint NOT NULL,
  record mediumblob NOT NULL, token varbinary(128), identity varbinary(128),
  lease_ends bigint NOT NULL,
  PRIMARY KEY (namespace, worker), UNIQUE KEY (namespace, token)) ENGINE = InnoDB;
/*M! CREATE SEQUENCE IF NOT EXISTS {prefix}tickets NOCACHE *//*!80000 DO 0 */;
INSERT IGNORE INTO {history} (namespace, version, stamp, record) SELECT '*', 3,
  /*M! (SELECT CASE WHEN next_not_cached_value = start_value THEN 0 ELSE {now} END
  FROM {prefix}tickets) *//*!80000 0 */, '{}';
CREATE OR REPLACE VIEW {workers} AS SELECT CONVERT(namespace USING utf8mb4) AS namespace, worker,
  CASE WHEN JSON_EXTRACT(CONVERT(record USING utf8mb4), '$.retired') THEN 'retired'
  WHEN lease_ends > TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) THEN 'held' ELSE 'free' END AS state,
  JSON_UNQUOTE(JSON_EXTRACT(CONVERT(record USING utf8mb4), '$.holder')) AS holder,
  JSON_UNQUOTE(JSON_EXTRACT(CONVERT(record USING utf8mb4), '$.identity')) AS identity,
  JSON_EXTRACT(CONVERT(record USING utf8mb4), '$.generation') AS generation,
  JSON_EXTRACT(CONVERT(record USING utf8mb4), '$.notBefore') AS first_tick,
  JSON_EXTRACT(CONVERT(record USING utf8mb4), '$.notAfter') AS last_tick,
  FROM_UNIXTIME(JSON_EXTRACT(CONVERT(record USING utf8mb4), '$.since') / 1000000) AS since,
  FROM_UNIXTIME(JSON_EXTRACT(CONVERT(record USING utf8mb4), '$.renewed') / 1000000) AS renewed
FROM {slots} WHERE version > 0;
CREATE TABLE IF NOT EXISTS {namespaces} (
  namespace varbinary(128) NOT NULL PRIMARY KEY,
  made bigint NOT NULL, version bigint NOT NULL, stamp bigint NOT NULL,
  record mediumblob NOT NULL, lineage varbinary(400) NOT NULL) ENGINE = InnoDB;
