#!/bin/bash
# Checks and times simulations on an NVIDIA GPU, in five minutes at most:
#
#	notebooks/cmd/gpu-check.sh PAPER TESTS [OUT]
#
# PAPER is the program of notebooks/cmd/paper/program, built with the tag xla,
# TESTS the tests of pgcr/ondevice, built with it by go test -c. It uses the PJRT plugin and CUDA's
# libraries of JAX's wheel, unless PJRT_PLUGIN_LIBRARY_PATH names others, and times
# JAX beside this program. OUT, if given, keeps what XLA made of the loops, which
# takes two minutes more.
#
# BACKEND=go:ops_sequential tries the script itself on a machine without a GPU.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
paper=$(realpath "$1") tests=$(realpath "$2") out=${3:+$(realpath -m "$3")}
cd "$here/../.." || exit 1 # JAX's update is found from here
backend=${BACKEND:-xla:cuda}
folder=$(mktemp -d)
# at_most N is N seconds, or what is left of five minutes.
at_most() {
	local left=$((295 - SECONDS))
	echo $(($1 < left ? $1 : left > 1 ? left : 1))
}
trap 'rm -rf "$folder"' EXIT

if [ "$backend" = xla:cuda ] && [ -z "${PJRT_PLUGIN_LIBRARY_PATH:-}" ]; then
	wheel=$(python3 -c "import jax_plugins.xla_cuda13 as p; print(list(p.__path__)[0])") || exit 1
	plugins=$folder/pjrt
	mkdir -p "$plugins/lib"
	ln -sf "$wheel/xla_cuda_plugin.so" "$plugins/lib/pjrt_c_api_cuda_plugin.so"
	# The plugin looks for NVIDIA's libraries in ../nvidia.
	ln -sfn "$(dirname "$(dirname "$wheel")")/nvidia" "$plugins/nvidia"
	export PJRT_PLUGIN_LIBRARY_PATH=$plugins/lib
fi
export GOMLX_NO_AUTO_INSTALL=1
export TF_CPP_MIN_LOG_LEVEL=3

if [ "$backend" = xla:cuda ]; then
	nvidia-smi --query-gpu=name,driver_version --format=csv,noheader || exit 1
fi

# The full suite compiles some hundred programs; these few hold all that differs.
# Without autotuning a program compiled again, after a kill, is the same one.
echo "== the same game as the loop, and after a kill, without TF32"
same='TestSameAsLoop/(bernoulli|dropout|seldom)'
same+='|TestRivalsSameAsLoop/(vanilla|epsilon)$'
same+='|TestMusicSameAsLoop/stateless/(PGCR|greedy)$'
same+='|TestMusicSameAsLoop/states,_0.9/(PGCR|PGCR,_N=2,_dropout|vanilla|epsilon)$'
same+='|TestKilled/music|TestTimeUpdate'
exact=$backend flags=${XLA_FLAGS:-}
if [ "$backend" = xla:cuda ]; then
	exact=xla:cuda,tf32=false flags="$flags --xla_gpu_autotune_level=0"
fi
GOMLX_BACKEND=$exact XLA_FLAGS=$flags timeout "$(at_most 100)" "$tests" -test.run "$same" 2>&1 | tail -n 25 || echo "-- not passed, or not within its time"

export GOMLX_BACKEND=$backend

# What is played: 5 runs of music with states at once, or something quick.
experiment=music-state contender='PGCR, gamma 0.9' few=0.004 many=0.02 more=80000
if [ "$backend" != xla:cuda ]; then
	experiment=toy-bernoulli contender=PGCR few=0.002 many=0.005 more=60
fi
# run SCALE [SECONDS]: so much of it, interrupted after that time.
run() {
	timeout -s INT -k 15 "$(at_most "${2:-60}")" "$paper" -ondevice=on -out "$folder/out" \
		run "$experiment" -scale "$1" -only "$contender" >"$folder/stdout" 2>"$folder/stderr"
}
milliseconds() { echo $(($(date +%s%N) / 1000000)); }
echo "== $experiment"
begin=$(milliseconds)
run 0.0002 # and the data, which is made once
echo "few steps, and the data: $(($(milliseconds) - begin)) ms"
begin=$(milliseconds)
run $few
short=$(($(milliseconds) - begin))
begin=$(milliseconds)
run $many
long=$(($(milliseconds) - begin))
tail -n 1 "$folder/stdout"
tail -n 3 "$folder/stderr"
echo "$more more steps take $((long - short)) ms, $(((long - short) * 1000 / more)) microseconds each: $(((long - short) * 5000 / more / 60)) minutes for 5 million"
echo "== interrupted and gone on with"
whole=$folder/whole.csv
(cd "$folder/out/results/$experiment" && mv "$(ls -t ./*.csv | head -n 1)" "$whole")
run $many $((long * 6 / 10 / 1000))
cat "$folder/stderr"
run $many
grep 'going on after step' "$folder/stderr" || echo "it was begun anew"
result=$(ls -t "$folder/out/results/$experiment"/*.csv | head -n 1)
if cmp -s <(grep -v '^#' "$result") <(grep -v '^#' "$whole"); then
	echo "the result is the same to the last digit"
else
	echo "the result differs, as far as XLA's autotuning chose otherwise"
fi

echo "== times"
times=$folder/times.csv
export XLA_PYTHON_CLIENT_PREALLOCATE=false # JAX leaves memory to this program
timeout "$(at_most 150)" "$paper" bench -time 0.5s -only '/(update|step)/.*/device$' -format csv >"$times"
# Without machine and version; commas within quotes do not separate.
sed -E 's/^(("[^"]*"|[^,"]*),){2}//' "$times" | tail -n 40
if [ -n "$out" ]; then
	echo "== what XLA made of it"
	mkdir -p "$out" && cp "$times" "$out"
	XLA_FLAGS="--xla_dump_to=$out/hlo --xla_dump_hlo_as_text" timeout 60 "$paper" bench -time 0.2s -only "/update/xla" 2>&1 | tail -n 5
	(cd "$out/hlo" && ls | wc -l && tar czf ../hlo.tar.gz $(ls | grep -E 'after_optimizations.txt$|thunk' | head -60)) && rm -rf "$out/hlo"
	for flags in "--xla_gpu_enable_command_buffer=" \
		"--xla_gpu_graph_min_graph_size=1" \
		"--xla_gpu_enable_command_buffer=FUSION,CUBLAS,CUBLASLT,CUSTOM_CALL,CUDNN,DYNAMIC_SLICE_FUSION,CONDITIONAL,WHILE" \
		"--xla_gpu_enable_triton_gemm=false"; do
		echo "-- $flags"
		XLA_FLAGS=$flags timeout 40 "$paper" bench -time 0.2s -only "/update/xla" 2>&1 | tail -n 5
	done
fi
