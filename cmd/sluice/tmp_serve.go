package main
import "github.com/sluice-dev/sluice/cmd/sluice/config"
func serve(t terminal, cfg *config.Config) error { return nil }
