package mysqltest

// Settings are those of sessions that programs have, as more parameters of a DSN: time zones,
// character sets, modes, how transactions begin and end.
var Settings = []string{
	"&time_zone=%27-11:00%27", "&time_zone=%27%2B13:00%27", "&charset=latin1",
	"&innodb_snapshot_isolation=1", "&charset=utf8mb4&collation=utf8mb4_turkish_ci", "&autocommit=0",
	"&completion_type=1", "&completion_type=2", "&sql_select_limit=1", "&sql_safe_updates=1",
	"&sql_mode=ORACLE", "&sql_mode=%27EMPTY_STRING_IS_NULL,SIMULTANEOUS_ASSIGNMENT%27",
	"&tx_read_only=1",
	"&sql_mode=%27%27", "&sql_mode=TRADITIONAL", "&sql_mode=ANSI",
	"&sql_mode=%27ANSI_QUOTES,PIPES_AS_CONCAT,NO_BACKSLASH_ESCAPES,HIGH_NOT_PRECEDENCE," +
		"PAD_CHAR_TO_FULL_LENGTH%27",
}
