# Functions over apt for the scripts of this folder; sourced, never run.
# Messages go to stderr: what a script prints on stdout is its answer.

arguments=("$@")

say() { echo "${0##*/}: $*" >&2; }

die() {
	say "$*"
	exit 1
}

# Whether there is somebody to ask for a password: seen here once, as commands get other inputs later.
if [ -t 0 ]; then sudo_asks=(); else sudo_asks=(-n); fi

# as_root COMMAND...: runs it as root, by sudo where we are not; fails when neither is possible.
as_root() {
	if [ "$(id -u)" = 0 ]; then
		"$@"
	else
		sudo "${sudo_asks[@]}" "$@"
	fi
}

may_be_root() { [ "$(id -u)" = 0 ] || command -v sudo >/dev/null; }

# refresh_lists: apt-get update, at most once a script; fails when it was done already or we may not.
refresh_lists() {
	[ -z "${LISTS_REFRESHED:-}" ] || return 1
	may_be_root || return 1
	say "updating the package lists"
	as_root apt-get -qq update >&2 || say "apt-get update failed in part; going on with what there is"
	export LISTS_REFRESHED=yes
}

# known PACKAGE...: whether apt has a version of each to offer. It fails on a machine without package lists.
known() {
	local package
	for package; do
		[[ $(LC_ALL=C apt-cache policy "$package" 2>/dev/null) =~ Candidate:\ [^\(] ]] || return 1
	done
}

need_apt() {
	command -v apt-get >/dev/null && command -v dpkg-deb >/dev/null ||
		die "this needs apt-get and dpkg-deb, which only Debian and its relatives have."
}

# need_lists PACKAGE...: makes sure that apt knows them.
need_lists() {
	need_apt
	known "$@" && return
	refresh_lists || die "apt knows no package $*; run apt-get update as root."
	known "$@" || die "apt knows no package $*, even after apt-get update; see /etc/apt/sources.list."
}

# install_packages PACKAGE...
install_packages() {
	command -v apt-get >/dev/null && may_be_root ||
		die "$* is missing; install it with the package manager, on Debian: apt-get install $*"
	known "$@" || refresh_lists || true
	say "installing $*"
	install_once "$@" && return
	refresh_lists && install_once "$@" || die "apt-get install $* failed; install it by hand."
}

# install_once PACKAGE...: quiet but for what it wrote when it fails.
install_once() {
	local wrote
	wrote=$(as_root env DEBIAN_FRONTEND=noninteractive \
		apt-get -qq -y -o Dpkg::Use-Pty=0 install --no-install-recommends "$@" </dev/null 2>&1) && return
	tail -n 15 <<<"$wrote" >&2
	return 1
}

# present WHAT: a command, a library (lib:NAME.so.N) or a header (file:PATH) is there.
present() {
	case $1 in
	lib:*) [[ $(PATH=$PATH:/sbin:/usr/sbin ldconfig -p) == *"${1#lib:} "* ]] ;;
	file:*) [ -e "${1#file:}" ] ;;
	*) PATH=$PATH:/sbin:/usr/sbin command -v "$1" >/dev/null ;;
	esac
}

# need WHAT=PACKAGE...: installs the package of each WHAT (see present) that is not there.
need() {
	local pair missing=()
	for pair; do
		present "${pair%%=*}" || missing+=("${pair#*=}")
	done
	[ ${#missing[@]} = 0 ] || install_packages "${missing[@]}"
}

# download FOLDER PACKAGE[=VERSION]...: puts each .deb into the folder, whole or not at all. Stale package lists name
# versions that are gone: the script then starts over with fresh lists, as other versions may follow from them.
download() {
	local folder=$1 part
	shift
	mkdir -p "$folder"
	part=$(mktemp -d "$folder/.part.XXXXXX")
	if ! download_once "$part" "$@"; then
		rm -rf "$part"
		refresh_lists || die "apt-get download $* failed; run apt-get update as root and try again."
		exec "$0" "${arguments[@]}"
	fi
	mv -f "$part"/*.deb "$folder/"
	rmdir "$part"
}

download_once() {
	local sandbox=()
	# As root, apt would drop to a user that can't write into our cache, and warn.
	[ "$(id -u)" != 0 ] || sandbox=(-o APT::Sandbox::User=root)
	(cd "$1" && shift && apt-get -qq "${sandbox[@]}" download "$@" </dev/null >&2)
}

# field PACKAGE FIELD: a field of the version that apt would install.
field() {
	apt-cache show --no-all-versions "$1" | sed -n "s/^$2: //p"
}

# depends_on PACKAGE PATTERN: the first package of its Depends that matches the extended regular expression.
depends_on() {
	local name
	for name in $(field "$1" Depends | tr ',|' '\n\n' | sed 's/^ *//; s/ .*//'); do
		[[ $name =~ ^$2$ ]] && echo "$name" && return
	done
	return 1
}

cache=${XDG_CACHE_HOME:-$HOME/.cache}/bondrepro
