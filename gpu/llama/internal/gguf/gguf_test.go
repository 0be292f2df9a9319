package gguf

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// builder writes a header by hand, so that tests do not read what the code under test wrote.
type builder struct{ bytes.Buffer }

func (b *builder) num(vs ...any) *builder {
	for _, v := range vs {
		_ = binary.Write(b, binary.LittleEndian, v)
	}
	return b
}

func (b *builder) text(s string) *builder { b.num(uint64(len(s))); b.WriteString(s); return b }

func sample() []byte {
	var b builder
	b.WriteString("GGUF")
	b.num(uint32(3), uint64(2), uint64(5))
	b.text("general.architecture").num(kindString).text("llama")
	b.text("general.file_type").num(kindUint32, uint32(7))
	b.text("tokenizer.ggml.tokens").num(kindArray, kindString, uint64(2)).text("a").text("bc")
	b.text("nested").num(kindArray, kindArray, uint64(1), kindInt16, uint64(3), [3]int16{1, 2, 3})
	b.text("negative").num(kindInt32, int32(-1))
	b.text("token_embd.weight").num(uint32(2), uint64(576), uint64(49152), uint32(Q8_0), uint64(0))
	b.text("output_norm.weight").num(uint32(1), uint64(576), uint32(F32), uint64(64))
	return b.Bytes()
}

func TestReadGivesMetadataAndTensors(t *testing.T) {
	h, err := Read(bytes.NewReader(sample()), int64(len(sample())))
	if err != nil {
		t.Fatal(err)
	}
	if h.Architecture() != "llama" || h.Numbers["general.file_type"] != 7 {
		t.Errorf("metadata: %+v", h)
	}
	if _, there := h.Numbers["negative"]; there {
		t.Error("a negative number was kept as a huge one")
	}
	if len(h.Tensors) != 2 || h.Tensors[0].Type != Q8_0 || h.Tensors[0].Elements() != 576*49152 {
		t.Errorf("tensors: %+v", h.Tensors)
	}
}

func TestReadKeepsShortListsAndIntegerTensors(t *testing.T) {
	var b builder
	b.WriteString("GGUF")
	b.num(uint32(3), uint64(2), uint64(5))
	b.text("layers").num(kindArray, kindInt32, uint64(3), [3]int32{8, -1, 29})
	b.text("small").num(kindArray, kindInt8, uint64(2), [2]int8{-3, 4})
	b.text("long").num(kindArray, kindUint16, uint64(65), [65]uint16{})
	b.text("tokens").num(kindArray, kindString, uint64(2)).text("a").text("bc")
	b.text("scale").num(kindFloat32, float32(0.5))
	b.text("norm").num(uint32(1), uint64(4), uint32(F32), uint64(0))
	b.text("d2t").num(uint32(1), uint64(3), uint32(I64), uint64(32))
	for b.Len()%32 != 0 {
		b.WriteByte(0)
	}
	start := b.Len()
	b.num([8]float32{}, [3]int64{5, -7, 1 << 40})
	path := filepath.Join(t.TempDir(), "h.gguf")
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	h, err := ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(h.Ints["layers"], []int64{8, -1, 29}) || !slices.Equal(h.Ints["small"], []int64{-3, 4}) || h.Ints["long"] != nil {
		t.Errorf("lists: %v", h.Ints)
	}
	if h.Lengths["layers"] != 3 || h.Lengths["long"] != 65 || h.Lengths["tokens"] != 2 || h.Floats["scale"] != 0.5 || h.Data != int64(start) {
		t.Errorf("%v %v, data at %d", h.Lengths, h.Floats, h.Data)
	}
	if got, err := h.ReadInts(path, "d2t"); err != nil || !slices.Equal(got, []int64{5, -7, 1 << 40}) {
		t.Errorf("%v, %v", got, err)
	}
	for _, name := range []string{"norm", "none"} {
		if _, err := h.ReadInts(path, name); !errors.Is(err, ErrFormat) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := os.Truncate(path, int64(start+40)); err != nil {
		t.Fatal(err)
	}
	if _, err := h.ReadInts(path, "d2t"); !errors.Is(err, ErrFormat) {
		t.Errorf("cut off: %v", err)
	}
}

func TestReadRefusesEveryCutOffHeader(t *testing.T) {
	whole := sample()
	for n := range whole {
		if _, err := Read(bytes.NewReader(whole[:n]), int64(n)); !errors.Is(err, ErrFormat) {
			t.Fatalf("%d of %d bytes: %v", n, len(whole), err)
		}
	}
}

func TestReadRefusesClaimsBeyondTheFile(t *testing.T) {
	head := func(tensors, pairs uint64) *builder {
		b := new(builder)
		b.WriteString("GGUF")
		b.num(uint32(3), tensors, pairs)
		return b
	}
	cases := map[string]*builder{
		"tensors":      head(1<<60, 0),
		"pairs":        head(0, 1<<60),
		"string":       head(0, 1).text("k").num(kindString, uint64(1)<<62),
		"key":          head(0, 1).num(uint64(1) << 62),
		"array":        head(0, 1).text("k").num(kindArray, kindUint64, uint64(1)<<61),
		"nested":       head(0, 1).text("k").num(kindArray, kindArray, uint64(1)<<62, kindArray, uint64(1)),
		"unknown kind": head(0, 1).text("k").num(uint32(99)),
		"dimensions":   head(1, 0).text("t").num(uint32(9)),
		"version":      {},
	}
	cases["version"].WriteString("GGUF")
	cases["version"].num(uint32(9), uint64(0), uint64(0))
	for name, b := range cases {
		if _, err := Read(bytes.NewReader(b.Bytes()), int64(b.Len())); !errors.Is(err, ErrFormat) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestReadFileTellsMissingFromWrong(t *testing.T) {
	dir := t.TempDir()
	if _, err := ReadFile(filepath.Join(dir, "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing: %v", err)
	}
	if _, err := ReadFile(dir); !errors.Is(err, ErrFormat) {
		t.Errorf("folder: %v", err)
	}
	page := filepath.Join(dir, "page.gguf")
	if err := os.WriteFile(page, []byte("<!doctype html>"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadFile(page); !errors.Is(err, ErrFormat) {
		t.Errorf("web page: %v", err)
	}
}

func FuzzRead(f *testing.F) {
	f.Add(sample())
	f.Add(sample()[:40])
	f.Add([]byte("GGUF"))
	f.Fuzz(func(t *testing.T, data []byte) {
		h, err := Read(bytes.NewReader(data), int64(len(data)))
		if (h == nil) == (err == nil) {
			t.Fatalf("header %v with error %v", h, err)
		}
		if err != nil && !errors.Is(err, ErrFormat) {
			t.Fatalf("an error that is not ErrFormat: %v", err)
		}
		if err == nil && len(h.Tensors)*24 > len(data) {
			t.Fatalf("%d tensors out of %d bytes", len(h.Tensors), len(data))
		}
	})
}
