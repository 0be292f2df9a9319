package sluice

// PID is a controller: it turns an error, how far a measure is from its target, into a setting. It counts updates and not
// time, so update it at a fixed interval. The zero value with its gains and limits is ready.
//
// Its rules, which all SDKs share, to the integer:
//
//   - A gain is so many 2^Shift-ths of a unit of the setting for a unit of the error. Gains are clamped to 2^20 in size,
//     errors to 2^40, limits to 2^31, and Shift counts as at most 30. High below Low counts as Low.
//   - integral += KI*error, then clamped to what alone would give Low or High: it does not wind up while the setting stands
//     at a limit.
//   - setting = (KP*error + integral + KD*(error - last error)) / 2^Shift, rounded down, then clamped to Low and High. The
//     first error has no last one, and no part of KD.
type PID struct {
	KP, KI, KD int64
	Shift      uint8
	Low, High  int64 // limits of the setting

	integral int64 // times 2^Shift
	last     int64
	begun    bool
}

// Update takes the error and returns the setting.
func (c *PID) Update(err int64) int64 {
	const maxError = 1 << 40
	err = min(max(err, -maxError), maxError)
	if !c.begun {
		c.begun, c.last = true, err
	}
	shift := c.shift()
	low, high := c.limits()
	c.integral = min(max(c.integral+gain(c.KI)*err, low<<shift), high<<shift)
	sum := gain(c.KP)*err + c.integral + gain(c.KD)*(err-c.last)
	c.last = err
	return min(max(sum>>shift, low), high)
}

// Reset begins anew, so that an error of 0 gives the setting, clamped to Low and High.
func (c *PID) Reset(setting int64) {
	low, high := c.limits()
	c.integral, c.last, c.begun = min(max(setting, low), high)<<c.shift(), 0, false
}

func (c *PID) shift() uint8 { return min(c.Shift, 30) }

func (c *PID) limits() (low, high int64) {
	const most = 1 << 31
	low = min(max(c.Low, -most), most)
	return low, max(min(max(c.High, -most), most), low)
}

func gain(k int64) int64 {
	const most = 1 << 20
	return min(max(k, -most), most)
}
