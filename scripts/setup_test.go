// Package scripts_test runs the scripts where things go wrong: the network gives another file, a tool is missing, it is
// killed, two run at once. That it works when nothing goes wrong is shown by every test that finds the model in place.
package scripts_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// place is a cache and a PATH of its own.
type place struct {
	t          *testing.T
	cache, bin string
}

func newPlace(t *testing.T) *place {
	t.Helper()
	p := &place{t: t, cache: filepath.Join(t.TempDir(), "cache"), bin: t.TempDir()}
	for _, tool := range []string{"bash", "mkdir", "rm", "mv", "ln", "sync", "tar", "gzip", "flock", "sha256sum", "uname", "id", "grep", "cat", "sleep"} {
		path, err := exec.LookPath(tool)
		if err != nil {
			t.Skipf("%s is not installed", tool)
		}
		if err := os.Symlink(path, filepath.Join(p.bin, tool)); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

// tool puts a shell script of that name on the PATH.
func (p *place) tool(name, body string) {
	p.t.Helper()
	if err := os.WriteFile(filepath.Join(p.bin, name), []byte("#!"+p.bin+"/bash\n"+body), 0o755); err != nil {
		p.t.Fatal(err)
	}
}

func (p *place) file(name string) {
	p.t.Helper()
	path := filepath.Join(p.cache, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("x"), 0o755); err != nil {
		p.t.Fatal(err)
	}
}

func (p *place) command(args ...string) (*exec.Cmd, *bytes.Buffer) {
	p.t.Helper()
	script, err := filepath.Abs("setup.sh")
	if err != nil {
		p.t.Fatal(err)
	}
	cmd := exec.Command(filepath.Join(p.bin, "bash"), append([]string{script}, args...)...)
	cmd.Env = []string{"PATH=" + p.bin, "SLUICE_CACHE=" + p.cache}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out := new(bytes.Buffer)
	cmd.Stdout, cmd.Stderr = out, out
	return cmd, out
}

func (p *place) run(args ...string) (code int, out string) {
	p.t.Helper()
	cmd, buf := p.command(args...)
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		p.t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), buf.String()
}

// left is what is in the cache besides the lock and finished downloads' folder.
func (p *place) left() []string {
	var out []string
	entries, _ := os.ReadDir(p.cache)
	for _, e := range entries {
		if e.Name() != ".lock-setup" && e.Name() != "downloads" {
			out = append(out, e.Name())
		}
	}
	downloads, _ := os.ReadDir(filepath.Join(p.cache, "downloads"))
	for _, e := range downloads {
		out = append(out, e.Name())
	}
	return out
}

func TestNothingMissingIsSilent(t *testing.T) {
	p := newPlace(t)
	for _, f := range []string{"llama.cpp-v0.5.0-linux-x64/libllama.so", "models/SmolLM2-135M-Instruct.Q4_1.gguf",
		"models/SmolLM2-135M-Instruct.IQ4_NL.gguf", "clients-openai-3.57.0/bin/python", "clients-openai-npm-6.49.0/node_modules/openai/package.json"} {
		p.file(f)
	}
	p.tool("npm", "echo called")
	if code, out := p.run("--with-clients"); code != 0 || out != "" {
		t.Errorf("exit %d: %s", code, out)
	}
	if _, err := os.Stat(filepath.Join(p.cache, ".lock-setup")); err == nil {
		t.Error("it takes the lock though nothing is missing")
	}
}

func TestMissingToolIsNamed(t *testing.T) {
	p := newPlace(t)
	if code, out := p.run(); code != 1 || !strings.Contains(out, "apt-get install npm") {
		t.Errorf("no npm: exit %d: %s", code, out)
	}
	p.file("llama.cpp-v0.5.0-linux-x64/libllama.so")
	p.tool("python3", "exit 1")
	if code, out := p.run(); code != 1 || !strings.Contains(out, "apt-get install python3-pip") {
		t.Errorf("no pip: exit %d: %s", code, out)
	}
	if code, _ := p.run("--with-nonsense"); code != 2 {
		t.Errorf("an unknown argument: exit %d", code)
	}
}

func TestAnotherFileThanThePinnedOneIsRefused(t *testing.T) {
	p := newPlace(t)
	p.tool("npm", "echo evil > node-llama-cpp-linux-x64-3.22.1.tgz")
	code, out := p.run()
	if code != 1 || !strings.Contains(out, "expected 0d953e1503d5ab") || !strings.Contains(out, "nothing was installed") {
		t.Errorf("exit %d: %s", code, out)
	}
	if left := p.left(); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestFailedFetchIsAnError(t *testing.T) {
	p := newPlace(t)
	p.tool("npm", "echo no network >&2; exit 7")
	code, out := p.run()
	if code != 1 || !strings.Contains(out, "no network") || !strings.Contains(out, "run this again") {
		t.Errorf("exit %d: %s", code, out)
	}
	if left := p.left(); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

// Killed outright while it fetches, it has put nothing in place, and the next run clears what it left and starts over.
func TestKilledRunIsTakenUp(t *testing.T) {
	p := newPlace(t)
	p.tool("npm", "echo part > node-llama-cpp-linux-x64-3.22.1.tgz; echo > "+p.cache+"/started; sleep 60")
	cmd, _ := p.command()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	wait(t, filepath.Join(p.cache, "started"))
	if err := syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if _, err := os.Stat(filepath.Join(p.cache, "llama.cpp-v0.5.0-linux-x64")); err == nil {
		t.Error("half a download is in place")
	}
	p.tool("npm", "[ ! -e node-llama-cpp-linux-x64-3.22.1.tgz ] || echo leftovers >&2; exit 7")
	if code, out := p.run(); code != 1 || strings.Contains(out, "leftovers") || strings.Contains(out, "waiting") {
		t.Errorf("exit %d: %s", code, out)
	}
}

func wait(t *testing.T, path string) {
	t.Helper()
	for range 1000 {
		if _, err := os.Stat(path); err == nil {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("%s does not appear", path)
}

func TestTwoAtOnceTakeTurns(t *testing.T) {
	p := newPlace(t)
	p.tool("npm", "mkdir "+p.bin+"/busy || echo overlap >&2; echo > "+p.bin+"/started; "+
		"while [ ! -e "+p.bin+"/go ]; do sleep 0.01; done; rm -r "+p.bin+"/busy; exit 7")
	first, out1 := p.command()
	second, _ := p.command()
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	wait(t, filepath.Join(p.bin, "started"))
	log := filepath.Join(p.bin, "log")
	f, err := os.Create(log)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	second.Stdout, second.Stderr = f, f
	if err := second.Start(); err != nil {
		t.Fatal(err)
	}
	for range 1000 {
		data, _ := os.ReadFile(log)
		if strings.Contains(string(data), "waiting for it") {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if err := os.WriteFile(filepath.Join(p.bin, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_ = first.Wait()
	_ = second.Wait()
	data, _ := os.ReadFile(log)
	all := out1.String() + string(data)
	if strings.Contains(all, "overlap") || strings.Count(all, "waiting for it") != 1 || strings.Count(all, "run this again") != 2 {
		t.Errorf("%s", all)
	}
}

// The libraries for CUDA are fetched only when they are asked for, and pinned like the others.
func TestLibrariesForCUDAAreFetchedWhenAskedFor(t *testing.T) {
	p := newPlace(t)
	for _, f := range []string{"llama.cpp-v0.5.0-linux-x64/libllama.so", "models/SmolLM2-135M-Instruct.Q4_1.gguf", "models/SmolLM2-135M-Instruct.IQ4_NL.gguf"} {
		p.file(f)
	}
	p.tool("npm", "echo evil > node-llama-cpp-linux-x64-cuda-3.22.1.tgz")
	if code, out := p.run(); code != 0 || out != "" {
		t.Errorf("they were not asked for: exit %d: %s", code, out)
	}
	if code, out := p.run("--cuda"); code != 1 || !strings.Contains(out, "expected d6cd3ff39a43b0") {
		t.Errorf("another file than the pinned one: exit %d: %s", code, out)
	}
	p.file("llama.cpp-v0.5.0-linux-x64-cuda/libllama.so")
	if code, out := p.run("--cuda"); code != 0 || out != "" {
		t.Errorf("they are there: exit %d: %s", code, out)
	}
}

func TestGPUCheckNeedsAGPU(t *testing.T) {
	if found, _ := filepath.Glob("/dev/nvidia[0-9]*"); len(found) > 0 {
		t.Skip("this machine has one")
	}
	p := newPlace(t)
	if code, out := p.runScript("gpu-check.sh"); code != 1 || !strings.Contains(out, "there is no NVIDIA device on this machine") {
		t.Errorf("exit %d: %s", code, out)
	}
	if left := p.left(); len(left) != 0 {
		t.Errorf("it fetched something first: %v", left)
	}
}
