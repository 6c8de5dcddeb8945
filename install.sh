#!/bin/sh
# Installs the ptx-tc program of a release: downloads the archive for this machine, verifies its SHA-256 sum, and
# copies the program into a directory of the user. It needs no root and changes nothing else.
#
#   curl -LsSf https://github.com/ptx-tc/ptx-tc/releases/latest/download/install.sh | sh
#   sh install.sh --version 0.1.0 --to /opt/ptx-tc/bin
set -eu

usage() {
    cat <<'USAGE'
usage: install.sh [--version VERSION] [--to DIRECTORY] [--from URL]

  --version VERSION  the release, such as 0.1.0; default: PTX_TC_VERSION, else the latest
  --to DIRECTORY     where the program goes; default: PTX_TC_INSTALL_DIR, else ~/.local/bin
  --from URL         where the releases are; default: PTX_TC_RELEASES, else those on GitHub.
                     It has latest/download/FILE and download/vVERSION/FILE. file:// works
USAGE
}

fail() {
    echo "install.sh: $*" >&2
    exit 1
}

has() { command -v "$1" >/dev/null 2>&1; }

# The target of the archive for this machine.
target() {
    system="$(uname -s)"
    machine="$(uname -m)"
    case "$machine" in
        x86_64 | amd64) machine=x86_64 ;;
        aarch64 | arm64) machine=aarch64 ;;
    esac
    # A shell that Rosetta translates says x86_64 on a machine that is not.
    if [ "$system $machine" = "Darwin x86_64" ] && [ "$(sysctl -n sysctl.proc_translated 2>/dev/null)" = 1 ]; then
        machine=aarch64
    fi
    case "$system $machine" in
        "Linux x86_64" | "Linux aarch64") echo "$machine-unknown-linux-musl" ;;
        "Darwin x86_64" | "Darwin aarch64") echo "$machine-apple-darwin" ;;
        MINGW*" x86_64" | MSYS*" x86_64" | CYGWIN*" x86_64") echo "x86_64-pc-windows-msvc" ;;
        *) fail "no program is built for $system on $machine; with Rust: cargo install --locked ptx-tc" ;;
    esac
}

# fetch URL FILE
fetch() {
    if has curl; then
        curl --location --silent --show-error --fail --retry 3 --output "$2" "$1"
    elif [ "${1#file://}" != "$1" ]; then
        cp "${1#file://}" "$2"
    elif has wget; then
        wget --quiet --output-document="$2" "$1"
    else
        fail "curl or wget is needed"
    fi
}

# The SHA-256 sum of a file.
sum() {
    if has sha256sum; then
        sha256sum <"$1"
    elif has shasum; then
        shasum --algorithm 256 <"$1"
    elif has openssl; then
        openssl dgst -sha256 -r <"$1"
    else
        fail "sha256sum, shasum or openssl is needed"
    fi | cut -c 1-64
}

main() {
    version="${PTX_TC_VERSION:-latest}"
    to="${PTX_TC_INSTALL_DIR:-}"
    from="${PTX_TC_RELEASES:-https://github.com/ptx-tc/ptx-tc/releases}"
    while [ $# -gt 0 ]; do
        case "$1" in
            -h | --help)
                usage
                exit
                ;;
            --version | --to | --from)
                [ $# -gt 1 ] || fail "$1 needs a value"
                case "$1" in
                    --version) version="$2" ;;
                    --to) to="$2" ;;
                    --from) from="$2" ;;
                esac
                shift 2
                ;;
            *)
                usage >&2
                fail "unknown option $1"
                ;;
        esac
    done
    if [ -z "$to" ]; then
        [ -n "${HOME:-}" ] || fail "no home directory; say --to DIRECTORY"
        to="$HOME/.local/bin"
    fi
    case "$version" in
        latest) url="$from/latest/download" ;;
        *) url="$from/download/v${version#v}" ;;
    esac

    # An assignment, so that a failure ends the script.
    target="$(target)"
    name="ptx-tc-$target"
    program=ptx-tc
    archive="$name.tar.gz"
    case "$target" in
        *windows*)
            program=ptx-tc.exe
            archive="$name.zip"
            ;;
    esac

    scratch="$(mktemp -d)"
    trap 'rm -rf "$scratch"' EXIT
    trap 'exit 1' HUP INT TERM
    echo "downloading $url/$archive"
    fetch "$url/$archive" "$scratch/$archive" || fail "cannot download $url/$archive"
    fetch "$url/$archive.sha256" "$scratch/sum" || fail "cannot download $url/$archive.sha256"
    expected="$(cut -c 1-64 <"$scratch/sum")"
    actual="$(sum "$scratch/$archive")"
    case "$expected" in
        *[!0-9a-f]* | "") fail "$archive.sha256 has no SHA-256 sum" ;;
    esac
    [ "$actual" = "$expected" ] || fail "$archive has the SHA-256 sum $actual instead of $expected; nothing is installed"

    case "$archive" in
        *.zip) unzip -q "$scratch/$archive" -d "$scratch" ;;
        *) tar -xzf "$scratch/$archive" -C "$scratch" ;;
    esac || fail "$archive cannot be unpacked"
    [ -f "$scratch/$name/$program" ] || fail "$archive does not have $name/$program"
    chmod 755 "$scratch/$name/$program"
    installed="$("$scratch/$name/$program" --version)" || fail "the program does not run on this machine"

    mkdir -p "$to" || fail "cannot create $to"
    # Moved there as a whole: a program that runs meanwhile is not overwritten.
    if ! { cp "$scratch/$name/$program" "$to/.$program.$$" && mv -f "$to/.$program.$$" "$to/$program"; }; then
        rm -f "$to/.$program.$$"
        fail "cannot write $to/$program"
    fi
    # The program also says which versions of PTX it knows, in a second line.
    echo "installed ${installed%%
*} as $to/$program"
    case ":$PATH:" in
        *":$to:"*) ;;
        *) echo "$to is not in the PATH; add this to the profile of your shell: export PATH=\"$to:\$PATH\"" ;;
    esac
}

# The last line: of a download that broke off, nothing runs.
main "$@"
