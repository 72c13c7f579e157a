package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/unalike-id/unalike/internal/drivers"
)

// TestPackageOfScheme: the package to import, which errors name, is there for each scheme, and
// makes a driver known.
func TestPackageOfScheme(t *testing.T) {
	for kind, schemes := range map[string][]string{
		"coord":   drivers.Coordinators.Schemes(),
		"segment": drivers.Stores.Schemes(),
	} {
		register := map[string]string{"coord": "driver.Register(", "segment": ".Register"}[kind]
		for _, scheme := range schemes {
			name, ok := strings.CutPrefix(drivers.Package(kind, scheme), drivers.Module+"/")
			files, err := filepath.Glob(filepath.Join("..", "..", filepath.FromSlash(name), "*.go"))
			if !ok || err != nil {
				t.Errorf("%s of %s: %q, %v", scheme, kind, name, err)
			}
			found := false
			for _, file := range files {
				text, err := os.ReadFile(file)
				found = found || err == nil && strings.Contains(string(text), register)
			}
			if !found {
				t.Errorf("%s of %s: %q makes no driver known", scheme, kind, name)
			}
		}
	}
}
