#!/usr/bin/env bash
# Times the update and the whole step beside JAX and PyTorch, in one go on one core, and
# prints benchstat's table. From the repository's folder, with XLA's plugin:
#
#	PYTHON=python3 notebooks/published/speed/run.sh [ROUNDS] >speed.txt
#
# PYTHON has jax and torch; without it the peers are left out. A round takes two minutes.
# DEVICE=cuda does the same on an NVIDIA GPU (docker/xla.sh cuda), and the tests first.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../../.."

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export GOMLX_NO_AUTO_INSTALL=1 GOMAXPROCS=1 GOMLX_BACKEND=xla:${DEVICE:-cpu} JAX_PLATFORMS=${DEVICE:-cpu}
go test -tags xla -c -o "$scratch/bench" ./pgcr/ondevice
on() { taskset -c 0 "$@"; }
if [[ ${DEVICE:-cpu} != cpu ]]; then
	on() { "$@"; }
	go test -tags xla -run XLA ./pgcr ./pgcr/ondevice >&2
fi

date --utc '+date: %Y-%m-%d'
sed -n 's/^model name\t*: /machine: /p' /proc/cpuinfo | head -1
go version
go list -m github.com/gomlx/gomlx github.com/gomlx/go-xla
sed -n "/^${DEVICE:-cpu})/,/;;/s/^\tpinned='\(.*\) --hash.*/plugin: \1/p" docker/xla.sh
for ((round = 0; round < ${1:-6}; round++)); do # in turns, so that a busy minute hits all
	(cd pgcr/ondevice && on "$scratch/bench" -test.run '^$' -test.bench Update -test.benchtime 0.3s)
	(cd pgcr/ondevice && on "$scratch/bench" -test.run '^$' -test.bench Step -test.benchtime 1x)
	if [[ -n ${PYTHON:-} ]]; then
		on "$PYTHON" notebooks/published/speed/jax_update.py
		on "$PYTHON" notebooks/published/speed/torch_update.py
	fi
done >"$scratch/all.txt"
grep -hE '^(jax|torch):' "$scratch/all.txt" | sort -u
go run golang.org/x/perf/cmd/benchstat@v0.0.0-20260908200009-22c9c6c9d4da -col /on <(grep ^Benchmark "$scratch/all.txt")
