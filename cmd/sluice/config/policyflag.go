package config

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// settingRE finds where the settings of FILE:key=value,... begin. A file's name may contain colons.
var settingRE = regexp.MustCompile(`:[A-Za-z_][A-Za-z0-9_.-]*=`)

// ParsePolicy reads the command line's form of a policy: FILE, or FILE:key=value,key=value.
func ParsePolicy(text string) (Policy, error) {
	file, settings := text, ""
	if at := settingRE.FindStringIndex(text); at != nil {
		file, settings = text[:at[0]], text[at[0]+1:]
	}
	if file == "" {
		return Policy{}, fmt.Errorf("policy %q names no file; write FILE or FILE:key=value,key=value", text)
	}
	p := Policy{Name: NameOf(file), File: file}
	if settings == "" {
		return p, nil
	}
	set, err := ParseSettings(strings.Split(settings, ","))
	if err != nil {
		return Policy{}, fmt.Errorf("policy %q: %w", text, err)
	}
	p.Set = set
	return p, nil
}

// moduleRE is a file's name with something behind it that is not settings.
var moduleRE = regexp.MustCompile(`^(.+\.wasm):(.*)$`)

// SettingsHint says what may have been meant by a file that is not there: settings that are not in the form of key=value,
// or that stand where none are taken; "" when it looks like a file's name alone. flag is how settings are given here, as
// "--set", or "" where they follow the file.
func SettingsHint(file, flag string) string {
	at := moduleRE.FindStringSubmatch(file)
	switch {
	case at == nil:
		return ""
	case flag != "":
		return fmt.Sprintf("; settings are given as %s key=value: %s %s ...", flag, at[1], flag)
	}
	return fmt.Sprintf("; settings follow the file as %s:key=value,key=value, but %q is not key=value", at[1], at[2])
}

// ClassHint says of settings that name a class, as max_age.batch does, which number it has there: policies know classes by
// their numbers. "" when there are none.
func ClassHint(set map[string]string, classes []string) string {
	var hints []string
	for _, key := range slices.Sorted(maps.Keys(set)) {
		for i, class := range classes {
			if base, ok := strings.CutSuffix(key, "."+class); ok && class != strconv.Itoa(i) {
				hints = append(hints, fmt.Sprintf("; class %s is number %d here: %s.%d", class, i, base, i))
			}
		}
	}
	return strings.Join(hints, "")
}

// ParseSettings reads key=value pairs.
func ParseSettings(pairs []string) (map[string]string, error) {
	set := make(map[string]string, len(pairs))
	for _, pair := range pairs {
		k, v, ok := strings.Cut(pair, "=")
		if !ok || k == "" {
			return nil, fmt.Errorf("setting %q is not key=value", pair)
		}
		if _, twice := set[k]; twice {
			return nil, fmt.Errorf("setting %q is given twice", k)
		}
		set[k] = v
	}
	return set, nil
}
