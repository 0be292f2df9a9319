package llama

import (
	"fmt"
	"os"
	"path/filepath"
)

// Names inside the cache folder, as scripts/setup.sh makes them.
const (
	libFolder      = "llama.cpp-v0.5.0-linux-x64"
	cudaFolder     = "llama.cpp-v0.5.0-linux-x64-cuda"
	publishedModel = "models/SmolLM2-135M-Instruct.Q4_1.gguf"
	fastModel      = "models/SmolLM2-135M-Instruct.IQ4_NL.gguf"
)

// CacheDir is the folder that set-up fills: SLUICE_CACHE, or sluice/ in the user's cache folder.
func CacheDir() (string, error) {
	if dir := os.Getenv("SLUICE_CACHE"); dir != "" {
		return filepath.Abs(dir)
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", usagef("find the cache folder: %w; set SLUICE_CACHE to a folder", err)
	}
	return filepath.Join(dir, "sluice"), nil
}

// DefaultPaths is where set-up puts the libraries, the default model as published (Q4_1), and the same model converted
// for this kind of CPU (IQ4_NL), which is the one to serve. It does not look whether they are there.
func DefaultPaths() (libDir, published, fast string, err error) {
	dir, err := CacheDir()
	if err != nil {
		return "", "", "", fmt.Errorf("default paths: %w", err)
	}
	return filepath.Join(dir, libFolder), filepath.Join(dir, publishedModel), filepath.Join(dir, fastModel), nil
}

// CUDALibraries is where set-up puts libraries that compute on NVIDIA's GPUs as well, when it is asked for them. It does not look
// whether they are there.
func CUDALibraries() (string, error) {
	dir, err := CacheDir()
	if err != nil {
		return "", fmt.Errorf("default paths: %w", err)
	}
	return filepath.Join(dir, cudaFolder), nil
}
