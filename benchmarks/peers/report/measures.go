package main

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"

	"golang.org/x/perf/benchfmt"
)

// measures are the values of each benchmark and unit, one for each run.
type measures map[string]map[string][]float64

// procs is what the testing package adds to a name: the number of processors.
var procs = regexp.MustCompile(`-\d+$`)

// read reads the files, which are what go test -bench has printed.
func read(files []string) (measures, error) {
	if len(files) == 0 {
		return nil, errors.New("name the files with the output of go test -bench")
	}
	m := measures{}
	for _, name := range files {
		f, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		err = m.add(benchfmt.NewReader(f, name))
		if err := errors.Join(err, f.Close()); err != nil {
			return nil, err
		}
	}
	return m, nil
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

// median returns the median of a benchmark's values, and of how many.
func (m measures) median(name, unit string) (value float64, runs int, err error) {
	values := slices.Clone(m[name][unit])
	if len(values) == 0 {
		return 0, 0, fmt.Errorf("there is no %s of %s", unit, name)
	}
	slices.Sort(values)
	n := len(values)
	return (values[(n-1)/2] + values[n/2]) / 2, n, nil
}
