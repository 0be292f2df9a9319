package trace

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sluice-dev/sluice/host/sched"
)

// DefaultClass is the class of a record whose source names none.
const DefaultClass = "interactive"

// The largest lengths and times that an import believes.
const (
	maxTokens = 100_000_000
	maxClass  = 64 // bytes of a class's name
)

const mooncake = "mooncake"

// imported is the record of a row that states an arrival and two lengths.
func imported(format string, number int, arrival int64, prompt, output int) Record {
	return Record{
		V: Version, ID: fmt.Sprintf("%s-%d", format, number), Imported: format, Arrival: arrival, Class: DefaultClass,
		PromptTokens: prompt, OutputTokens: output, Outcome: sched.OutcomeLength.String(),
	}
}

// parseMooncake reads a line of the Mooncake traces. The prefix hashes are not kept: records have no place for them.
func parseMooncake(l *lines, line []byte, rec *Record) error {
	var row struct {
		Timestamp *int64 `json:"timestamp"` // ms
		Input     int    `json:"input_length"`
		Output    int    `json:"output_length"`
	}
	if err := json.Unmarshal(line, &row); err != nil {
		return l.fail(jsonFault(l, line, err))
	}
	if row.Timestamp == nil || *row.Timestamp < 0 || *row.Timestamp > math.MaxInt64/int64(time.Millisecond) {
		return l.fail(l.start, fmt.Errorf("%w: timestamp missing or out of range", ErrInvalid))
	}
	*rec = imported(mooncake, l.number, *row.Timestamp*int64(time.Millisecond), row.Input, row.Output)
	return nil
}

// table is a CSV format: which columns it has, and how its time is written.
type table struct {
	name                        string
	arrival, prompt, out, class string
	ignored                     []string
	time                        func(string) (int64, error)
}

var tables = []table{
	{name: "azure2023", arrival: "TIMESTAMP", prompt: "ContextTokens", out: "GeneratedTokens", time: parseStamp},
	{name: "servegen", arrival: "timestamp_s", prompt: "input_tokens", out: "output_tokens", ignored: []string{"reason_ratio"}, time: parseSeconds},
	{name: "csv", arrival: "arrival_s", prompt: "prompt_tokens", out: "output_tokens", class: "class", time: parseSeconds},
}

// csvParser chooses the table by the header line.
func csvParser(l *lines, header []byte) (string, parser, error) {
	columns := splitFields(header)
	for i := range tables {
		t := &tables[i]
		if !slices.Contains(columns, t.arrival) {
			continue
		}
		parse, err := t.bind(columns)
		if err != nil {
			return "", nil, l.fail(l.start, fmt.Errorf("%w: %s header: %w", ErrForeign, t.name, err))
		}
		return t.name, parse, nil
	}
	hint := ""
	if slices.Contains(columns, "num_prefill_tokens") {
		hint = ": it has lengths but no arrivals"
	}
	return "", nil, l.fail(l.start, fmt.Errorf("%w: it starts with %q%s (known: %s)", ErrForeign, excerpt(header), hint, knownFormats))
}

// bind finds the columns of t in a header.
func (t *table) bind(columns []string) (parser, error) {
	at := map[string]int{}
	for i, c := range columns {
		switch {
		case c != t.arrival && c != t.prompt && c != t.out && (c != t.class || c == "") && !slices.Contains(t.ignored, c):
			return nil, fmt.Errorf("column %q is not known", excerpt([]byte(c)))
		case hasKey(at, c):
			return nil, fmt.Errorf("column %q stands there twice", c)
		}
		at[c] = i
	}
	for _, c := range []string{t.prompt, t.out} {
		if !hasKey(at, c) {
			return nil, fmt.Errorf("column %q is missing", c)
		}
	}
	return func(l *lines, line []byte, rec *Record) error { return t.row(l, line, rec, at, len(columns)) }, nil
}

func hasKey(m map[string]int, k string) bool { _, ok := m[k]; return ok }

func (t *table) row(l *lines, line []byte, rec *Record, at map[string]int, columns int) error {
	fields := splitFields(line)
	if len(fields) != columns {
		cause := fmt.Errorf("%w: %d fields where the header has %d", ErrInvalid, len(fields), columns)
		if !l.ended && len(fields) < columns {
			cause = ErrTruncated
		}
		return l.fail(l.start, cause)
	}
	column := t.arrival
	arrival, err := t.time(fields[at[column]])
	var prompt, output int
	if err == nil {
		column = t.prompt
		prompt, err = parseTokens(fields[at[column]])
	}
	if err == nil {
		column = t.out
		output, err = parseTokens(fields[at[column]])
	}
	if err != nil {
		return l.fail(l.start, fmt.Errorf("column %s: %w", column, err))
	}
	*rec = imported(t.name, l.number, arrival, prompt, output)
	return t.setClass(l, rec, at, fields)
}

func (t *table) setClass(l *lines, rec *Record, at map[string]int, fields []string) error {
	i, ok := at[t.class]
	if !ok || fields[i] == "" {
		return nil
	}
	if len(fields[i]) > maxClass {
		return l.fail(l.start, fmt.Errorf("column %s: more than %d bytes", t.class, maxClass))
	}
	rec.Class = strings.ToValidUTF8(fields[i], "?")
	return nil
}

// splitFields splits a line of numbers and names. None of the formats quotes its fields.
func splitFields(line []byte) []string {
	fields := strings.Split(string(line), ",")
	for i := range fields {
		fields[i] = strings.TrimSpace(fields[i])
	}
	return fields
}

func parseTokens(s string) (int, error) {
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 || n > maxTokens {
		return 0, fmt.Errorf("%q is not a number of tokens from 1 to %d", excerpt([]byte(s)), maxTokens)
	}
	return n, nil
}

// parseStamp reads "2023-11-16 18:15:46.6805900", which is UTC.
func parseStamp(s string) (int64, error) {
	t, err := time.Parse("2006-01-02 15:04:05", s)
	if err != nil || t.Year() < 1970 || t.Year() > 2200 {
		return 0, fmt.Errorf("%q is not a time like 2023-11-16 18:15:46.68059", excerpt([]byte(s)))
	}
	return t.UnixNano(), nil
}

func parseSeconds(s string) (int64, error) {
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || !(f >= 0 && f <= 5e9) {
		return 0, fmt.Errorf("%q is not a time in seconds from 0 to 5e9", excerpt([]byte(s)))
	}
	return int64(math.Round(f * 1e9)), nil
}
