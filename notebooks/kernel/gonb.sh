#!/usr/bin/env bash
# Builds gonb, in the version of go.mod, into GOBIN, with one line changed: documentation comes as
# text/plain beside the Markdown, of which Notebook 6 shows nothing.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

module=github.com/janpfeifer/gonb
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
go mod download $module
cp -R "$(go list -m -f '{{.Dir}}' $module)" "$scratch/gonb"
chmod -R u+w "$scratch/gonb"
answer=$scratch/gonb/internal/goexec/inspect.go
sed -i.old 's/MIMETextMarkdown): desc/&, string(protocol.MIMETextPlain): desc/' "$answer"
! cmp -s "$answer" "$answer.old" # the line is there
cp go.mod go.sum "$scratch"
go mod edit -replace "$module=$scratch/gonb" "$scratch/go.mod"
go build -modfile "$scratch/go.mod" -trimpath -o "${GOBIN:?}/gonb" $module
