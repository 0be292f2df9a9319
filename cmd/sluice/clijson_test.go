package main

import (
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/sluice-dev/sluice/cmd/sluice/author/bench"
	"github.com/sluice-dev/sluice/cmd/sluice/author/cases"
	"github.com/sluice-dev/sluice/cmd/sluice/author/check"
	"github.com/sluice-dev/sluice/cmd/sluice/author/module"
	"github.com/sluice-dev/sluice/cmd/sluice/author/project"
	"github.com/sluice-dev/sluice/host/admin"
	"github.com/sluice-dev/sluice/plugins"
	"github.com/sluice-dev/sluice/plugins/store"
)

// docs/cli-json.md names every field that these commands print, with a ? where it may be left out, and no other.
func TestJSONIsDocumented(t *testing.T) {
	text, err := os.ReadFile("../../docs/cli-json.md")
	if err != nil {
		t.Fatal(err)
	}
	sections := map[string][]string{}
	for _, section := range strings.Split(string(text), "\n## ")[1:] {
		title, body, _ := strings.Cut(section, "\n")
		for _, row := range regexp.MustCompile("(?m)^\\| (`.*?) \\|(.*)$").FindAllStringSubmatch(body, -1) {
			for _, name := range regexp.MustCompile("`([a-z_]+\\??)`").FindAllStringSubmatch(row[1]+row[2], -1) {
				sections[title] = append(sections[title], name[1])
			}
		}
	}
	for title, types := range map[string][]any{
		"List": {admin.PolicyList{}}, "Policy": {admin.Policy{}, plugins.HookInfo{}}, "Report": {plugins.Report{}, plugins.Tested{}},
		"Comparison": {admin.Shadow{}, admin.Difference{}}, "History": {admin.History{}, store.Entry{}, store.Left{}},
		"Safe mode": {admin.SafeMode{}}, "Configuration": {admin.ConfigValues{}, admin.Setting{}}, "Reload": {admin.Reload{}, admin.Change{}}, "Keys": {keyPair{}}, "Signature": {signed{}}, "Version": {build{}},
		"Check": {check.Result{}, check.Hook{}}, "Built": {project.Built{}, buildReport{}}, "Cases": {caseReport{}, cases.Failure{}},
		"Bench": {bench.Figure{}}, "Step times": {costsOutput{}, costsRow{}},
		"Module": {module.Info{}, module.Producer{}, module.Symbol{}, module.Section{}, module.Function{}, module.Recursion{}, module.Cycle{}},
	} {
		for _, v := range types {
			for _, name := range fieldsOf(reflect.TypeOf(v)) {
				if !slices.Contains(sections[title], name) {
					t.Errorf("%s: %T has %s, which is not documented", title, v, name)
				}
			}
		}
	}
	for _, name := range []string{"revision", "unchanged?"} {
		if !slices.Contains(sections["Change"], name) {
			t.Errorf("Change: %s is not documented", name)
		}
	}
}

// fieldsOf lists the JSON fields of a struct, with a ? behind one that may be left out.
func fieldsOf(typ reflect.Type) (names []string) {
	for _, f := range reflect.VisibleFields(typ) {
		name, rest, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous || name == "" || name == "active_since_ns" { // zero in an answer, which has since in its place
			continue
		}
		if rest != "" {
			name += "?"
		}
		names = append(names, name)
	}
	return names
}
