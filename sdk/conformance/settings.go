package conformance

// Settings are configurations to try, as a policy is given them: values by key.
type Settings struct {
	Taken   []map[string]string // traffic is shown under each of them
	Refused []map[string]string // each must be refused
}

// SettingsOf is what is tried on a policy that ships; for any other name, a configuration without settings.
func SettingsOf(name string) Settings {
	if s, ok := settings[name]; ok {
		return s
	}
	return Settings{Taken: []map[string]string{{}}, Refused: []map[string]string{{"no such setting": "1"}}}
}

var settings = map[string]Settings{
	"queue-age": {
		Taken: []map[string]string{
			{},
			{"max_age": "2s", "max_age.1": "30s", "arrival_factor": "2", "status": "429"},
			{"max_age": "1ms", "pressure": "0", "arrival_factor": "1000", "status": "529"},
			{"max_age.0": "1.5s", "max_age.3": "24h", "pressure": "100%", "arrival_factor": "0.000001"},
		},
		Refused: []map[string]string{
			{"max_age": "soon", "maxage": "1s"}, {"max_age.16": "1s"}, {"pressure": "1.1", "status": "500"}, {"max_age": "0", "max_age.3": "25h"},
		},
	},
	"class-priority": {
		Taken: []map[string]string{
			{},
			{"age_step": "100ms", "preempt": "off"},
			{"age_step": "24h", "preempt_limit": "0"},
			{"age_step": "1s", "preempt_limit": "1", "preempt": "yes"},
		},
		Refused: []map[string]string{
			{"age_step": "99ms"}, {"preempt": "maybe", "preempt_limit": "101"}, {"age_step": "1"}, {"Age_step": "1s", "zz": ""},
		},
	},
	"tpot-cap": {
		Taken: []map[string]string{
			{},
			{"hold_steps": "1", "settle_steps": "0", "tpot": "60ms"},
			{"floor": "4", "ceiling": "9", "band": "0.9", "increase": "64", "decrease": "0.1", "hold_steps": "3"},
			{"tpot": "100us", "hold_steps": "2", "settle_steps": "5", "floor": "2"},
		},
		Refused: []map[string]string{
			{"floor": "5", "ceiling": "4"}, {"tpot": "2m", "band": "0.95", "floor": "0"}, {"floor": "9", "ceiling": "8", "x": "y"}, {"decrease": "1"},
		},
	},
	"spec-off": {
		Taken: []map[string]string{
			{},
			{"max_batch": "8", "k": "4", "band": "255", "hold_steps": "0", "min_accept": "0.5", "probe_every": "1"},
			{"max_batch": "1", "k": "15", "band": "0", "hold_steps": "3", "min_accept": "100%", "probe_every": "7"},
			{"max_batch": "256", "k": "0", "min_accept": "0"},
		},
		Refused: []map[string]string{
			{"max_batch": "257", "k": "16"}, {"min_accept": "-1"}, {"probe_every": "0", "hold_steps": "1e3", "band": "256"}, {"": ""},
		},
	},
}
