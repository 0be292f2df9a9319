package store

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/sluice-dev/sluice/host/trace"
)

// Layout of a day's keys, big-endian throughout:
//
//	'r' | arrival, unix ns (8) | sequence (4) | class    a record
//	'm'                                                 meta: layout version (4) | records written (8)
//
// Time stands first, so that one iterator gives all classes in order; the class stands last, so that a scan for one class
// need not read the values of the others.
const (
	layoutVersion = 1
	recordPrefix  = 'r'
	keyHead       = 1 + 8 + 4
	maxClassKey   = 255
)

var metaKey = []byte{'m'}

func recordKey(arrival int64, seq uint32, class string) []byte {
	key := make([]byte, 0, keyHead+len(class))
	key = append(key, recordPrefix)
	key = binary.BigEndian.AppendUint64(key, uint64(arrival))
	key = binary.BigEndian.AppendUint32(key, seq)
	return append(key, class[:min(len(class), maxClassKey)]...)
}

// timeKey is where the records of an arrival start.
func timeKey(arrival int64) []byte {
	return binary.BigEndian.AppendUint64([]byte{recordPrefix}, uint64(max(arrival, 0)))
}

func splitKey(key []byte) (arrival int64, class []byte, ok bool) {
	if len(key) < keyHead || key[0] != recordPrefix {
		return 0, nil, false
	}
	return int64(binary.BigEndian.Uint64(key[1:])), key[keyHead:], true
}

// meta is what a day's database says of itself.
type meta struct {
	layout  uint32
	records uint64 // written since it was made
}

func (m meta) encode() []byte {
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint32(nil, m.layout), m.records)
}

func decodeMeta(b []byte) (meta, error) {
	if len(b) < 12 {
		return meta{}, fmt.Errorf("meta of %d bytes", len(b))
	}
	return meta{layout: binary.BigEndian.Uint32(b), records: binary.BigEndian.Uint64(b[4:])}, nil
}

// valueVersion is the first byte of a value.
const valueVersion = 1

var errValue = errors.New("malformed value")

// encodeValue writes a record as JSON without its gaps, which follow as pairs of varints: a tenth of their size in JSON.
func encodeValue(r *trace.Record) ([]byte, error) {
	plain := *r
	plain.Gaps = nil
	body, err := json.Marshal(&plain)
	if err != nil {
		return nil, err
	}
	b := make([]byte, 0, len(body)+8+5*len(r.Gaps))
	b = append(b, valueVersion)
	b = binary.AppendUvarint(b, uint64(len(body)))
	b = append(b, body...)
	b = binary.AppendUvarint(b, uint64(len(r.Gaps)))
	for _, g := range r.Gaps {
		b = binary.AppendUvarint(b, uint64(g.NS))
		b = binary.AppendUvarint(b, uint64(g.Tokens))
	}
	return b, nil
}

func decodeValue(b []byte) (*trace.Record, error) {
	if len(b) == 0 || b[0] != valueVersion {
		return nil, fmt.Errorf("%w: unknown version", errValue)
	}
	size, b, ok := uvarint(b[1:])
	if !ok || size > uint64(len(b)) {
		return nil, fmt.Errorf("%w: length", errValue)
	}
	rec := &trace.Record{}
	if err := json.Unmarshal(b[:size], rec); err != nil {
		return nil, fmt.Errorf("%w: %w", errValue, err)
	}
	n, b, ok := uvarint(b[size:])
	// A gap takes at least two bytes, so a count beyond that would only allocate.
	if !ok || n > uint64(len(b))/2 {
		return nil, fmt.Errorf("%w: number of gaps", errValue)
	}
	if n > 0 {
		rec.Gaps = make([]trace.Gap, n)
	}
	for i := range rec.Gaps {
		var ns, tokens uint64
		if ns, b, ok = uvarint(b); ok {
			tokens, b, ok = uvarint(b)
		}
		if !ok {
			return nil, fmt.Errorf("%w: gap %d", errValue, i)
		}
		rec.Gaps[i] = trace.Gap{NS: int64(ns), Tokens: int(tokens)}
	}
	if err := rec.Validate(); err != nil {
		return nil, err
	}
	return rec, nil
}

func uvarint(b []byte) (v uint64, rest []byte, ok bool) {
	v, n := binary.Uvarint(b)
	if n <= 0 {
		return 0, b, false
	}
	return v, b[n:], true
}
