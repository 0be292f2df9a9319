.PHONY: setup build

# Fetches the llama.cpp libraries and the default model into the user's cache folder; does nothing when they are there.
setup:
	@scripts/setup.sh

build:
	@go build -o bin/sluice ./cmd/sluice
