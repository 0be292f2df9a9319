package trace

import (
	"bytes"
	"compress/gzip"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
)

func load(t *testing.T, text string) (*Loaded, error) {
	t.Helper()
	return Load(strings.NewReader(text), Options{Name: "f"})
}

func TestFormatsAreToldFromTheirContent(t *testing.T) {
	const second = int64(1e9)
	own := string(encode(t, served()))
	for _, c := range []struct {
		name, text, format string
		arrival            int64
		prompt, out        int
		class              string
	}{
		{"own", own, "sluice", served().Arrival, 7, 5, DefaultClass},
		{"azure with CRLF and no last newline", "TIMESTAMP,ContextTokens,GeneratedTokens\r\n2023-11-16 18:15:46.6805900,374,44\r\n2023-11-16 18:15:50.9951690,396,109",
			"azure2023", 1700158546*second + 680590000, 374, 44, DefaultClass},
		{"mooncake", `{"timestamp": 27482, "input_length": 6955, "output_length": 52, "hash_ids": [46, 47]}`, "mooncake", 27482e6, 6955, 52, DefaultClass},
		{"servegen", "timestamp_s,input_tokens,output_tokens,reason_ratio\n0.012128,258,422,0.848\n", "servegen", 12128e3, 258, 422, DefaultClass},
		{"plain", "arrival_s,prompt_tokens,output_tokens\n1.5,10,20\n", "csv", 15e8, 10, 20, DefaultClass},
		{"plain with class, other order, BOM", "\ufeffclass,output_tokens,prompt_tokens,arrival_s\n batch ,20,10,0\n", "csv", 0, 10, 20, "batch"},
	} {
		got, err := load(t, c.text)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		r := got.Records[0]
		if got.Format != c.format || r.Arrival != c.arrival || r.PromptTokens != c.prompt || r.OutputTokens != c.out || r.Class != c.class {
			t.Errorf("%s: %s %+v", c.name, got.Format, r)
		}
		if imported := r.Imported != ""; imported != (c.format != "sluice") || imported && r.TTFT != nil {
			t.Errorf("%s: %+v", c.name, r)
		}
	}
}

func TestRecordsComeSortedByArrival(t *testing.T) {
	got, err := load(t, "arrival_s,prompt_tokens,output_tokens\n2,1,1\n1,2,1\n1,3,1\n0,4,1\n")
	if err != nil {
		t.Fatal(err)
	}
	var prompts []int
	for _, r := range got.Records {
		prompts = append(prompts, r.PromptTokens)
	}
	if want := []int{4, 2, 3, 1}; !equal(prompts, want) {
		t.Errorf("%v, want %v", prompts, want)
	}
}

func equal(a, b []int) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

