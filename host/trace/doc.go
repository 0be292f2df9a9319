// Package trace is the record of each request and the formats that it travels in.
package trace
