package meter

import "encoding/binary"

func appendU32(b []byte, v uint32) []byte { return binary.AppendUvarint(b, uint64(v)) }

func appendS64(b []byte, v int64) []byte {
	for {
		c := byte(v & 0x7f)
		v >>= 7
		if (v == 0 && c&0x40 == 0) || (v == -1 && c&0x40 != 0) {
			return append(b, c)
		}
		b = append(b, c|0x80)
	}
}

func appendName(b []byte, s string) []byte {
	b = appendU32(b, uint32(len(s)))
	return append(b, s...)
}

// appendSized appends a part with its length in front.
func appendSized(b, part []byte) []byte {
	b = appendU32(b, uint32(len(part)))
	return append(b, part...)
}

func appendSection(b []byte, id byte, payload []byte) []byte {
	return appendSized(append(b, id), payload)
}
