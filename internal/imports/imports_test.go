package imports

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/unalike-id/unalike/"

// allowed lists the packages that need nothing but the standard library, each with
// the packages of this module that it may reach, directly or not. Whoever imports
// the library gets no other dependency unless a driver is imported as well.
var allowed = map[string][]string{
	"clock":           nil,
	"clock/clocktest": {"clock"},
	"coord":           {"clock", "internal/drivers"},
	"coord/coordtest": {
		"clock", "coord", "internal/invalid", "clock/clocktest", "internal/drivers", "coord/driver",
		"internal/safetytest", "internal/spelling", "internal/statefile", "internal/filelock",
		"internal/filesys",
	},
	"coord/driver": {
		"clock", "coord", "internal/invalid", "internal/drivers", "internal/spelling",
		"internal/statefile", "internal/filelock", "internal/filesys",
	},
	"coord/follow": {
		"clock", "coord", "internal/invalid", "internal/drivers", "coord/driver",
		"internal/spelling", "internal/statefile", "internal/filelock", "internal/filesys",
	},
	"coord/file": {
		"clock", "coord", "internal/invalid", "internal/filestore", "internal/statefile",
		"internal/filesys", "internal/filelock", "internal/lifetime", "internal/logs",
		"internal/protocol", "internal/drivers", "coord/driver", "internal/spelling",
		"internal/remainder",
	},
	"coord/static": {
		"clock", "coord", "internal/invalid", "internal/filestore", "internal/statefile",
		"internal/filesys", "internal/filelock", "internal/lifetime", "internal/logs",
		"internal/protocol", "internal/drivers", "coord/driver", "internal/spelling",
		"internal/remainder",
	},
	"core": {
		"clock", "coord", "internal/invalid", "internal/keeper", "internal/logs", "internal/drivers",
		"coord/driver", "internal/spelling", "internal/remainder", "internal/statefile",
		"internal/filelock", "internal/filesys",
	},
	"core/coretest": {
		"clock", "coord", "internal/invalid", "internal/keeper", "internal/logs", "core",
		"clock/clocktest", "internal/drivers", "coord/driver", "internal/spelling",
		"internal/remainder", "internal/statefile", "internal/filelock", "internal/filesys",
	},
	"internal/drivers":  nil,
	"internal/filesys":  nil,
	"internal/filelock": {"internal/filesys"},
	"internal/keeper": {
		"clock", "coord", "internal/invalid", "internal/logs", "internal/drivers", "internal/remainder",
	},
	"internal/lifetime":  {"clock", "coord", "internal/invalid", "internal/logs", "internal/drivers"},
	"internal/logs":      nil,
	"internal/remainder": nil,
	"internal/statefile": {
		"clock", "coord", "internal/invalid", "internal/drivers", "internal/filelock",
		"internal/filesys",
	},
	"internal/protocol": {
		"clock", "coord", "internal/invalid", "internal/lifetime", "internal/logs", "internal/drivers",
		"coord/driver", "internal/spelling", "internal/remainder", "internal/statefile",
		"internal/filelock", "internal/filesys",
	},
	"probe": nil,
	"segment": {
		"clock", "coord", "internal/invalid", "internal/logs", "internal/drivers", "coord/driver",
		"internal/spelling", "internal/statefile", "internal/filelock", "internal/filesys",
	},
	"segment/file": {
		"clock", "coord", "internal/invalid", "segment", "internal/filestore", "internal/statefile",
		"internal/tagcheck",
		"internal/tagstore",
		"internal/filesys", "internal/filelock", "internal/lifetime", "internal/logs",
		"internal/protocol", "internal/drivers", "coord/driver", "internal/spelling",
		"internal/remainder",
	},
	"segment/segmenttest": {
		"clock", "coord", "internal/invalid", "internal/logs", "internal/tagcheck", "segment",
		"internal/drivers",
		"coord/driver", "internal/safetytest", "internal/spelling", "internal/statefile",
		"internal/filelock", "internal/filesys",
	},
	"coord/kubernetes": {
		"clock", "coord", "internal/invalid", "internal/filesys", "internal/filelock",
		"internal/lifetime", "internal/logs", "internal/protocol",
		"internal/statefile", "internal/drivers", "internal/tlsfiles", "coord/driver",
		"internal/spelling", "internal/remainder", "internal/wrongserver",
	},
	"internal/tlsfiles": {
		"clock", "coord", "internal/invalid", "internal/drivers", "coord/driver",
		"internal/spelling", "internal/statefile", "internal/filelock", "internal/filesys",
	},
}