func TestCompressedTracesAreRead(t *testing.T) {
	own := encode(t, served(), served())
	var z, g bytes.Buffer
	enc, _ := zstd.NewWriter(&z)
	gz := gzip.NewWriter(&g)
	for _, w := range []interface {
		Write([]byte) (int, error)
		Close() error
	}{enc, gz} {
		if _, err := w.Write(own); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	for name, b := range map[string][]byte{"zstd": z.Bytes(), "gzip": g.Bytes()} {
		got, err := Load(bytes.NewReader(b), Options{})
		if err != nil || len(got.Records) != 2 {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := Load(bytes.NewReader(b[:len(b)-5]), Options{}); err == nil {
			t.Errorf("%s: a cut file was read", name)
		}
	}
}

func TestAForeignFileIsRefusedWithItsFault(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       error
		says       string
	}{
		{"empty", "", ErrEmpty, "f"},
		{"blank", "\n \n", ErrEmpty, ""},
		{"header only", "arrival_s,prompt_tokens,output_tokens\n", ErrEmpty, ""},
		{"other JSON", `{"a":1}`, ErrForeign, "known: "},
		{"binary", "\x7fELF\x02\x01\x01\x00", ErrForeign, `\x7f`},
		{"lengths without arrivals", "num_prefill_tokens,num_decode_tokens\n1,2\n", ErrForeign, "no arrivals"},
		{"typo in an optional column", "arrival_s,prompt_tokens,output_tokens,clas\n1,2,3,x\n", ErrForeign, `"clas"`},
		{"column twice", "arrival_s,prompt_tokens,prompt_tokens,output_tokens\n", ErrForeign, "twice"},
		{"column missing", "arrival_s,prompt_tokens\n1,2\n", ErrForeign, `"output_tokens"`},
		{"too few fields", "arrival_s,prompt_tokens,output_tokens\n1,2\n1,2,3\n", ErrInvalid, "line 2, byte 38"},
		{"cut off", "arrival_s,prompt_tokens,output_tokens\n1,2,3\n1,2", ErrTruncated, "line 3, byte 44"},
		{"no number", "arrival_s,prompt_tokens,output_tokens\n1,2,x\n", nil, "column output_tokens"},
		{"no tokens", "arrival_s,prompt_tokens,output_tokens\n1,0,3\n", nil, "column prompt_tokens"},
		{"not a time", "arrival_s,prompt_tokens,output_tokens\nNaN,1,3\n", nil, "column arrival_s"},
		{"time before the epoch", "TIMESTAMP,ContextTokens,GeneratedTokens\n0001-01-01 00:00:00,1,3\n", nil, "column TIMESTAMP"},
		{"mooncake without time", `{"input_length":3,"output_length":3}`, ErrInvalid, "timestamp"},
		{"mooncake without output", `{"timestamp":3,"input_length":3}`, ErrInvalid, "output"},
		{"newer", `{"v":7}`, ErrNewer, "version 7"},
		{"corrupt first line", `{"v":1,`, ErrTruncated, "line 1, byte 7"},
	} {
		_, err := load(t, c.text)
		if err == nil || c.want != nil && !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

func TestLoadIsBounded(t *testing.T) {
	_, err := Load(strings.NewReader("arrival_s,prompt_tokens,output_tokens\n1,2,3\n1,2,3\n1,2,3\n"), Options{MaxRecords: 2})
	if err == nil || !strings.Contains(err.Error(), "more than 2 records") {
		t.Error(err)
	}
}

// shared finds the folder of public traces, which lies beside the repository where there is one.
func shared(t *testing.T) string {
	t.Helper()
	if dir := os.Getenv("SLUICE_SHARED"); dir != "" {
		return filepath.Join(dir, "traces")
	}
	dir, err := os.Getwd()
	for err == nil && dir != filepath.Dir(dir) {
		dir = filepath.Dir(dir)
		if s := filepath.Join(dir, "shared", "traces"); isDir(s) {
			return s
		}
	}
	t.Skip("no public traces: SLUICE_SHARED is not set and there is no folder shared/ above")
	return ""
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

func TestPublicTraces(t *testing.T) {
	dir := shared(t)
	for _, c := range []struct {
		file, format string
		n            int
		span         float64 // s
		warns        bool
	}{
		{"azure2023/AzureLLMInferenceTrace_conv.csv", "azure2023", 19366, 3501.7, false},
		{"azure2023/AzureLLMInferenceTrace_code.csv", "azure2023", 8819, 3435.9, false},
		{"mooncake_fast25/conversation_trace.jsonl.zst", "mooncake", 12031, 3537.0, true},
		{"servegen/deepseek-r1_5rps_1h_independent.csv.zst", "servegen", 17940, 3600, false},
	} {
		got, err := LoadFile(filepath.Join(dir, c.file), Options{})
		if err != nil {
			t.Error(err)
			continue
		}
		span := float64(got.Records[len(got.Records)-1].Arrival-got.Records[0].Arrival) / 1e9
		if got.Format != c.format || len(got.Records) != c.n || span < c.span-1 || span > c.span+1 || (len(got.Warnings) > 0) != c.warns {
			t.Errorf("%s: %s, %d records, %.1f s, warnings %q", c.file, got.Format, len(got.Records), span, got.Warnings)
		}
	}
}

func FuzzLoad(f *testing.F) {
	for _, s := range []string{
		"TIMESTAMP,ContextTokens,GeneratedTokens\r\n2023-11-16 18:15:46.6805900,374,44",
		`{"timestamp": 27482, "input_length": 6955, "output_length": 52, "hash_ids": [46, 47]}`,
		"timestamp_s,input_tokens,output_tokens,reason_ratio\n0.012128,258,422,0.848\n",
		"\xef\xbb\xbfclass,output_tokens,prompt_tokens,arrival_s\nbatch,20,10,1e-9\n",
		"\x28\xb5\x2f\xfd\x00", "\x1f\x8b", string(encode(f, served())),
	} {
		f.Add([]byte(s), true)
	}
	f.Fuzz(func(t *testing.T, data []byte, skip bool) {
		got, err := Load(bytes.NewReader(data), Options{SkipBad: skip, MaxLine: 1 << 16, MaxRecords: 1000})
		if err != nil {
			return
		}
		for i := range got.Records {
			if err := got.Records[i].Validate(); err != nil {
				t.Fatal(err)
			}
		}
		if len(got.Records) == 0 {
			t.Fatal("no error and no records")
		}
	})
}
