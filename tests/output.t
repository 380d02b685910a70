#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# -o, where what it names has no name of its own: pipes and deleted files below /dev/fd.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/lib.sh"
cd "$TMP" || exit 1
head -c 40960 /dev/zero >file
printf 'HITS MISSES\n9 1\n' >samples

# job TOOL OPTION...: what the tool can do within a second
job() {
	job_tool=$1
	shift
	case $job_tool in
	hitratio) "$BUILD/hitratio" "$@" -- true ;;
	ratio-check) "$BUILD/ratio-check" -w 1 "$@" - <samples ;;
	lock) "$BUILD/lock" -t 0.3 "$@" file ;;
	*) "$BUILD/$job_tool" "$@" file ;;
	esac
}

# piped TOOL PATH: its report through a pipe that is there as /dev/stdout and /dev/fd/9
piped() {
	(job "$1" -f kv -o "$2" 9>&1 2>err) | cat
}

tools="resident warm lock ratio-check"
if [ "$(id -u)" -eq 0 ] && "$BUILD/hitratio" 0.1 1 >/dev/null 2>&1; then
	tools="hitratio $tools"
else
	skip "hitratio" "it cannot count here"
fi
for tool in $tools; do
	like "$tool: /dev/stdout is a pipe" "$(piped "$tool" /dev/stdout; cat err)" "*=*"
	like "$tool: /dev/fd/9 is a pipe" "$(piped "$tool" /dev/fd/9; cat err)" "*=*"
done

exec 9<>gone
head -c 5000 /dev/zero | tr '\0' x >&9
rm gone
run job ratio-check -f kv -o /dev/fd/9
is "a file that is deleted" "$status:$err:$(head -n 1 /dev/fd/9)" "0::status=OK"
is "there is nothing else in it" "$(grep -c x /dev/fd/9)" 0
exec 9>&-
run job ratio-check -o /dev/fd/9
is "what is not open" "$status:$err" "3:ratio-check: /dev/fd/9: No such file or directory"
is "nothing lies about" "$(find . -name '*[.(]*' ! -name '.*')" ""

ln -s absent link
run job ratio-check -f kv -o link
is "a link to what is not there yet" "$status:$(head -n 1 absent)" "0:status=OK"
ok "it stays" test -L link

if command -v perl >/dev/null; then
	perl -MSocket -e 'socketpair(my $a, my $b, AF_UNIX, SOCK_STREAM, 0) or die;
		open(STDOUT, ">&", $b) or die; exec @ARGV' \
		"$BUILD/ratio-check" -w 1 -o /dev/stdout - <samples 2>err
	is "a socket cannot be opened" "$(cat err)" "ratio-check: /dev/stdout: Not supported"
else
	skip "a socket" "needs perl"
fi

done_testing