// platforms differ in the files that are built.
var platforms = []string{"linux/amd64", "linux/386", "darwin/arm64", "windows/amd64"}

func TestStandardLibraryOnly(t *testing.T) {
	for _, platform := range platforms {
		t.Run(platform, func(t *testing.T) {
			t.Parallel()
			for pkg, inside := range allowed {
				for _, dep := range dependencies(t, platform, pkg) {
					name, ours := strings.CutPrefix(dep, module)
					switch {
					case !ours:
						t.Errorf("%s depends on %s, which is not in the standard library", pkg, dep)
					case name != pkg && !slices.Contains(inside, name):
						t.Errorf("%s depends on %s; allowed are %v", pkg, name, inside)
					}
				}
			}
		})
	}
}

// TestConfigImports: a program that is configured by a file gets a reader of YAML, and no
// driver that it has not imported itself.
func TestConfigImports(t *testing.T) {
	want := []string{
		module + "clock", module + "config", module + "coord", module + "coord/driver",
		module + "core", module + "internal/drivers",
		module + "internal/filelock", module + "internal/filesys", module + "internal/lifetime",
		module + "internal/keeper", module + "internal/logs", module + "internal/invalid",
		module + "internal/settings",
		module + "internal/spelling",
		module + "internal/statefile", module + "internal/remainder", module + "segment",
		"go.yaml.in/yaml/v3",
	}
	for _, platform := range platforms {
		for _, dep := range dependencies(t, platform, "config") {
			if !slices.Contains(want, dep) {
				t.Errorf("%s: config depends on %s", platform, dep)
			}
		}
	}
}

// dependencies returns what pkg needs on the platform, directly or not, apart from
// the standard library.
func dependencies(t *testing.T, platform, pkg string) []string {
	t.Helper()
	goos, goarch, _ := strings.Cut(platform, "/")
	cmd := exec.Command("go", "list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}",
		module+pkg)
	cmd.Env = append(os.Environ(), "GOOS="+goos, "GOARCH="+goarch, "CGO_ENABLED=0")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %v\n%s", cmd, err, &stderr)
	}
	return strings.Fields(string(out))
}

// TestServiceImports: whoever has IDs from servers gets protobuf and no driver, and whoever mounts
// the server gets Connect beside that, and not gRPC's own library.
func TestServiceImports(t *testing.T) {
	inside := []string{
		"clock", "core", "coord", "internal/invalid", "internal/keeper", "internal/logs",
		"internal/remainder",
		"internal/drivers", "internal/spelling", "coord/driver", "proto/unalike/v1",
		"internal/statefile", "internal/filelock", "internal/filesys",
	}
	for pkg, want := range map[string]struct{ inside, modules []string }{
		"client": {
			append([]string{"client", "internal/tlsfiles"}, inside...),
			[]string{"google.golang.org/protobuf/"},
		},
		"server": {
			append([]string{
				"server", "segment", "proto/unalike/v1/unalikev1connect", "internal/admission",
				"internal/lifetime",
			}, inside...),
			[]string{
				"google.golang.org/protobuf/", "connectrpc.com/connect",
				"connectrpc.com/grpchealth",
				"connectrpc.com/grpcreflect", "golang.org/x/sync/semaphore",
				"golang.org/x/time/rate",
			},
		},
	} {
		for _, dep := range dependencies(t, "linux/amd64", pkg) {
			name, ours := strings.CutPrefix(dep, module)
			if ours && !slices.Contains(want.inside, name) {
				t.Errorf("%s depends on %s; allowed are %v", pkg, name, want.inside)
			}
			if !ours && !slices.ContainsFunc(want.modules, func(m string) bool {
				return strings.HasPrefix(dep, m)
			}) {
				t.Errorf("%s depends on %s; allowed are %v", pkg, dep, want.modules)
			}
		}
	}
}

// TestNoSQL: a program that keeps its numbers in etcd gets no code for databases.
func TestNoSQL(t *testing.T) {
	for _, dep := range dependencies(t, "linux/amd64", "segment/etcd") {
		if strings.HasPrefix(dep, module+"internal/sql") {
			t.Errorf("segment/etcd depends on %s", dep)
		}
	}
}
