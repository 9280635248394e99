#!/bin/bash
# Checks and times simulations on an NVIDIA GPU, in about four minutes:
#
#	notebooks/cmd/gpu-check.sh PAPER TESTS [OUT]
#
# PAPER is the program built with the tag xla, TESTS the tests of pgcr/ondevice,
# built with the tag xla by go test -c. It uses the PJRT plugin and CUDA's
# libraries of JAX's wheel, unless PJRT_PLUGIN_LIBRARY_PATH names others, and times
# JAX beside this program. OUT, if given, keeps what XLA made of the loops.
set -u
here=$(cd "$(dirname "$0")" && pwd)
paper=$(realpath "$1") tests=$(realpath "$2") out=${3:+$(realpath -m "$3")}
cd "$here/../.." || exit 1 # JAX's update is found from here

if [ -z "${PJRT_PLUGIN_LIBRARY_PATH:-}" ]; then
	wheel=$(python3 -c "import jax_plugins.xla_cuda13 as p; print(list(p.__path__)[0])") || exit 1
	plugins=${TMPDIR:-/tmp}/pjrt
	mkdir -p "$plugins/lib"
	ln -sf "$wheel/xla_cuda_plugin.so" "$plugins/lib/pjrt_c_api_cuda_plugin.so"
	# The plugin looks for NVIDIA's libraries in ../nvidia.
	ln -sfn "$(dirname "$(dirname "$wheel")")/nvidia" "$plugins/nvidia"
	export PJRT_PLUGIN_LIBRARY_PATH=$plugins/lib
fi
export GOMLX_NO_AUTO_INSTALL=1
export TF_CPP_MIN_LOG_LEVEL=3

nvidia-smi --query-gpu=name,driver_version --format=csv,noheader
echo "== the same game as the loop, without TF32"
GOMLX_BACKEND=xla:cuda,tf32=false timeout 90 "$tests" -test.timeout 85s 2>&1 | tail -n 25
export GOMLX_BACKEND=xla:cuda
echo "== times"
times=${TMPDIR:-/tmp}/times.csv
export XLA_PYTHON_CLIENT_PREALLOCATE=false # JAX leaves memory to this program
timeout 150 "$paper" -simd=off bench -time 0.5s -only '/(update|step)/.*/device$' -format csv >"$times"
cut -d, -f 4- "$times" | tail -n 40
if [ -n "$out" ]; then
	echo "== what XLA made of it"
	XLA_FLAGS="--xla_dump_to=$out/hlo --xla_dump_hlo_as_text" timeout 60 "$paper" -simd=off bench -time 0.2s -only "/update/xla" 2>&1 | tail -n 5
	(cd "$out/hlo" && ls | wc -l && tar czf ../hlo.tar.gz $(ls | grep -E 'after_optimizations.txt$|thunk' | head -60)) && rm -rf "$out/hlo"
	for flags in "--xla_gpu_enable_command_buffer=" \
		"--xla_gpu_graph_min_graph_size=1" \
		"--xla_gpu_enable_command_buffer=FUSION,CUBLAS,CUBLASLT,CUSTOM_CALL,CUDNN,DYNAMIC_SLICE_FUSION,CONDITIONAL,WHILE" \
		"--xla_gpu_enable_triton_gemm=false"; do
		echo "-- $flags"
		XLA_FLAGS=$flags timeout 40 "$paper" -simd=off bench -time 0.2s -only "/update/xla" 2>&1 | tail -n 5
	done
fi
