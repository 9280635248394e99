#!/usr/bin/env bash
# Builds the image, starts it as it starts for a user, fetches its page, and
# runs a notebook in it:
#
#	docker/test.sh
#
# It needs root, buildah and debootstrap, and no Docker: the base is a Debian
# made by debootstrap, with this machine's Go, its sources of packages and its
# certificates. Where they are missing, it says so and tests nothing. What it
# makes is in a temporary folder, 6 GB, and is removed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

for program in buildah debootstrap go curl; do
	if ! command -v $program >/dev/null; then
		echo "docker/test.sh: skipped, $program is not installed (apt-get install buildah debootstrap)"
		exit 0
	fi
done
if [[ $(id -u) != 0 ]]; then
	echo 'docker/test.sh: skipped, debootstrap needs root'
	exit 0
fi

scratch=$(mktemp -d)
server=
cleanup() {
	[[ -z $server ]] || kill -- "-$server" 2>/dev/null || true
	build rm --all >/dev/null 2>&1 || true
	rm -rf "$scratch"
}
trap cleanup EXIT

build() { buildah --root "$scratch/store" --runroot "$scratch/run" --storage-driver vfs "$@"; }

# step TEXT tells how long everything since the last step took.
began=$SECONDS
step() {
	printf '== %s: %d s\n' "$1" $((SECONDS - began))
	began=$SECONDS
}

fail() {
	printf 'docker/test.sh: %s\n' "$1" >&2
	[[ -z ${2:-} ]] || tail -n 30 "$2" >&2
	exit 1
}

# The release and the sources of packages are those of this machine, if it is a
# Debian.
release=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
[[ $(sed -n 's/^ID=//p' /etc/os-release) == debian ]] || release=bookworm
mirror=$(sed -n -e 's/^URIs: *//p' -e 's/^deb  *\(\[[^]]*\]  *\)\{0,1\}\([^ ]*\).*/\2/p' /etc/apt/sources.list.d/debian.* /etc/apt/sources.list 2>/dev/null | head -n 1) || true
container=$(build from scratch)
base=$(build mount "$container")
debootstrap --variant=minbase --include=ca-certificates "$release" "$base" ${mirror:+"$mirror"} >"$scratch/log" 2>&1 || fail 'debootstrap fails' "$scratch/log"
rm -f "$base"/var/cache/apt/archives/*.deb
if [[ -n $mirror ]]; then
	cp -a /etc/apt/apt.conf.d/. "$base/etc/apt/apt.conf.d/"
	# The image's packages are Debian's.
	for list in /etc/apt/sources.list.d/debian.*; do
		[[ ! -e $list ]] || { cp -a "$list" "$base/etc/apt/sources.list.d/" && rm -f "$base/etc/apt/sources.list"; }
	done
fi
cp -aL /etc/ssl/certs/ca-certificates.crt "$base/etc/ssl/certs/ca-certificates.crt"
mkdir -p "$base/usr/local/go"
cp -a "$(go env GOROOT)/." "$base/usr/local/go/"
build umount "$container" >/dev/null
build commit --quiet --rm "$container" localhost/base >/dev/null
step 'base of Debian and Go'

# Modules that this machine has are not loaded again.
modules=$(go env GOMODCACHE)/cache/download
mkdir -p "$modules"
build bud --quiet --format docker --isolation chroot --ignorefile docker/Dockerfile.dockerignore -f docker/Dockerfile -t localhost/contextrec \
	--volume "$modules:/modules:ro" --build-arg BASE=localhost/base \
	--build-arg "GOPROXY=file:///modules,$(go env GOPROXY)" --build-arg "GOSUMDB=$(go env GOSUMDB)" . >"$scratch/log" 2>&1 || fail 'the image cannot be built' "$scratch/log"
step 'image'

config() { build inspect --type image --format "$1" localhost/contextrec; }
[[ $(config '{{.OCIv1.Config.User}}') == paper ]] || fail 'the image runs as root'
mapfile -t start < <(config '{{range .OCIv1.Config.Cmd}}{{println .}}{{end}}' | sed '/^$/d')
mapfile -t health < <(config '{{range .Docker.Config.Healthcheck.Test}}{{println .}}{{end}}' | sed '/^$/d')
[[ ${health[0]:-} == CMD ]] || fail "the image's health check is \"${health[*]}\""
mapfile -t environment < <(config '{{range .OCIv1.Config.Env}}{{println .}}{{end}}')
for setting in GOMLX_BACKEND=go:ops_sequential GOEXPERIMENT=simd; do
	[[ " ${environment[*]} " == *" $setting "* ]] || fail "the image does not set $setting"
done

# Without namespaces of its own, the container has this machine's network: the
# port may be taken.
port=$((20000 + RANDOM % 10000))
container=$(build from localhost/contextrec)
inside() { build run --isolation chroot "$container" -- "$@"; }
arguments=()
for argument in "${start[@]}"; do arguments+=("${argument/--port=8888/--port=$port}"); done
set -m
build run --isolation chroot --env JUPYTER_TOKEN=secret "$container" -- "${arguments[@]}" >"$scratch/jupyter" 2>&1 &
server=$!
set +m
url=http://127.0.0.1:$port
for ((i = 0; ; i++)); do
	if curl --noproxy '*' -fsS "$url/api" >/dev/null 2>&1; then break; fi
	((i < 120)) && kill -0 $server 2>/dev/null || fail 'Jupyter does not start' "$scratch/jupyter"
	sleep 0.5
done
step 'start'

inside "${health[@]:1:2}" "${health[3]//8888/$port}" || fail 'the health check fails while Jupyter runs'
[[ $(curl --noproxy '*' -s -o /dev/null -w '%{http_code}' "$url/api/contents") == 403 ]] || fail 'the notebooks can be had without a token'
page=$(curl --noproxy '*' -fsSL "$url/notebooks/quickstart.ipynb?token=secret") || fail 'there is no page' "$scratch/jupyter"
[[ $page == *quickstart* ]] || fail 'the page is not that of the notebook'
curl --noproxy '*' -fsS "$url/api/kernelspecs?token=secret" | grep -q '"gonb"' || fail 'Jupyter does not know the kernel'

# A kernel of the server, as the page would use it, and its first cells.
inside /usr/bin/python3 - "$url" secret <docker/first_cells.py || fail 'the first cells fail' "$scratch/jupyter"
step 'page and first cells'

inside go run ./notebooks/cmd/paper notebooks toy-linear -scale 0.01 || fail 'the notebook fails'
inside test -s notebooks/out/notebooks/toy-linear.ipynb || fail 'the notebook was not written'
step 'a whole notebook'

kill -- "-$server"
wait $server 2>/dev/null || true
server=
! curl --noproxy '*' -fsS "$url/api" >/dev/null 2>&1 || fail 'Jupyter does not stop'
printf 'docker/test.sh: all is well after %d s\n' $SECONDS
