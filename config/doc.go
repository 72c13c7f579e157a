// Package config makes a generator and its coordinator, and segments and their store, from a YAML
// file and the environment, so that a program moves from one back end to another by one line of
// configuration.
//
//	cfg, err := config.Load("unalike.yaml")
//	...
//	cfg.Logger = logger
//	ids, err := cfg.Open(ctx)
//	...
//	defer ids.Close(last) // last is a context that has not ended
//	id, err := ids.Next()
//
// Close of the generator closes its coordinator as well.
//
// # Drivers
//
// The package imports no driver, as database/sql imports none. The program imports
// those that it wants to choose from, for their side effect alone:
//
//	import (
//		_ "github.com/unalike-id/unalike/coord/etcd"
//		_ "github.com/unalike-id/unalike/coord/static"
//	)
//
// A URL whose driver was not imported is an error that says so.
//
// # The file
//
//	coordinator: etcd://etcd1:2379,etcd2:2379,etcd3:2379/orders
//	layout: default
//	horizon: 60s
//
// A file is one YAML document of at most 64 KiB, a mapping of keys to single values.
// All keys may be left out:
//
//	key                 variable                    value                          left out
//	coordinator         UNALIKE_COORDINATOR         URL, see package coord         Open fails
//	state               UNALIKE_STATE               path of a file                 none
//	layout              UNALIKE_LAYOUT              as in core.ParseLayout         default
//	ttl                 UNALIKE_TTL                 duration, positive             the driver's
//	horizon             UNALIKE_HORIZON             duration, positive             the driver's
//	renew               UNALIKE_RENEW               duration, positive             a third of one
//	worker_ids          UNALIKE_WORKER_IDS          0-511, 512-                    all of the layout
//	identity            UNALIKE_IDENTITY            text, at most 128 bytes        none
//	rollback_tolerance  UNALIKE_ROLLBACK_TOLERANCE  duration; 0s is none           5ms
//	lead                UNALIKE_LEAD                duration; 0s is none           0s
//	spread_below        UNALIKE_SPREAD_BELOW        number, 0 or more              0
//	stripes             UNALIKE_STRIPES             number, 1 or more              1
//	start_timeout       UNALIKE_START_TIMEOUT       duration, positive             the TTL and 5s
//	store               UNALIKE_STORE               URL, see package segment       OpenSegments fails
//	segments            UNALIKE_SEGMENTS            tags, with commas between them  none
//	formats             UNALIKE_FORMATS             orders={YYYY-MM}-{n:6}         none
//	max_step            UNALIKE_MAX_STEP            orders=100,invoices=1          a million
//	hold                UNALIKE_HOLD                orders=1m                      15m
//	year_start          UNALIKE_YEAR_START          month, 1 to 12                 January
//	zone                UNALIKE_ZONE                time zone, Europe/Berlin       UTC
//
// Durations have a unit, as 500ms, 15s and 1m30s have. What each setting does is said at
// the fields of core.Config and coord.LeaseConfig. The lease times can stand in the
// coordinator's URL as well; there and here with different values is an error.
//
// With state, a program that is started again goes on while the coordinator is away, see
// core.Config.StateFile. It is the same as the option state in the coordinator's URL, and different
// values there and here are an error. A static coordinator has a state file of another kind, which
// is named in its URL alone.
//
// A value is its text: 7, "7" and '7' are the same. A key without a value, a key given
// twice, an unknown key, anchors, aliases and tags are errors. Nothing is corrected: a
// value that is not allowed is an error, and so is a 0 where 0 is not allowed, although a
// key that is left out means the default.
//
// # The environment
//
// The order of precedence is: environment, file, defaults. A variable that is set and
// empty counts as not set. Variables that begin with UNALIKE_ and are none of these are
// ignored, because others set such: Kubernetes gives every container of a namespace
// with a Service named unalike a variable UNALIKE_PORT. To see what took effect, log the
// [Config].
//
// # Segments
//
// A file that names a store of segments gives plain increasing numbers, with a coordinator or
// without one:
//
//	store: mysql://app:${DB_PASSWORD}@db:3306/app?table=leaf_alloc
//	segments: orders, invoices
//
//	numbers, err := cfg.OpenSegments(ctx, segment.Config{})
//	...
//	n, err := numbers.Next(ctx, "orders")
//
// All tags of the store can be used. Those in segments have to be there, and have numbers in memory
// before OpenSegments returns, so that a misspelled one is noticed at the start. A tag with a comma
// in it cannot be named there. Tags that formats names give texts as well, with FillText, whose
// groups begin with the days, months or years of the zone. The drivers are those of package
// segment: segment/mysql, segment/postgres, segment/etcd, segment/etcd/embedded.
//
// # Passwords
//
// A password need not stand in the file. In the user information of the coordinator's or the
// store's URL, ${NAME} stands for a variable of the environment:
//
//	coordinator: redis://orders:${REDIS_PASSWORD}@redis1:6379/0?namespace=orders
//
// The value is escaped when it is put in, so any password will do; one that is not set or
// empty is an error. Elsewhere in the URL, and in other settings, there are no
// references. UNALIKE_COORDINATOR and UNALIKE_STORE can carry the whole URL instead. Neither errors
// nor a Config that is printed or logged show a password.
//
// A password that changes while the program runs stands in a file of one line, which option
// password_file of the URL names, and a user that changes together with it in the file of option
// user_file. Each connection reads them:
//
//	coordinator: redis://orders@redis1:6379/0?namespace=orders&password_file=/run/secrets/redis
package config
