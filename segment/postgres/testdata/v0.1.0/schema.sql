CREATE TABLE {table} (biz_tag varchar(128) PRIMARY KEY, max_id bigint NOT NULL DEFAULT 1, step integer NOT NULL, description varchar(256), update_time timestamptz NOT NULL DEFAULT now()) WITH (fillfactor = 50);
CREATE TABLE IF NOT EXISTS {meta} (name text PRIMARY KEY, identity text NOT NULL, stamp bigint NOT NULL);
