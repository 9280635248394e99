#!/usr/bin/env bash
# Builds the image, starts it as it starts for a user, fetches its page, and
# runs a notebook in it:
#
#	docker/test.sh
#
# It needs root, buildah and debootstrap, and no Docker: the base is a Debian
# made by debootstrap, with this machine's Go, its sources of packages and its
# certificates. Where something is missing, it says so and tests nothing. What
# it makes is in a temporary folder, and is removed. To mend the image, name a
# folder to keep:
#
#	CONTAINER_STORE=FOLDER docker/test.sh
#
# The base and the steps of the Dockerfile that are there are not made again.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

skip() {
	printf 'docker/test.sh: skipped, %s\n' "$1"
	exit 0
}

fail() {
	printf 'docker/test.sh: %s\n' "$1" >&2
	[[ -z ${2:-} ]] || tail -n 30 "$2" >&2
	exit 1
}

# began TEXT and ended tell how long a step took.
began() {
	printf '== %s: ' "$1"
	at=$SECONDS
}
ended() { printf '%d s\n' $((SECONDS - at)); }

build() { buildah --root "$store/store" --runroot "$scratch/run" --storage-driver "$driver" "$@"; }

# The release and the archive of packages are those of this machine, if it is a
# Debian.
release=bookworm archive=http://deb.debian.org/debian own=
if [[ $(sed -n 's/^ID=//p' /etc/os-release) == debian ]]; then
	release=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
	own=$(sed -n -e 's/^URIs: *//p' -e 's/^deb  *\(\[[^]]*\]  *\)\{0,1\}\([^ ]*\).*/\2/p' /etc/apt/sources.list.d/debian.* /etc/apt/sources.list 2>/dev/null | head -n 1) || true
	archive=${own:-$archive}
fi

# all does everything, in namespaces of its own: what it starts and mounts ends
# with it, however it ends.
all() {
	build rm --all >/dev/null # that are left in a folder to keep
	made_base || make_base
	make_image
	look
	# Without network, as what is compiled and loaded must be in the image; and
	# its port is free.
	unshare --net -- "$0" --in-namespaces try "$store" "$scratch" "$driver"
}

made_base() { build inspect --type image localhost/base >/dev/null 2>&1; }

