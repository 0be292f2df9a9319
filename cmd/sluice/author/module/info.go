package module

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"

	"github.com/sluice-dev/sluice/plugins"
	"github.com/sluice-dev/sluice/plugins/abi"
	"github.com/sluice-dev/sluice/plugins/meter"
)

// Info describes a module.
type Info struct {
	Digest    string     `json:"digest"` // sha256, hex
	Bytes     int        `json:"bytes"`
	Language  string     `json:"language"` // "" when nothing tells
	Producers []Producer `json:"producers"`
	ABIMajor  int        `json:"abi_major"` // 0 when it exports no marker
	ABIMinor  int        `json:"abi_minor"` // -1 when only running it tells
	Hooks     []string   `json:"hooks"`     // that it exports; it need not declare all of them
	Reads     []string   `json:"reads"`     // null when only running it tells

	Imports   []Symbol   `json:"imports"`
	Exports   []Symbol   `json:"exports"`
	Sections  []Section  `json:"sections"`
	MemoryMin uint32     `json:"memory_min_pages"`
	MemoryMax uint32     `json:"memory_max_pages"` // under the host's limit
	Functions int        `json:"functions"`
	CodeBytes int        `json:"code_bytes"`
	DataBytes int        `json:"data_bytes"`
	Biggest   []Function `json:"biggest"`
	Recursion Recursion  `json:"recursion"`
}

// Producer is one tool that made the module, from its producers section.
type Producer struct {
	Field   string `json:"field"` // language, processed-by or sdk
	Name    string `json:"name"`
	Version string `json:"version"`
}

// Symbol is an import or an export.
type Symbol struct {
	Name string `json:"name"` // of an import with its module: sluice.log
	Kind string `json:"kind"`
	Type string `json:"type,omitempty"` // of a function: (i32, i64) -> i32
}

// Section is one section.
type Section struct {
	Name  string `json:"name"`
	Bytes int    `json:"bytes"`
}

// Function is one function.
type Function struct {
	Index int    `json:"index"`
	Name  string `json:"name"` // "" when the module has no names
	Bytes int    `json:"bytes"`
}

// most is how many of the biggest functions are listed.
const most = 10

// Inspect describes a module. An error says why it cannot be a policy's: its encoding is wrong or it is over a limit.
func Inspect(wasm []byte) (*Info, error) {
	if err := plugins.CheckFormat(wasm); err != nil {
		return nil, fmt.Errorf("read module: %w", err)
	}
	d, err := meter.Describe(wasm, meter.DefaultLimits())
	if err != nil {
		return nil, fmt.Errorf("read module: %w", err)
	}
	sum := sha256.Sum256(wasm)
	i := &Info{
		Digest: hex.EncodeToString(sum[:]), Bytes: len(wasm), ABIMinor: -1, Hooks: []string{}, Producers: []Producer{},
		Imports: []Symbol{}, Exports: []Symbol{}, MemoryMin: d.MemoryMin,
		MemoryMax: min(d.MemoryMax, plugins.BudgetFor(d.Imports).Pages), Functions: len(d.Functions) - d.Imported,
	}
	for _, s := range d.Sections {
		i.section(s)
	}
	i.Language = language(d, i.Producers)
	i.symbols(d)
	i.abi(d)
	i.Biggest = biggest(d)
	i.Recursion = recursion(d, i.Language)
	return i, nil
}

func (i *Info) section(s meter.Section) {
	i.Sections = append(i.Sections, Section{s.Name, s.Bytes})
	switch s.Name {
	case "code":
		i.CodeBytes += s.Bytes
	case "data":
		i.DataBytes += s.Bytes
	case "producers":
		i.Producers = append(i.Producers, producers(s.Body)...)
	}
}

func (i *Info) symbols(d *meter.Description) {
	for _, m := range d.Imports {
		i.Imports = append(i.Imports, symbol(m.Module+"."+m.Name, m.Kind, m.Signature))
	}
	for _, x := range d.Exports {
		i.Exports = append(i.Exports, symbol(x.Name, x.Kind, x.Signature))
	}
}

func symbol(name string, kind meter.Kind, s meter.Signature) Symbol {
	out := Symbol{Name: name, Kind: kind.String()}
	if kind == meter.KindFunction {
		out.Type = plugins.Signature(s.Params, s.Results)
	}
	return out
}

// abi finds what the exports say of the ABI, and what the descriptor does where it stands in the data.
func (i *Info) abi(d *meter.Description) {
	if _, ok := d.Exported(abi.ExportMarker); ok {
		i.ABIMajor = abi.Major
	}
	for e := plugins.EntryConfigure; e < plugins.Entries; e++ {
		if _, ok := d.Exported(e.String()); ok {
			for _, name := range plugins.HookNames(e.Hook()) {
				if !slices.Contains(i.Hooks, name) {
					i.Hooks = append(i.Hooks, name)
				}
			}
		}
	}
	if desc, ok := descriptor(d.Data); ok && i.ABIMajor > 0 {
		i.ABIMinor, i.Hooks = int(desc.Minor), plugins.HookNames(abi.Hook(desc.Hooks))
		i.Reads = plugins.GroupNames(abi.Declared(desc.Reads))
	}
}

func biggest(d *meter.Description) []Function {
	all := make([]Function, 0, len(d.Functions))
	for i := d.Imported; i < len(d.Functions); i++ {
		all = append(all, Function{i, d.Functions[i].Name, d.Functions[i].Bytes})
	}
	slices.SortStableFunc(all, func(a, b Function) int { return cmp.Compare(b.Bytes, a.Bytes) })
	return all[:min(most, len(all))]
}
