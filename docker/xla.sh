#!/usr/bin/env bash
# Fetches XLA's plugin, which programs built with -tags xla need:
#
#	docker/xla.sh                 for the CPU, into ~/.local/lib/go-xla, where they look for it
#	docker/xla.sh cuda            for NVIDIA GPUs, with NVIDIA's libraries (4 GB)
#	docker/xla.sh cpu|cuda FOLDER elsewhere, for PJRT_PLUGIN_LIBRARY_PATH=FOLDER:FOLDER/nvidia
#
# It is for Linux on amd64, and comes by pip from the package index that pip is set up for.
# The index has several builds of the plugin for the CPU; this is the fastest on music.
# Nothing needs Python afterwards. On other machines GoMLX fetches a plugin itself where
# GOMLX_NO_AUTO_INSTALL=0 asks for it.
set -euo pipefail

kind=${1:-cpu} folder=${2:-$HOME/.local/lib/go-xla}
case $kind in
cpu)
	pinned='fastatomstruct-xla-cpu==2026.6.23 --hash=sha256:88b1c430b341b4bea40a37420311c9c75db6e22b46d2ff95b6986577bee6afe9'
	library=fastatomstruct_xla_cpu/libpjrt_cpu.so plugin=$folder/pjrt_c_api_cpu_plugin.so
	;;
cuda) # the plugin looks for NVIDIA's libraries in ../nvidia
	pinned='jax-cuda13-pjrt==0.10.2 --hash=sha256:a97e9cabe0e21d8dbcc70bd909ca1c34cd546d3ce2d94b4cd907a8d4f6179f6a'
	library=jax_plugins/xla_cuda13/xla_cuda_plugin.so plugin=$folder/nvidia/pjrt_c_api_cuda_plugin.so
	;;
*)
	echo "docker/xla.sh: the plugin is cpu or cuda, not $kind" >&2
	exit 2
	;;
esac
python3 -m pip --version >/dev/null || {
	echo "docker/xla.sh needs python3 with pip to fetch the plugin" >&2
	exit 1
}
mkdir -p "$(dirname "$plugin")"
scratch=$(mktemp -d "$folder/.fetched-XXXXXX") # of the same file system
trap 'rm -rf "$scratch"' EXIT
echo "$pinned" >"$scratch/requirements.txt"
python3 -m pip --quiet download --no-deps --require-hashes -d "$scratch" -r "$scratch/requirements.txt"
python3 -m zipfile -e "$scratch"/*.whl "$scratch"
if [[ $kind == cuda ]]; then
	python3 -m pip --quiet install --upgrade --target "$folder" 'jax-cuda13-plugin[with-cuda]==0.10.2'
fi
mv -f "$scratch/$library" "$plugin"
echo "$plugin"
