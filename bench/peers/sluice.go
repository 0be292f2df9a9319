package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/sluice-dev/sluice/bench/internal/guest"
	"github.com/sluice-dev/sluice/plugins"
	"github.com/sluice-dev/sluice/plugins/abi"
	"github.com/sluice-dev/sluice/plugins/wazero"
)

// sdkC is where the guests in C find the SDK.
const sdkC = "../../sdk/c"

func sluiceC() (func(Question) (bool, error), func(), error) {
	wasm, err := guest.Build("shed", sdkC)
	if err != nil {
		return nil, nil, err
	}
	return ask(wasm)
}

func sluiceGo() (func(Question) (bool, error), func(), error) {
	dir, err := os.MkdirTemp("", "peers")
	if err != nil {
		return nil, nil, fmt.Errorf("make folder: %w", err)
	}
	defer os.RemoveAll(dir)
	out := filepath.Join(dir, "guest.wasm")
	cmd := exec.Command("go", "build", "-buildmode=c-shared", "-ldflags=-s -w", "-o", out, "./guests/golang")
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm")
	if text, err := cmd.CombinedOutput(); err != nil {
		return nil, nil, fmt.Errorf("compile the Go guest: %w: %s", err, text)
	}
	wasm, err := os.ReadFile(out)
	if err != nil {
		return nil, nil, fmt.Errorf("read the Go guest: %w", err)
	}
	return ask(wasm)
}

// ask loads a guest into the policy host as a server does: rewritten for fuel, self-tested, alone in its chain. The limit
// is part of the guest's configuration there; here it travels in the row's client_ttl_ns, since the Question carries it.
func ask(wasm []byte) (func(Question) (bool, error), func(), error) {
	rt, err := wazero.New(wazero.Options{})
	if err != nil {
		return nil, nil, fmt.Errorf("start runtime: %w", err)
	}
	host := plugins.New(rt, plugins.Options{Inline: true})
	stop := func() { _ = host.Close(); _ = rt.Close() }
	if err := host.SetAll(context.Background(), []plugins.Policy{{Name: "guest", Wasm: wasm}}); err != nil {
		stop()
		return nil, nil, err
	}
	set, _, _ := host.Swap(1)
	st := &abi.State{Size: abi.StateSize, NowNS: 1e9}
	rows, out, by := make([]abi.Row, 1), make([]abi.Verdict, 1), make([]abi.PolicyID, 1)
	rows[0] = abi.Row{Phase: uint8(abi.PhaseQueued), Valid: abi.RowHasClientTTLNS}
	return func(q Question) (bool, error) {
		st.WaitingRequests, rows[0].WaitNS, rows[0].ClientTTLNS = uint32(q.Waiting), q.WaitNS, q.MaxAgeNS
		set.Admit(st, rows, out, by)
		if by[0] < 0 {
			return false, fmt.Errorf("the policy failed")
		}
		return out[0].Action == uint8(abi.ActionReject), nil
	}, stop, nil
}
