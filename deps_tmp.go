//go:build deps

package sluice

import (
	_ "github.com/dgraph-io/badger/v4"
	_ "github.com/ebitengine/purego"
	_ "github.com/goccy/go-yaml"
	_ "github.com/gofiber/fiber/v2"
	_ "github.com/gofrs/flock"
	_ "github.com/google/renameio/v2"
	_ "github.com/hybridgroup/yzma/pkg/llama"
	_ "github.com/hybridgroup/yzma/pkg/loader"
	_ "github.com/jupiterrider/ffi"
	_ "github.com/klauspost/compress/zstd"
	_ "github.com/lmittmann/tint"
	_ "github.com/nikolalohinski/gonja/v2"
	_ "github.com/oklog/ulid/v2"
	_ "github.com/openai/openai-go/v3"
	_ "github.com/prometheus/client_golang/prometheus"
	_ "github.com/prometheus/client_golang/prometheus/promhttp"
	_ "github.com/spf13/cobra"
	_ "github.com/tetratelabs/wazero"
	_ "github.com/tetratelabs/wazero/experimental"
	_ "github.com/valyala/fasthttp"
	_ "go.uber.org/goleak"
	_ "golang.org/x/sync/errgroup"
	_ "golang.org/x/sys/unix"
	_ "pgregory.net/rapid"
)
