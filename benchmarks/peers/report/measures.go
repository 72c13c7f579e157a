package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/perf/benchfmt"
)

// measures are the values of each benchmark and unit, one for each run.
type measures map[string]map[string][]float64

// procs is what the testing package adds to a name: the number of processors.
var procs = regexp.MustCompile(`-\d+$`)

// read reads what the suites have printed into files in a folder, and returns the suites that
// have printed no figures.
func read(folder string) (m measures, silent []string, err error) {
	m = measures{}
	for _, suite := range suites {
		before := len(m)
		err := m.addFile(filepath.Join(folder, suite+".txt"))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, nil, err
		}
		if len(m) == before {
			silent = append(silent, suite)
		}
	}
	if len(m) == 0 {
		return nil, nil, errors.New("there are no figures in " + folder)
	}
	return m, silent, nil
}

func (m measures) addFile(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(m.add(benchfmt.NewReader(f, path)), f.Close())
}

func (m measures) add(r *benchfmt.Reader) error {
	for r.Scan() {
		result, ok := r.Result().(*benchfmt.Result)
		if !ok {
			continue
		}
		name := procs.ReplaceAllString(string(result.Name), "")
		if m[name] == nil {
			m[name] = map[string][]float64{}
		}
		for _, v := range result.Values {
			unit, value := v.Unit, v.Value
			if v.OrigUnit != "" { // benchfmt makes seconds of ns/op
				unit, value = v.OrigUnit, v.OrigValue
			}
			m[name][unit] = append(m[name][unit], value)
		}
	}
	return r.Err()
}

// has reports whether a benchmark was measured, or one below it.
func (m measures) has(name string) bool {
	for measured := range m {
		if measured == name || strings.HasPrefix(measured, name+"/") {
			return true
		}
	}
	return false
}

// median returns the median of a benchmark's values, and of how many it is: of none if it was
// not measured.
func (m measures) median(name, unit string) (value float64, runs int) {
	values := slices.Clone(m[name][unit])
	if len(values) == 0 {
		return 0, 0
	}
	slices.Sort(values)
	n := len(values)
	return (values[(n-1)/2] + values[n/2]) / 2, n
}
