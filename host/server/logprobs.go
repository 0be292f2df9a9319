package server

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/sluice-dev/sluice/host/engine"
)

// leastLogprob stands for a probability of 0, which JSON has no logarithm for. Official clients know it by this number.
const leastLogprob = -9999

// appendLogprobs appends the log probabilities of the tokens behind one text in the route's form, null when there are none.
// offset counts the characters of the choice's tokens so far.
func (f form) appendLogprobs(b []byte, probs []engine.TokenProbs, offset *int) []byte {
	b = append(b, `,"logprobs":`...)
	switch {
	case len(probs) == 0:
		return append(b, "null"...)
	case f.chat:
		return appendChatProbs(b, probs)
	}
	return appendTextProbs(b, probs, offset)
}

func appendChatProbs(b []byte, probs []engine.TokenProbs) []byte {
	b = append(b, `{"content":[`...)
	for i := range probs {
		b = comma(b, i)
		b = appendChatToken(b, &probs[i].Logprob)
		b = append(b, `,"top_logprobs":[`...)
		for j := range probs[i].Top {
			b = comma(b, j)
			b = append(appendChatToken(b, &probs[i].Top[j]), '}')
		}
		b = append(b, "]}"...)
	}
	return append(b, `],"refusal":null}`...)
}

// appendChatToken appends an object that is not closed yet.
func appendChatToken(b []byte, l *engine.Logprob) []byte {
	b = append(b, `{"token":`...)
	b = appendString(b, string(l.Piece))
	b = append(b, `,"logprob":`...)
	b = appendLog(b, l.Log)
	b = append(b, `,"bytes":[`...)
	for i, c := range l.Piece {
		b = comma(b, i)
		b = appendInt(b, int(c))
	}
	return append(b, ']')
}

func appendTextProbs(b []byte, probs []engine.TokenProbs, offset *int) []byte {
	b = append(b, `{"tokens":[`...)
	for i := range probs {
		b = appendString(comma(b, i), tokenName(probs[i].Piece))
	}
	b = append(b, `],"token_logprobs":[`...)
	for i := range probs {
		b = appendLog(comma(b, i), probs[i].Log)
	}
	b = append(b, `],"top_logprobs":[`...)
	for i := range probs {
		b = appendTop(comma(b, i), probs[i].Top)
	}
	b = append(b, `],"text_offset":[`...)
	for i := range probs {
		b = appendInt(comma(b, i), *offset)
		*offset += utf8.RuneCount(probs[i].Piece)
	}
	return append(b, "]}"...)
}

func appendTop(b []byte, top []engine.Logprob) []byte {
	if len(top) == 0 {
		return append(b, "null"...)
	}
	b = append(b, '{')
	for i := range top {
		b = appendString(comma(b, i), tokenName(top[i].Piece))
		b = append(b, ':')
		b = appendLog(b, top[i].Log)
	}
	return append(b, '}')
}

// tokenName is a token as a key: its text, or its bytes when they are part of a character, so that two are never the same.
func tokenName(piece []byte) string {
	if utf8.Valid(piece) {
		return string(piece)
	}
	var s strings.Builder
	s.WriteString("bytes:")
	for _, c := range piece {
		s.WriteString(`\x`)
		s.WriteByte(hexDigits[c>>4])
		s.WriteByte(hexDigits[c&15])
	}
	return s.String()
}

func appendLog(b []byte, l float64) []byte {
	if !(l > leastLogprob) { // NaN too
		l = leastLogprob
	}
	return strconv.AppendFloat(b, l, 'g', 8, 64)
}

// comma separates the i-th element of a list from the one before.
func comma(b []byte, i int) []byte {
	if i > 0 {
		return append(b, ',')
	}
	return b
}
