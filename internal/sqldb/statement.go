package sqldb

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Statement is one of a transaction. Its arguments are called $1, $2 and so on, and are
// strings, int or int64.
type Statement struct {
	SQL  string
	Args []any
}

// argument is one in a statement.
var argument = regexp.MustCompile(`\$[0-9]+`)

// Text puts the arguments into a statement. Quote makes a literal of a text, which means the
// same whatever the settings of the server and the connection are.
func (s Statement) Text(quote func(string) string) string {
	return argument.ReplaceAllStringFunc(s.SQL, func(name string) string {
		n, err := strconv.Atoi(name[1:])
		if err != nil || n < 1 || n > len(s.Args) {
			return name // for the server to refuse; a path into a record looks alike
		}
		switch v := s.Args[n-1].(type) {
		case int:
			return strconv.Itoa(v)
		case int64:
			return strconv.FormatInt(v, 10)
		default:
			return quote(fmt.Sprint(v))
		}
	})
}

// Script is the text of several statements.
func Script(statements []Statement, quote func(string) string) string {
	all := make([]string, len(statements))
	for i, s := range statements {
		all[i] = s.Text(quote)
	}
	return strings.Join(all, "; ")
}

// Risk is a setting of a server with which it may lose what it has confirmed, or confirm
// what excludes each other.
type Risk struct {
	Name string
	If   string // a condition: the server is set so
	Says string // what that is, and what to do
}
