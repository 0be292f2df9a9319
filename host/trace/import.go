package trace

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/klauspost/compress/zstd"
)

// DefaultMaxRecords bounds what Load holds in memory.
const DefaultMaxRecords = 5_000_000

// Loaded is a trace in memory.
type Loaded struct {
	Format   string   // "sluice", or the foreign format it was imported from
	Records  []Record // by arrival
	Skipped  int      // bad lines that SkipBad passed over
	Warnings []string // what a reader of results should know
}

// LoadFile reads the trace at path; see Load.
func LoadFile(path string, o Options) (*Loaded, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open trace: %w", err)
	}
	defer f.Close()
	if o.Name == "" {
		o.Name = path
	}
	return Load(f, o)
}

// Load reads a whole trace and sorts it by arrival. The format is told from the content: Sluice's own JSON lines, Azure
// 2023 (CSV), Mooncake (JSON lines), ServeGen (CSV) and plain CSV with the columns arrival_s, prompt_tokens,
// output_tokens and, if wanted, class; each also compressed with zstd or gzip.
func Load(r io.Reader, o Options) (*Loaded, error) {
	plain, done, err := decompress(r)
	if err != nil {
		return nil, named(o.Name, err)
	}
	defer done()
	reader, format, err := detect(plain, o)
	if err != nil {
		return nil, err
	}
	out := &Loaded{Format: format}
	if err := out.readAll(reader, o); err != nil {
		return nil, err
	}
	slices.SortStableFunc(out.Records, func(a, b Record) int {
		switch {
		case a.Arrival < b.Arrival:
			return -1
		case a.Arrival > b.Arrival:
			return 1
		}
		return 0
	})
	out.warn()
	return out, nil
}

func (t *Loaded) readAll(reader *Reader, o Options) error {
	limit := o.MaxRecords
	if limit <= 0 {
		limit = DefaultMaxRecords
	}
	for {
		rec, err := reader.Read()
		if err == io.EOF {
			break
		}
		if err != nil {
			return named(o.Name, err)
		}
		if len(t.Records) == limit {
			return named(o.Name, fmt.Errorf("more than %d records", limit))
		}
		t.Records = append(t.Records, rec)
	}
	t.Skipped = reader.Skipped()
	if len(t.Records) == 0 {
		return named(o.Name, ErrEmpty)
	}
	return nil
}

// warn notes properties that mislead those who read latencies out of a replay.
func (t *Loaded) warn() {
	same := 0
	for i := 1; i < len(t.Records); i++ {
		if t.Records[i].Arrival == t.Records[i-1].Arrival {
			same++
		}
	}
	if n := len(t.Records); n >= 100 && same > n/2 {
		t.Warnings = append(t.Warnings, fmt.Sprintf(
			"%d of %d requests arrive at the same instant as the one before: the time stamps are rounded, and TTFT shows those bursts", same, n))
	}
}

// named puts the file's name before errors that do not carry it.
func named(name string, err error) error {
	var line *LineError
	if name == "" || errors.As(err, &line) {
		return err
	}
	return fmt.Errorf("read trace %s: %w", name, err)
}

func decompress(r io.Reader) (plain io.Reader, done func(), err error) {
	b := bufio.NewReaderSize(r, 64<<10)
	magic, err := b.Peek(4)
	if err != nil && err != io.EOF {
		return nil, nil, err
	}
	switch {
	case bytes.Equal(magic, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		z, err := zstd.NewReader(b, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(64<<20))
		if err != nil {
			return nil, nil, fmt.Errorf("decompress zstd: %w", err)
		}
		return z, z.Close, nil
	case bytes.HasPrefix(magic, []byte{0x1f, 0x8b}):
		z, err := gzip.NewReader(b)
		if err != nil {
			return nil, nil, fmt.Errorf("decompress gzip: %w", err)
		}
		return z, func() { z.Close() }, nil
	}
	return b, func() {}, nil
}

var byteOrderMark = []byte("\xef\xbb\xbf")

// detect looks at the first line that is not blank.
func detect(r io.Reader, o Options) (*Reader, string, error) {
	l := newLines(r, o)
	for {
		first, err := l.read()
		if err == io.EOF {
			return nil, "", named(o.Name, ErrEmpty)
		}
		if err != nil {
			return nil, "", named(o.Name, err)
		}
		if l.number == 1 && bytes.HasPrefix(first, byteOrderMark) {
			first = first[len(byteOrderMark):]
			l.start += int64(len(byteOrderMark))
		}
		if len(bytes.TrimSpace(first)) == 0 {
			continue
		}
		reader := &Reader{lines: l, skipBad: o.SkipBad}
		if bytes.TrimSpace(first)[0] != '{' {
			format, parse, err := csvParser(l, first)
			reader.parse = parse
			return reader, format, err
		}
		format, parse, err := jsonParser(l, first)
		reader.parse = parse
		l.again(first)
		return reader, format, err
	}
}

func jsonParser(l *lines, first []byte) (string, parser, error) {
	var fields map[string]json.RawMessage
	if json.Unmarshal(first, &fields) != nil {
		// Whatever is wrong with it: reading it as our own format says so, and where.
		return "sluice", parseRecord, nil
	}
	_, version := fields["v"]
	_, length := fields["input_length"]
	switch {
	case version:
		return "sluice", parseRecord, nil
	case length:
		return mooncake, parseMooncake, nil
	}
	return "", nil, l.fail(l.start, fmt.Errorf("%w: a JSON object without \"v\" or \"input_length\" (known: %s)", ErrForeign, knownFormats))
}

const knownFormats = "JSON lines of `sluice trace export`, Azure 2023 CSV, Mooncake JSON lines, ServeGen CSV, " +
	"CSV with the header arrival_s,prompt_tokens,output_tokens[,class]"

// excerpt shortens what a message quotes of a file.
func excerpt(line []byte) string {
	const most = 80
	s := strings.ToValidUTF8(string(line[:min(len(line), most)]), "?")
	if len(line) > most {
		s += "..."
	}
	return s
}
