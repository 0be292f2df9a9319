package sluice

// String is a key's text, or def when it is not set.
func (c *Config) String(key, def string) string {
	c.name(key)
	if v, ok := c.lookup(key); ok {
		return v
	}
	return def
}

// OneOf is a key's text, which must be one of allowed; the first of them is the default.
func (c *Config) OneOf(key string, allowed ...string) string {
	c.name(key)
	v, ok := c.lookup(key)
	if !ok {
		return allowed[0]
	}
	list := ""
	for i, a := range allowed {
		if a == v {
			return v
		}
		if i > 0 {
			list += ", "
		}
		list += a
	}
	c.bad(key, v, "must be one of "+list)
	return allowed[0]
}

// Bool is true, on, yes or 1, or false, off, no or 0.
func (c *Config) Bool(key string, def bool) bool {
	c.name(key)
	v, ok := c.lookup(key)
	if !ok {
		return def
	}
	switch v {
	case "true", "on", "yes", "1":
		return true
	case "false", "off", "no", "0":
		return false
	}
	c.bad(key, v, "must be true or false")
	return def
}

// Int is a whole number from least to most: "8".
func (c *Config) Int(key string, def, least, most int64) int64 {
	return c.get(key, def, kind{parseInt, formatInt, least, most})
}

// Duration is a time in ns from least to most, written with a unit: "2s", "500ms", "1.5s", "1m30s". A bare 0 is allowed.
func (c *Config) Duration(key string, def, least, most int64) int64 {
	return c.get(key, def, kind{parseDuration, formatDuration, least, most})
}

// Ratio is a ratio in parts per million from least to most, written as a decimal or in per cent: "0.9", "90%".
func (c *Config) Ratio(key string, def, least, most int64) int64 {
	return c.get(key, def, kind{parseRatio, formatRatio, least, most})
}

// ClassDurations is a Duration for each class: KEY for all of them, and KEY.0 to KEY.15 for single ones.
func (c *Config) ClassDurations(key string, def, least, most int64) (all [Classes]int64) {
	k := kind{parseDuration, formatDuration, least, most}
	def = c.get(key, def, k)
	c.name(key + ".<class>")
	for i := range all {
		all[i] = c.read(key+"."+formatInt(int64(i)), def, k)
	}
	return all
}

// kind is how a number is written, and its bounds.
type kind struct {
	parse       func(string) (int64, string) // what is wrong; "" for nothing
	format      func(int64) string
	least, most int64
}

func (c *Config) get(key string, def int64, k kind) int64 {
	c.name(key)
	return c.read(key, def, k)
}

func (c *Config) read(key string, def int64, k kind) int64 {
	v, ok := c.lookup(key)
	if !ok {
		return def
	}
	x, why := k.parse(v)
	switch {
	case why != "":
		c.bad(key, v, why)
	case x < k.least || x > k.most:
		c.bad(key, v, "must be from "+k.format(k.least)+" to "+k.format(k.most))
	default:
		return x
	}
	return def
}
