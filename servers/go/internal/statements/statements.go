// Package statements reads the files of statements that all servers share: `-- name:`, `-- params:`, and the text behind them.
package statements

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Statement is a text as the engine takes it.
type Statement struct {
	Name string
	Text string
	// Params has, for each parameter that is sent, which of the caller's it is, counted from 0.
	Params []int
}

// Find reads the statements of a workload for an engine, in the order of names. The files lie in the folder `sql` beside the
// server's own, which is above the program.
func Find(workload, engine string, names []string) ([]Statement, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	if program, err = filepath.EvalSymlinks(program); err != nil {
		return nil, err
	}
	file := filepath.Join(filepath.Dir(program), "..", "..", "sql", workload+"."+engine+".sql")
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	statements, err := Parse(string(text), names)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return statements, nil
}

// Parse takes the statements with these names out of a file.
func Parse(text string, names []string) ([]Statement, error) {
	found := map[string]Statement{}
	parts := strings.Split("\n"+text, "\n-- name: ")
	// What is in front of the first is a comment.
	for _, part := range parts[1:] {
		name, rest, _ := strings.Cut(part, "\n")
		params, body, _ := strings.Cut(rest, "\n")
		order, err := order(params)
		if err != nil {
			return nil, fmt.Errorf("statement %s: %w", name, err)
		}
		if _, again := found[name]; again {
			return nil, fmt.Errorf("statement %s is there twice", name)
		}
		found[name] = Statement{Name: name, Text: strings.TrimSpace(body), Params: order}
	}
	statements := make([]Statement, len(names))
	for at, name := range names {
		statement, there := found[name]
		if !there || statement.Text == "" {
			return nil, fmt.Errorf("statement %s is missing", name)
		}
		statements[at] = statement
	}
	return statements, nil
}

func order(line string) ([]int, error) {
	numbers, there := strings.CutPrefix(line, "-- params:")
	if !there {
		return nil, fmt.Errorf("no line of params behind its name, but `%s`", line)
	}
	var order []int
	for number := range strings.FieldsSeq(numbers) {
		at, err := strconv.Atoi(number)
		if err != nil || at < 1 {
			return nil, fmt.Errorf("`%s` is no number of a parameter", number)
		}
		order = append(order, at-1)
	}
	return order, nil
}
