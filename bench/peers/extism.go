package main

import (
	"context"
	"encoding/binary"
	"fmt"

	extism "github.com/extism/go-sdk"

	"github.com/sluice-dev/sluice/bench/internal/guest"
)

func extismPeer() (func(Question) (bool, error), func(), error) {
	wasm, err := guest.Build("extism", sdkC)
	if err != nil {
		return nil, nil, err
	}
	ctx := context.Background()
	p, err := extism.NewPlugin(ctx, extism.Manifest{Wasm: []extism.Wasm{extism.WasmData{Data: wasm}}}, extism.PluginConfig{}, nil)
	if err != nil {
		return nil, nil, err
	}
	var in [24]byte
	return func(q Question) (bool, error) {
		binary.LittleEndian.PutUint64(in[:], uint64(q.WaitNS))
		binary.LittleEndian.PutUint64(in[8:], uint64(q.MaxAgeNS))
		binary.LittleEndian.PutUint64(in[16:], uint64(q.Waiting))
		_, out, err := p.Call("shed", in[:])
		if err != nil {
			return false, err
		}
		if len(out) != 1 {
			return false, fmt.Errorf("%d bytes of output", len(out))
		}
		return out[0] == 1, nil
	}, func() { _ = p.Close(ctx) }, nil
}
