package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/sluice-dev/sluice/cmd/sluice/config"
	"github.com/sluice-dev/sluice/gpu/llama"
	"github.com/sluice-dev/sluice/gpu/sim"
)

// openDevice opens what computes. The engine closes it; without an engine it is closed with the rest.
func (p *parts) openDevice() error {
	p.closers.push(func() error {
		if p.device == nil || p.engine != nil {
			return nil
		}
		return p.device.Close()
	})
	if strings.HasPrefix(p.cfg.Device, "sim:") {
		return p.openSim()
	}
	return p.openLlama()
}

// openSim opens a device that takes the time of the one that it simulates and answers nonsense.
func (p *parts) openSim() error {
	if p.cfg.Model != "" {
		return fmt.Errorf("--model %s and --device %s exclude each other: a simulated device has no model", p.cfg.Model, p.cfg.Device)
	}
	profile, err := sim.ParseProfile(p.cfg.Device)
	if err != nil {
		return err
	}
	l := p.cfg.Limits
	p.device = sim.Open(profile, sim.Options{
		Wall: 1, KVTokens: l.KVTokens, MaxSeqs: l.MaxSeqs, MaxBatchTokens: l.MaxBatchTokens, ContextTokens: l.ContextTokens,
	})
	p.tokenizer = sim.Tokenizer{}
	return nil
}

func (p *parts) openLlama() error {
	libs, model, err := llamaPaths(p.cfg.LlamaLib, p.cfg.Model, p.cfg.Device)
	if err != nil {
		return err
	}
	l, drafter := p.cfg.Limits, p.cfg.Speculate.Drafter
	if drafter == config.DrafterNgram || drafter == config.DrafterOff {
		drafter = "" // nothing that the device has to do with
	}
	c := &p.cfg.Compute
	kvType := c.KVType
	if kvType == "auto" {
		kvType = "" // the device's own choice
	}
	p.log.Info("loading the model", "file", model)
	dev, err := llama.Open(llama.Options{
		LibDir: libs, ModelPath: model, Device: p.cfg.Device, ContextTokens: l.ContextTokens, KVTokens: l.KVTokens,
		MaxSeqs: l.MaxSeqs, MaxBatchTokens: l.MaxBatchTokens, Threads: c.Threads, KVLayout: c.KV, KVType: kvType,
		GPULayers: c.GPULayers, FlashAttention: c.FlashAttention, Drafter: drafter, DraftModel: p.cfg.Speculate.Model, Log: p.log,
	})
	if err != nil {
		return err
	}
	p.device, p.tokenizer, p.drafter = dev, dev.Tokenizer(), dev.Drafter()
	return nil
}

// llamaPaths fills in what set-up installed: the libraries that fit the device, and of the two forms of the default model the one
// with fast kernels, if it is there.
func llamaPaths(libs, model, device string) (string, string, error) {
	if libs != "" && model != "" {
		return libs, model, nil
	}
	_, published, fast, err := llama.DefaultPaths()
	if err != nil {
		return "", "", err
	}
	if libs == "" {
		if libs, err = defaultLibraries(device); err != nil {
			return "", "", err
		}
		if !exists(libs) {
			return "", "", fmt.Errorf("there are no llama.cpp libraries in %s: run `make setup`, or name their folder with --llama-lib", libs)
		}
	}
	if model == "" {
		if model = fast; !exists(model) {
			model = published
		}
		if !exists(model) {
			return "", "", fmt.Errorf("there is no model at %s: run `make setup`, or name a GGUF file with --model", model)
		}
	}
	return libs, model, nil
}

// defaultLibraries is the folder of the libraries that can do more, when set-up was asked for them and the device may need it.
func defaultLibraries(device string) (string, error) {
	plain, _, _, err := llama.DefaultPaths()
	if err != nil || device == llama.DeviceCPU {
		return plain, err
	}
	if cuda, err := llama.CUDALibraries(); err != nil || exists(cuda) {
		return cuda, err
	}
	return plain, nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
