#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-or-later
# deaf.pl FOLDER: mounts a file system (FUSE) there with one file, f, which answers until that is
# open, and then never again. Ends it when it is killed.
use strict;
use warnings;

$^F = 255; # mount inherits the device
my $folder = shift;
open my $fuse, '+<', '/dev/fuse' or die "/dev/fuse: $!\n";
system('mount', '-i', '-t', 'fuse', '-o',
	'fd=' . fileno($fuse) . ',rootmode=40000,user_id=0,group_id=0,allow_other',
	'deaf', $folder) == 0 or exit 1;

my ($INIT, $LOOKUP, $GETATTR, $OPEN) = (26, 1, 3, 14);

# struct fuse_attr; none of what we say is to be remembered
sub attributes {
	my $node = shift;
	return pack('Q6 L10', $node, 0, 0, 0, 0, 0, 0, 0, 0,
		$node == 1 ? 040755 : 0100644, 1, 0, 0, 0, 4096, 0);
}

while (sysread $fuse, my $request, 1 << 20) {
	my (undef, $code, $unique, $node) = unpack 'L L Q Q', $request;
	my ($error, $answer) = (0, '');

	if ($code == $INIT) {
		$answer = pack 'L4 S2 L2 S2 L8', 7, 31, 0, 0, 1, 1, 4096, 1, 1, (0) x 9;
	} elsif ($code == $LOOKUP) {
		$answer = pack('Q4 L2', 2, 0, 0, 0, 0, 0) . attributes(2);
	} elsif ($code == $GETATTR) {
		$answer = pack('Q L2', 0, 0, 0) . attributes($node);
	} elsif ($code == $OPEN) {
		$answer = pack 'Q L2', 0, 0, 0;
	} else {
		$error = -38; # ENOSYS
	}
	syswrite $fuse, pack('L l Q', 16 + length $answer, $error, $unique) . $answer;
	last if $code == $OPEN;
}
sleep 1000;