make_base() {
	began 'base of Debian and Go'
	local container base list
	container=$(build from scratch)
	base=$(build mount "$container")
	debootstrap --variant=minbase --include=ca-certificates "$release" "$base" "$archive" >"$scratch/log" 2>&1 || fail 'debootstrap fails' "$scratch/log"
	rm -f "$base"/var/cache/apt/archives/*.deb
	if [[ -n $own ]]; then
		cp -a /etc/apt/apt.conf.d/. "$base/etc/apt/apt.conf.d/"
		# The image's packages are Debian's.
		for list in /etc/apt/sources.list.d/debian.*; do
			[[ ! -e $list ]] || { cp -a "$list" "$base/etc/apt/sources.list.d/" && rm -f "$base/etc/apt/sources.list"; }
		done
	fi
	cp -aL /etc/ssl/certs/ca-certificates.crt "$base/etc/ssl/certs/ca-certificates.crt"
	cp -a /usr/local/share/ca-certificates/. "$base/usr/local/share/ca-certificates/"
	mkdir -p "$base/usr/local/go"
	cp -a "$(go env GOROOT)/." "$base/usr/local/go/"
	build umount "$container" >/dev/null
	build commit --quiet --rm "$container" localhost/base >/dev/null
	ended
}

make_image() {
	began 'image'
	# Modules that this machine has are not loaded again.
	local modules layers=()
	modules=$(go env GOMODCACHE)/cache/download
	mkdir -p "$modules"
	[[ $store == "$scratch" ]] || layers=(--layers)
	build bud --quiet "${layers[@]}" --format docker --isolation chroot -f docker/Dockerfile -t localhost/contextrec \
		--volume "$modules:/modules:ro" --build-arg BASE=localhost/base \
		--build-arg "GOPROXY=file:///modules,$(go env GOPROXY)" --build-arg "GOSUMDB=$(go env GOSUMDB)" . >"$scratch/log" 2>&1 || fail 'the image cannot be built' "$scratch/log"
	ended
	printf '== the image has %s\n' "$(build images --format '{{.Size}}' localhost/contextrec)"
}

config() { build inspect --type image --format "$1" localhost/contextrec; }

# look reads the image's settings.
look() {
	local environment backend setting
	[[ $(config '{{.OCIv1.Config.User}}') == paper ]] || fail 'the image does not run as the user paper'
	mapfile -t environment < <(config '{{range .OCIv1.Config.Env}}{{println .}}{{end}}')
	backend=$(sed -n 's/^const SequentialGo = "\(.*\)"$/\1/p' pgcr/backend.go),parallelism=0
	for setting in "GOMLX_BACKEND=$backend" GOEXPERIMENT=simd; do
		[[ " ${environment[*]} " == *" $setting "* ]] || fail "the image does not set $setting"
	done
	[[ " ${environment[*]} " != *' GOPROXY='* ]] || fail 'the image keeps GOPROXY'
}

inside() { build run --isolation chroot "$container" -- "$@"; }
jupyter_process() { pgrep -u 1000 -f '^[^ ]*python3 [^ ]*/jupyter-notebook '; }
fetch() { curl --noproxy '*' -sS "$@"; }

# try starts the image and does what a user does with it.
try() {
	local container start health server i jupyter page url=http://127.0.0.1:8888
	ip link set lo up
	container=$(build from localhost/contextrec)
	mapfile -t start < <(config '{{range .OCIv1.Config.Cmd}}{{println .}}{{end}}' | sed '/^$/d')
	mapfile -t health < <(config '{{range .Docker.Config.Healthcheck.Test}}{{println .}}{{end}}' | sed '/^$/d')
	[[ ${health[0]:-} == CMD ]] || fail "the image's health check is \"${health[*]}\""
	inside test -e README.md -a ! -e .git -a ! -e docker/test.sh || fail '.dockerignore was not heeded'
	! inside "${health[@]:1}" 2>/dev/null || fail 'the health check is content before Jupyter runs'

	began 'start'
	build run --isolation chroot --env JUPYTER_TOKEN=secret "$container" -- "${start[@]}" >"$scratch/jupyter" 2>&1 &
	server=$!
	for ((i = 0; ; i++)); do
		if fetch -f "$url/api" >/dev/null 2>&1; then break; fi
		((i < 120)) && kill -0 $server 2>/dev/null || fail 'Jupyter does not start' "$scratch/jupyter"
		sleep 0.5
	done
	ended

	inside "${health[@]:1}" || fail 'the health check fails while Jupyter runs'
	[[ $(fetch -o /dev/null -w '%{http_code}' "$url/api/contents") == 403 ]] || fail 'the notebooks can be had without a token'
	page=$(fetch -fL "$url/notebooks/quickstart.ipynb?token=secret") || fail 'there is no page' "$scratch/jupyter"
	[[ $page == *quickstart* ]] || fail 'the page is not that of the notebook'
	[[ $(fetch -f "$url/api/kernelspecs?token=secret") == *'"gonb"'* ]] || fail 'Jupyter does not know the kernel'

	# A kernel of the server, as the page would use it, and its first cells.
	inside /usr/bin/python3 - "$url" secret <docker/first_cells.py || fail 'the first cells fail' "$scratch/jupyter"
	# The cell that was built with the image has shown how these are to be built.
	inside sh -c 'ls notebooks/.bin/.recipes' >"$scratch/log" && [[ $(wc -l <"$scratch/log") == 1 ]] || fail 'cells are built by go, and not by the recipe of the image' "$scratch/log"

	# A module that is missed here would be looked for in the network at each cell,
	# for many seconds where a firewall swallows that.
	inside sh -c 'cd "$(mktemp -d)" && go mod init cell && go work init . /contextrec && go list -m -json ...' >"$scratch/log" 2>&1 || fail 'modules are missing' "$scratch/log"

	began 'a whole notebook'
	inside go run ./notebooks/cmd/paper notebooks toy-linear -scale 0.01 >"$scratch/log" 2>&1 || fail 'the notebook fails' "$scratch/log"
	inside test -s notebooks/out/notebooks/toy-linear.ipynb || fail 'the notebook was not written'
	ended

	# Docker sends SIGTERM to the image's program, and kills what is there 10 s
	# later. A kernel that nobody has closed is running.
	inside /usr/bin/python3 -c "import urllib.request as r; r.urlopen(r.Request('$url/api/kernels', b'{\"name\": \"gonb\"}', {'Authorization': 'token secret'}))"
	began 'stop'
	jupyter=$(jupyter_process) || fail 'Jupyter is not a process of the user paper'
	! grep -qz ^PAPER_DATA= "/proc/$jupyter/environ" || fail 'files are played on that are not there'
	kill "$jupyter"
	for ((i = 0; i < 100; i++)); do
		kill -0 $server 2>/dev/null || break
		sleep 0.1
	done
	((i < 100)) || fail 'Jupyter does not stop within 10 s' "$scratch/jupyter"
	wait $server || fail "Jupyter ends with status $?" "$scratch/jupyter"
	! pgrep -l -u 1000 || fail 'what Jupyter has started does not end with it' "$scratch/jupyter"
	ended

	# Without JUPYTER_TOKEN, the log has an address with a token. Music is played
	# on files where they are mounted.
	began 'a token of its own, and files'
	mkdir "$scratch/kkbox"
	touch "$scratch/kkbox/kkbox-music-recommendation-challenge.zip"
	build run --isolation chroot --volume "$scratch/kkbox:/kkbox:ro" "$container" -- "${start[@]}" >"$scratch/jupyter" 2>&1 &
	for ((i = 0; i < 120; i++)); do
		page=$(sed -n 's/.*\(http:[^ ]*[?]token=[0-9a-f]\{20,\}\).*/\1/p' "$scratch/jupyter" | tail -n 1)
		[[ -z $page ]] || break
		sleep 0.5
	done
	[[ $page == http://127.0.0.1:8888/* ]] || fail 'the log has no address that can be opened' "$scratch/jupyter"
	fetch -fL -o /dev/null "$page" || fail 'the address in the log does not open' "$scratch/jupyter"
	grep -qzx PAPER_DATA=/kkbox "/proc/$(jupyter_process)/environ" || fail 'the files are not played on'
	ended
}

if [[ ${1:-} == --in-namespaces ]]; then
	store=$3 scratch=$4 driver=$5
	"$2"
	exit
fi

for program in buildah debootstrap go curl ip pgrep; do
	command -v $program >/dev/null || skip "$program is not installed (apt-get install buildah debootstrap curl iproute2 procps)"
done
[[ $(id -u) == 0 ]] || skip 'debootstrap needs root'
unshare --mount --pid --net --fork --mount-proc true 2>/dev/null || skip 'this root may not have namespaces of its own'

curl -fsS -o /dev/null --max-time 60 "$archive/dists/$release/InRelease" 2>/dev/null || skip "$archive cannot be reached"

scratch=$(mktemp -d)
child=
# A signal ends all that was started at once: the first process of a namespace
# takes the others with it.
cleanup() {
	if [[ -n $child ]]; then
		pkill -KILL -P "$child" || true
		wait "$child" 2>/dev/null || true
	fi
	rm -rf --one-file-system "$scratch"
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

store=${CONTAINER_STORE:-$scratch}
mkdir -p "$store"
store=$(cd "$store" && pwd)
# Files are copied once with overlay, and once a layer with vfs.
driver=overlay
build info >/dev/null 2>&1 || driver=vfs
rm -rf "$scratch/run"

# Its own complaint, when its child is killed, is of no interest.
unshare --mount --pid --fork --kill-child --mount-proc -- bash -c 'exec "$0" "$@" 2>&3 3>&-' "$0" --in-namespaces all "$store" "$scratch" "$driver" 3>&2 2>/dev/null &
child=$!
wait $child
child=
printf 'docker/test.sh: all is well after %d s\n' $SECONDS
