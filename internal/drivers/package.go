package drivers

// Module is the path of this module.
const Module = "github.com/unalike-id/unalike"

// Package is the import path of the driver of a scheme, "" if none of this module has it. Kind is
// whose driver it is, coord or segment.
func Package(kind, scheme string) string {
	name := ""
	switch scheme {
	case "embed":
		name = "etcd/embedded"
	case "etcd", "etcds":
		name = "etcd"
	case "file":
		name = scheme
	case "mysql", "mysqls", "mariadb", "mariadbs":
		name = "mysql"
	case "postgres", "postgress", "postgresql", "postgresqls":
		name = "postgres"
	}
	if kind == "coord" {
		switch scheme {
		case "kubernetes", "kubernetes+http":
			name = "kubernetes"
		case "redis", "rediss", "redis-cluster", "rediss-cluster", "redis-sentinel", "rediss-sentinel":
			name = "redis"
		case "static", "zk":
			name = scheme
		}
	}
	if name == "" {
		return ""
	}
	return Module + "/" + kind + "/" + name
}
