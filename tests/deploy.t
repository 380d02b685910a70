#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck disable=SC2317 # deploys and meanwhile call functions
# check/deploy: there always is a link, it moves only to what is warm, and what is evicted is
# the old release, but for what others use
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/lib.sh"

hook=$(cd "$(dirname "$0")/../check/deploy" && pwd -P)/deploy-warm.sh
pages=$BUILD/tests/pages
page=$(getconf PAGESIZE)
mkdir "$TMP/bin" "$TMP/site" "$TMP/tmp" || exit 1
cp "$BUILD/warm" "$pages" "$BUILD/tests/enosys" "$TMP/bin/" || exit 1
cp "$hook" "$TMP/bin/deploy-warm" || exit 1
PATH=$TMP/bin:$PATH
pages=$TMP/bin/pages
cd "$TMP/site" || exit 1
site=$(pwd -P)

# release NAME FILE=PAGES...: a folder with cold files of so many pages
release() {
	release_name=$1
	shift
	mkdir -p "$release_name"
	for release_file; do
		head -c $((${release_file#*=} * page)) /dev/urandom >"$release_name/${release_file%=*}"
		"$pages" --evict "$release_name/${release_file%=*}"
	done
}

# again: the releases 1 and 2 as new, and the link on the first, which is in memory
again() {
	rm -rf current releases
	release releases/1 a=8 b=4
	release releases/2 a=8 b=5
	ln -s releases/1 current
	cat releases/1/* >/dev/null
}

# deploy ARGUMENT...: sets $status and $err; nothing is left behind
deploy() {
	run env TMPDIR="$TMP/tmp" deploy-warm "$@"
}

# is_left: what lies about in the folder of the link, and of temporary files
is_left() {
	find . "$TMP/tmp" -name '.?*' -o -path "$TMP/tmp/*"
}

# outcome: the exit status, the link, and what is left
outcome() {
	echo "$status $(readlink current)$(is_left)"
}

# state: the same, and how much of both releases is in memory
state() {
	echo "$(outcome)" "$("$pages" releases/1/a) $("$pages" releases/1/b)" \
		"$("$pages" releases/2/a) $("$pages" releases/2/b)"
}

# deploys NAME STATE ARGUMENT...: from the start, and what $prepare does then. The kernel may
# reclaim pages at any time, so that what comes out is tried again.
prepare=:
deploys() {
	deploys_name=$1
	deploys_wanted=$2
	shift 2
	for _ in 1 2 3; do
		again
		$prepare
		deploy "$@"
		[ "$(state)" != "$deploys_wanted" ] || break
	done
	is "$deploys_name" "$(state)" "$deploys_wanted" || note "$err"
}
switched="0 releases/2 0/8 0/4 8/8 5/5"
untouched="releases/1 8/8 4/4 0/8 0/5"
nothing="2 releases/1" # is the outcome of what is refused

note "what it does"

deploys "warm, switch, evict" "$switched" releases/2 current
like "it says so" "$err" "deploy-warm: $site/current points to releases/2 now; of that, 100.00 % is in memory
deploy-warm: $((12 * page)) bytes of $site/releases/1 evicted"
deploy releases/2 current
is "the same release again" "$(outcome)" "0 releases/2"
like "there was nothing to do" "$err" "deploy-warm: $site/current points to releases/2 already; *"
deploys "an absolute release" "0 $site/releases/2 0/8 0/4 8/8 5/5" "$site/releases/2" current
deploys "names with slashes at their ends" "$switched" releases/2/ current/
deploys "--quiet" "$switched" -q releases/2 current
is "says nothing" "$out$err" ""
deploys "--keep-old" "0 releases/2 8/8 4/4 8/8 5/5" --keep-old releases/2 current
deploys "options of warm" "$switched" --jobs 1 --exclude='no such' -- releases/2 current
deploys "options of warm choose what is to be warm" "0 releases/2 0/8 0/4 8/8 0/5" \
	--exclude b releases/2 current

again
rm current
deploy releases/1 current
is "the first deploy" "$(outcome)" "0 releases/1"
again
rm -r current && ln -s releases/0 current
deploy releases/1 current
is "the old release is gone" "$(outcome)" "0 releases/1"
rm current && ln -s current current
deploy releases/1 current
is "a link to itself" "$(outcome)" "0 releases/1"

mkdir -p elsewhere links
cd elsewhere || exit 1
deploy ../releases/1 ../links/current
is "a relative link is right, wherever it lies" \
	"$status $(readlink ../links/current) $(cd -P ../links/current && pwd -P)" \
	"0 ../releases/1 $site/releases/1"
cd .. || exit 1
ln -s releases/2 newest
deploy newest links/current
is "a release that is a link is followed" "$(readlink links/current)" ../releases/2
release inside a=2
deploy inside inside/current
is "a link within the release" "$status $(readlink inside/current)" "0 ."
mkdir -p inside/further/down
deploy inside inside/further/down/current
is "a link further down" "$status $(readlink inside/further/down/current)" "0 ../.."
rm -r newest elsewhere links inside

again
release releases/11 a=3
deploy releases/11 current
is "a release whose name only begins like the old one" \
	"$status $(readlink current) $("$pages" releases/1/a)" "0 releases/11 0/8"

note "dry run"

deploys "--dry-run does nothing" "0 $untouched" --dry-run releases/2 current
like "it tells" "$err" "*deploy-warm: $site/current would point to releases/2; of that, $((13 * page)) of $((13 * page)) bytes would be in memory
deploy-warm: $site/releases/1 would be evicted, *"
deploys "what would not go well" "2 $untouched" --dry-run --budget=0 releases/2 current
like "is told too" "$err" "*of $site/releases/2, 0 of $((13 * page)) bytes would be in memory, not the 95 % *"
deploy --dry-run releases/1 current
like "what would change nothing" "$status:$err" "0:*deploy-warm: $site/current would be left as it is: *"

note "what others use, and what both releases have"

# hold: another process has this file of the old release open
hold() {
	[ -z "$holder" ] || kill "$holder"
	"$BUILD/tests/holder" open releases/1/a &
	holder=$!
	while [ ! -e ready ] && [ ! -L ready ]; do sleep 0.1; done
	rm -f ready
}
holder=''
# shellcheck disable=SC2016 # as it is then
on_exit 'kill "$holder" 2>/dev/null'
prepare=hold
deploys "a file that is open stays in memory, which is no failure" \
	"0 releases/2 8/8 0/4 8/8 5/5" releases/2 current
like "it is named, and so is who has it" "$err" "*releases/1/a*holder*"
kill "$holder"

share() {
	ln -f releases/1/b releases/2/b
}
prepare=share
deploys "a file that both releases have stays in memory" "0 releases/2 0/8 4/4 8/8 4/4" \
	releases/2 current
like "it is said" "$err" "*1 files of $site/releases/1 stay as they are: they have several hard links*"

nest() {
	release releases/1/next a=3
}
prepare=nest
deploys "a release within the old one: that is not evicted" "1 releases/1/next 8/8 4/4 0/8 0/5" \
	releases/1/next current
like "it is said" "$err" "*switched, but $site/releases/1 is not evicted, as one release lies within *"
prepare=:
deploy releases/1 current
is "nor the other way round" "$(readlink current):$("$pages" releases/1/next/a)" "releases/1:3/3"
deploy --keep-old releases/1/next current
is "--keep-old is content with that" "$status" 0

note "what does not go well before the switch"

deploys "not enough in memory" "2 $untouched" --budget=0 releases/2 current
like "it is said, with what to do" "$err" "*of $site/releases/2, 0.00 % is in memory, not the 95 % of --min: *; not switched"
for min in 51=2:releases/1 50=0:releases/2; do
	again
	release releases/2 a=8 b=8
	deploy --min=${min%=*} --budget=$((8 * page)) --jobs=1 releases/2 current
	is "half of it fits, --min=${min%=*}" "$status:$(readlink current)" "${min#*=}" || note "$err"
done

# faulty NAME STATE RULE...: what deploys while these system calls of warm fail
faulty() {
	faulty_name=$1
	faulty_wanted=$2
	shift 2
	mkdir -p "$TMP/faulty"
	printf '#!/bin/sh\nexec enosys %s -- "%s/bin/warm" "$@"\n' "$*" "$TMP" >"$TMP/faulty/warm"
	chmod 755 "$TMP/faulty/warm"
	PATH=$TMP/faulty:$PATH deploys "$faulty_name" "$faulty_wanted" releases/2 current
}
faulty "files that cannot be read" "2 $untouched" pread64=EIO preadv=EIO sendfile=EIO fadvise64 readahead
like "it is said" "$err" "warm: $site/releases/2/[ab]: I/O error*; not switched"
deploys "a value that warm does not take" "3 $untouched" --min=101 releases/2 current
like "it is warm that says so" "$err" "warm: *101*
*deploy-warm: *; not switched"
faulty "nothing can be measured" "3 releases/1 8/8 4/4 8/8 5/5" mincore cachestat
like "it is said" "$err" "*; not switched"

again
mkdir releases/empty
deploy releases/empty current
is "an empty release" "$(outcome)" "$nothing"
like "it is said" "$err" "*there are no files in $site/releases/empty, or only empty ones *; not switched"
: >releases/empty/file
deploy releases/empty current
is "a release of an empty file" "$(outcome)" "$nothing"
deploy --include='no such' releases/2 current
is "an --include that matches nothing" "$(outcome)" "$nothing"
for min in 0 0% 0.0; do
	again
	mkdir releases/empty
	deploy --min=$min --keep-old releases/empty current
	is "is taken with --min=$min" "$status $(readlink current)" "0 releases/empty"
done
for wrong in nosuch releases/1/a; do
	again
	deploy $wrong current
	is "a release that is none: $wrong" "$(outcome)" "$nothing"
done
again
deploy releases/2 releases/1
is "a link that is a folder" "$(outcome)" "$nothing"
like "it is said" "$err" "*$site/releases/1 is no symbolic link: *"
deploy releases/2 releases/1/a
is "a link that is a file" "$(outcome)" "$nothing"
deploy releases/2 nosuch/current
is "a folder that is not there" "$(outcome)" "$nothing"
like "it is said" "$err" "*no folder nosuch/ for the link: *"
for wrong in "" releases/2 "releases/2 current extra" "releases/2 .." "releases/2 /" "--bad releases/2 current" \
	"--min" "--jobs=2" "--jobs 2" "releases/2 current --min=3"; do
	# shellcheck disable=SC2086 # words
	deploy $wrong
	is "usage: $wrong" "$(outcome):$(echo "$err" | wc -l)" "3 releases/1:1"
done
run env PATH=/usr/bin:/bin TMPDIR="$TMP/tmp" "$hook" releases/2 current
is "without warm" "$(outcome)" "3 releases/1"
like "it is said" "$err" "deploy-warm: warm is not to be found in PATH (/usr/bin:/bin)*"
run deploy-warm --help
like "--help" "$status:$err:$out" "0::Usage: deploy-warm.sh *"
run env TMPDIR=/nosuch deploy-warm releases/2 current
is "no room for temporary files" "$(outcome)" "$nothing"

if [ "$(id -u)" -eq 0 ]; then
	again
	chown -R 65534 releases/2
	chmod 777 "$TMP/tmp"
	deploy_as_nobody() {
		TMPDIR=$TMP/tmp run as_nobody deploy-warm releases/2 current
	}
	deploy_as_nobody
	is "a link that cannot be made" "$(outcome)" "$nothing"
	: >releases/2/c && chmod 600 releases/2/c
	deploy_as_nobody
	is "a file that cannot be read, though there is enough of the others" \
		"$(outcome)" "$nothing"
	like "it is said" "$err" "*of $site/releases/2, 1 files or folders could not be opened*"
	rm releases/2/c
	chmod 1777 .
	deploy_as_nobody
	is "a link that cannot be replaced" "$(outcome)" "$nothing"
	like "it is said" "$err" "*$site/current could not be replaced*; not switched"
	chmod 777 .
	chown -R 65534 releases/1
	deploy_as_nobody
	is "whose the releases and the folder are can do all of it" \
		"$(outcome) $("$pages" releases/1/a)" "0 releases/2 0/8" || note "$err"
	chmod 755 .
	again
	deploy_as_nobody
	like "what cannot be measured" "$status $(readlink current):$err" \
		"3 releases/1:*; not switched"
else
	skip "without privilege" "needs root"
fi

again
mkdir .current.deploy-warm
deploy releases/2 current
is "something in the way of the new link" "$status $(readlink current)$(is_left)" \
	"2 releases/1./.current.deploy-warm"
ok "nothing gets into that" rmdir .current.deploy-warm
rm -rf .current.deploy-warm

note "what does not go well after it"

faulty "an eviction that fails" "1 releases/2 8/8 4/4 8/8 5/5" fadvise64=EIO
like "it is said" "$err" "*deploy-warm: switched, but 2 files of $site/releases/1 could not be evicted: *"
if [ "$(stat -f -c %T /dev/shm 2>/dev/null)" = tmpfs ] && [ -w /dev/shm ]; then
	shm=$(mktemp -d /dev/shm/hotset.XXXXXX)
	on_exit "rm -rf $shm"
	again
	cp -r releases/1 "$shm" && ln -s -f -n "$shm/1" current
	deploy releases/2 current
	like "an old release that stays in memory" "$status $(readlink current):$err" \
		"1 releases/2:*switched, but not all of $shm/1 is out of memory: *"
else
	skip "an old release that stays in memory" "needs a writable /dev/shm"
fi
# parting: as a name in the folder $rel/1, so long that a list of them, where three pages hold no
# more, ends with "$rel/"; sets $rel and $width
parting() {
	rel=$site/full/rel
	while [ ${#rel} -lt 250 ]; do
		width=1
		while [ $width -lt 200 ]; do
			[ $(((3 * page - ${#rel} - 1) % (${#rel} + 4 + width))) -ne 0 ] || return 0
			width=$((width + 1))
		done
		rel=${rel}l
	done
	return 1
}

# fill: an old release of too many names for $TMP/full, and a new one, which is in memory
fill() {
	rm -rf full
	release "$rel/2" a=8
	mkdir "$rel/1"
	for number in $(seq $((3 * page / (${#rel} + 4 + width) + 3))); do
		echo >"$rel/1/$(printf "%0${width}d" "$number")"
	done
	ln -s "$rel/1" full/current
}

if [ "$(id -u)" -eq 0 ] && parting && (cd "$TMP" && mounted full -t tmpfs -o size=$((4 * page)) tmpfs); then
	on_exit "umount -l '$TMP/full'"
	for _ in 1 2 3; do
		fill
		run env TMPDIR="$TMP/full" deploy-warm "$rel/2" full/current
		[ "$("$pages" "$rel/2/a")" != 8/8 ] || break
	done
	is "a list that TMPDIR has no room for: nothing is evicted by half a name" \
		"$status $(readlink full/current) $("$pages" "$rel/2/a")$(ls "$TMP/full")" \
		"1 $rel/2 8/8"
	like "it is said" "$err" "*switched, but $rel/1 is not evicted: *TMPDIR*"
	is "nor is what the list has" "$("$pages" "$rel/1/$(printf "%0${width}d" 1)")" 1/1
else
	skip "a list that TMPDIR has no room for" "needs root, and a tmpfs of its own"
fi
deploys "--reload comes before the eviction" "$switched" \
	--reload='pages releases/1/a >seen; readlink current >>seen' releases/2 current
is "and after the switch" "$(cat seen)" "8/8
releases/2"
rm seen
deploys "--reload that fails" "1 releases/2 8/8 4/4 8/8 5/5" --reload='exit 7' releases/2 current
like "it is said" "$err" "*switched, but --reload ended with status 7: the old release $site/releases/1, *"

note "two at once"

again
deploy-warm -q --reload='touch started; sleep 3' releases/2 current &
first=$!
while [ ! -e started ]; do sleep 0.1; done
deploy releases/1 current
is "the second one is refused" "$status $(readlink current)" "2 releases/2"
like "it is said" "$err" "deploy-warm: another deploy is at work in $site: *; not switched"
wait $first
is "the first one goes on" "$?" 0
is "and evicts" "$("$pages" releases/1/a)" 0/8
deploy releases/1 current
is "then there is room" "$status $(readlink current)" "0 releases/1"
rm started

# meanwhile COMMAND...: during a deploy that takes some seconds; sets $status
meanwhile() {
	again
	release releases/3 a=3
	cat releases/3/a >/dev/null
	deploy-warm -q --rate=16k releases/2 current 2>"$TMP/.err" &
	deploying=$!
	sleep 1
	"$@"
	status=0
	wait $deploying || status=$?
}
meanwhile ln -s -f -n releases/3 current
is "a link that moves meanwhile: what it was last is evicted" \
	"$(outcome) $("$pages" releases/3/a)" "0 releases/2 0/3"
ok "and not what it was first" [ "$("$pages" releases/1/a)" != 0/8 ]
meanwhile mv releases/2 releases/4
is "a release that goes meanwhile" "$status $(readlink current)" "2 releases/1"

note "signals"

# shellcheck disable=SC2016 # perl's
# interrupted SIGNAL ARGUMENT...: a deploy that gets it after a second; sets $status, $err, and
# $took, in seconds
interrupted() {
	interrupted_by=$1
	shift
	again
	release releases/2 c=200 # many seconds, at 16k a second
	TMPDIR=$TMP/tmp perl -e '$SIG{INT} = "DEFAULT"; exec @ARGV' \
		deploy-warm --timeout=30 "$@" 2>"$TMP/.err" &
	pid=$!
	sleep 1
	children=$(pgrep -P $pid)
	took=$(date +%s)
	kill -"$interrupted_by" $pid
	status=0
	wait $pid 2>/dev/null || status=$?
	took=$(($(date +%s) - took))
	err=$(cat "$TMP/.err")
}

for signal in HUP=129 INT=130 TERM=143; do
	interrupted ${signal%=*} --rate=16k releases/2 current
	is "SIG${signal%=*} while it warms" "$status $(readlink current)$(is_left)" \
		"${signal#*=} releases/1"
	like "it is said where the link points" "$err" "*stopped by SIG${signal%=*}; current points to releases/1"
	ok "warm was at work" [ -n "$children" ]
	ok "and does not go on, not for long: ${took}s" [ ! -d "/proc/$children" -a "$took" -lt 10 ]
done
interrupted TERM --reload='exec sleep 20' releases/2 current
is "SIGTERM after the switch" "$status $(readlink current)$(is_left)" "143 releases/2"
like "it is said where the link points" "$err" "*stopped by SIGTERM; current points to releases/2"
interrupted KILL --rate=16k releases/2 current
rm -rf "$TMP/tmp"/*
ln -s nowhere .current.deploy-warm
deploy releases/2 current
is "SIGKILL leaves no lock, and a link that it leaves is no harm" "$(outcome)" "0 releases/2"
kill "$children" # is warm, and has no end soon
again
deploy --timeout=0.3 --rate=16k releases/2 current
is "a warming that takes too long" "$status $(readlink current)$(is_left)" "2 releases/1"
like "it is said" "$err" "*$site/releases/2 is not warm: * within --timeout=0.3*; not switched"
deploy --timeout=0.3 --rate=16k --min=0 releases/2 current
is "even if what came so far is enough" "$status $(readlink current)$(is_left)" "2 releases/1"
like "it is said" "$err" "*$site/releases/2 is not warm: * within --timeout=0.3*; not switched"

note "names"

rm -rf current releases
# shellcheck disable=SC2016 # these are names
for escaped in 'new\nline' 'end\n' '-rf' '--' '-' ' ' 'quo'\''te"' '$(touch pwned)' '`touch pwned`' 'back\\\\slash' \
	'tab\tesc\033[31m' 'bad\377utf8' '*' '\303\244' '#x' 'a=b' '~'; do
	# shellcheck disable=SC2059 # the escapes are meant
	name=$(printf -- "$escaped."); name=${name%.}
	label=$(printf %s "$escaped" | tr '\134' /)
	old=old$name
	release "./$name" "a$name=2"
	release "./$old" "b$name=2"
	mkdir links
	(cd "./$old" && pwd -P >/dev/null) && deploy --keep-old -- "$old" "links/$name"
	cat "$old"/* >/dev/null
	deploy -- "$name" "links/$name"
	is "$label" "$status $("$pages" "$old/b$name") $("$pages" "$name/a$name")$(is_left)" "0 0/2 2/2"
	ok "$label: the link is right" [ "links/$name" -ef "./$name" ]
	is "$label: no control characters" "$(tr -d '\n' <"$TMP/.err" | tr -dc '\001-\037\177')" ""
	rm -rf links "./$name" "./$old"
done
ok "nothing was run" [ ! -e pwned ]

note "the system log"

again
# its own /dev, without a log, or with one that hands on what it gets
if unshare -m true 2>/dev/null; then
	mkdir "$TMP/dev" && : >"$TMP/dev/null"
	# shellcheck disable=SC2016 # the inner shell's
	with_dev='mount --bind /dev/null "$1/null" && mount --bind "$1" /dev && shift && exec "$@"'
	run unshare -m sh -c "$with_dev" sh "$TMP/dev" deploy-warm --syslog --keep-old releases/2 current
	is "it is no success where the log takes nothing" "$status $(readlink current)" "1 releases/2"
	like "it is said" "$err" "*deploy-warm: that is not in the system log: *"

	again
	perl -MIO::Socket::UNIX -e '
		my $log = IO::Socket::UNIX->new(Type => SOCK_DGRAM, Local => shift) or die;
		$| = 1;
		while (defined $log->recv(my $line, 65536)) { print "$line\n" }' \
		"$TMP/dev/log" >"$TMP/log" &
	log=$!
	on_exit "kill $log 2>/dev/null"
	while [ ! -S "$TMP/dev/log" ]; do sleep 0.1; done
	logged() {
		: >"$TMP/log"
		run unshare -m sh -c "$with_dev" sh "$TMP/dev" deploy-warm --syslog "$@"
		sleep 0.2
	}
	logged -q --min=95 --budget=0 releases/2 current
	like "what fails is in the log" "$(cat "$TMP/log")" "<11>*deploy-warm: *0.00 %*; not switched"
	logged -q releases/2 current
	like "and what was done" "$status:$(cat "$TMP/log")" "0:<13>*deploy-warm: *points to releases/2 now*
<13>*deploy-warm: *evicted*"
	logged -q --reload=false releases/1 current
	like "and what was not" "$status:$(cat "$TMP/log")" "1:*<12>*deploy-warm: switched, but *"
	kill $log
else
	skip "the system log" "needs root and mount namespaces"
fi

note "there always is a link"

again
perl -e '
	my ($looks, $gaps) = (0, 0);
	while (! -e "stop") { for (1 .. 200) { $looks++; $gaps++ unless -e "current/a" } }
	print "$looks $gaps\n"' >seen &
watcher=$!
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
	deploy -q --keep-old releases/$((i % 2 + 1)) current
	[ "$status" -eq 0 ] || break
done
touch stop
wait $watcher
is "twenty deploys" "$status" 0
read -r looks gaps <seen
is "at no moment is there none" "$gaps" 0
ok "$looks looks" [ "$looks" -gt 2000 ]

done_testing
