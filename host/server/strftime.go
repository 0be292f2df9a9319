package server

import (
	"strings"
	"time"
)

var strftimeLayouts = map[byte]string{
	'Y': "2006", 'y': "06", 'm': "01", 'd': "02", 'B': "January", 'b': "Jan", 'A': "Monday", 'a': "Mon",
	'H': "15", 'I': "03", 'M': "04", 'S': "05", 'p': "PM", 'j': "002", 'F': "2006-01-02", 'T': "15:04:05", 'Z': "MST", 'z': "-0700",
}

// strftime formats t as chat templates ask for it. A directive that it does not know stays as it is.
func strftime(t time.Time, format string) string {
	var out strings.Builder
	for i := 0; i < len(format); i++ {
		if format[i] != '%' || i+1 == len(format) {
			out.WriteByte(format[i])
			continue
		}
		i++
		if layout, ok := strftimeLayouts[format[i]]; ok {
			out.WriteString(t.Format(layout))
		} else if format[i] == '%' {
			out.WriteByte('%')
		} else {
			out.WriteString(format[i-1 : i+1])
		}
	}
	return out.String()
}
