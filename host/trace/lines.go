package trace

import (
	"bufio"
	"bytes"
	"io"
)

// DefaultMaxLine bounds a line of a trace. A record with 100,000 emissions takes about 2.5 MB.
const DefaultMaxLine = 4 << 20

// lines splits a stream in bounded memory and knows where each line stands.
type lines struct {
	r      *bufio.Reader
	name   string
	max    int
	number int   // of the present line, from 1
	start  int64 // offset of its first byte
	next   int64 // offset of the line after it
	ended  bool  // the present line has its newline
	buf    []byte
	peeked []byte // the present line, to be returned once more
}

func newLines(r io.Reader, o Options) *lines {
	limit := o.MaxLine
	if limit <= 0 {
		limit = DefaultMaxLine
	}
	return &lines{r: bufio.NewReaderSize(r, 64<<10), name: o.Name, max: limit}
}

// read returns the next line without its line end, valid until the next call, and io.EOF after the last. The rest of a
// line that is too long is passed over, so that reading may go on.
func (l *lines) read() ([]byte, error) {
	if line := l.peeked; line != nil {
		l.peeked = nil
		return line, nil
	}
	l.number++
	l.start, l.ended = l.next, false
	l.buf = l.buf[:0]
	long := false
	for {
		part, err := l.r.ReadSlice('\n')
		l.next += int64(len(part))
		long = long || len(l.buf)+len(part) > l.max
		if !long {
			l.buf = append(l.buf, part...)
		}
		if err == bufio.ErrBufferFull {
			continue
		}
		if err == io.EOF && l.next == l.start {
			return nil, io.EOF
		}
		if err != nil && err != io.EOF {
			return nil, err
		}
		l.ended = err == nil
		break
	}
	if long {
		return nil, l.fail(l.start, ErrTooLong)
	}
	return bytes.TrimSuffix(bytes.TrimSuffix(l.buf, []byte{'\n'}), []byte{'\r'}), nil
}

// again makes the next read return line, which is the present one.
func (l *lines) again(line []byte) { l.peeked = line }

// fail is the error err at an offset of the present line.
func (l *lines) fail(offset int64, err error) *LineError {
	return &LineError{Name: l.name, Line: l.number, Offset: offset, Err: err}
}
