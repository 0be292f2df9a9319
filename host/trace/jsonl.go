package trace

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Options say how a trace is read. The zero value is strict.
type Options struct {
	Name       string // for messages
	SkipBad    bool   // pass over bad lines and count them
	MaxLine    int    // bytes; 0 = DefaultMaxLine
	MaxRecords int    // of Load; 0 = DefaultMaxRecords
}

// Writer writes records as JSON lines. It is used by one goroutine.
type Writer struct {
	w   *bufio.Writer
	enc *json.Encoder
}

// NewWriter returns a Writer on w. Flush must be called at the end.
func NewWriter(w io.Writer) *Writer {
	b := bufio.NewWriter(w)
	enc := json.NewEncoder(b)
	enc.SetEscapeHTML(false)
	return &Writer{w: b, enc: enc}
}

// Write writes one record as one line, in the present version of the format.
func (w *Writer) Write(r *Record) error {
	line := *r
	line.V = Version
	if err := w.enc.Encode(&line); err != nil {
		return fmt.Errorf("write trace record %q: %w", r.ID, err)
	}
	return nil
}

// Flush hands everything written so far to the underlying writer.
func (w *Writer) Flush() error {
	if err := w.w.Flush(); err != nil {
		return fmt.Errorf("write trace: %w", err)
	}
	return nil
}

// Reader reads JSON lines that Writer wrote. It is used by one goroutine.
type Reader struct {
	lines   *lines
	parse   parser
	skipBad bool
	good    int
	skipped int
	first   error // the first bad line that was passed over
}

// parser reads one line into an empty record. Its errors are LineErrors.
type parser func(l *lines, line []byte, rec *Record) error

// NewReader returns a Reader on plain (not compressed) JSON lines.
func NewReader(r io.Reader, o Options) *Reader {
	return &Reader{lines: newLines(r, o), parse: parseRecord, skipBad: o.SkipBad}
}

// Read returns the next record, valid by Record.Validate, or io.EOF after the last. A bad line is a LineError that
// wraps one of this package's errors; after it reading may go on. With SkipBad bad lines are counted instead; only when
// no line was good does the end report the first of them.
func (r *Reader) Read() (Record, error) {
	for {
		rec, err := r.next()
		var bad *LineError
		switch {
		case err == nil:
			r.good++
			return rec, nil
		case r.skipBad && errors.As(err, &bad):
			r.skipped++
			if r.first == nil {
				r.first = err
			}
		case err == io.EOF && r.good == 0 && r.first != nil:
			return Record{}, r.first
		default:
			return Record{}, err
		}
	}
}

// Skipped is the number of bad lines that were passed over so far.
func (r *Reader) Skipped() int { return r.skipped }

func (r *Reader) next() (Record, error) {
	for {
		line, err := r.lines.read()
		if err != nil {
			return Record{}, err
		}
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		if i := bytes.IndexByte(line, 0); i >= 0 {
			return Record{}, r.lines.fail(r.lines.start+int64(i), ErrNUL)
		}
		var rec Record
		if err := r.parse(r.lines, line, &rec); err != nil {
			return Record{}, err
		}
		if err := rec.Validate(); err != nil {
			return Record{}, r.lines.fail(r.lines.start, err)
		}
		return rec, nil
	}
}

func parseRecord(l *lines, line []byte, rec *Record) error {
	if err := json.Unmarshal(line, rec); err != nil {
		if v, ok := versionOf(line); ok && v > Version {
			return l.fail(l.start, newer(v))
		}
		return l.fail(jsonFault(l, line, err))
	}
	switch {
	case rec.V > Version:
		return l.fail(l.start, newer(rec.V))
	case rec.V == 0:
		return l.fail(l.start, fmt.Errorf("%w: the object has no version field \"v\"", ErrForeign))
	}
	return nil
}

func newer(v int) error {
	return fmt.Errorf("%w: version %d, this one reads up to %d", ErrNewer, v, Version)
}

// versionOf reads the version alone: in a newer format other fields may have other types.
func versionOf(line []byte) (int, bool) {
	var head struct{ V int }
	err := json.Unmarshal(line, &head)
	return head.V, err == nil
}

// jsonFault finds where JSON went wrong, and says what a reader of the message needs.
func jsonFault(l *lines, line []byte, err error) (offset int64, cause error) {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch trimmed := bytes.TrimSpace(line); {
	case trimmed[0] != '{':
		return l.start, fmt.Errorf("%w: not a JSON object", ErrForeign)
	case errors.As(err, &syntax):
		if !l.ended && syntax.Offset >= int64(len(bytes.TrimRight(line, " \t"))) {
			return l.start + int64(len(line)), ErrTruncated
		}
		// Offset counts the bytes read, the faulty one included.
		return l.start + max(syntax.Offset-1, 0), err
	case errors.As(err, &kind):
		return l.start + kind.Offset, fmt.Errorf("field %q: %s where %s belongs", kind.Field, kind.Value, kind.Type)
	}
	return l.start, err
}
