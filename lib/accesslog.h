/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_ACCESSLOG_H
#define HOTSET_ACCESSLOG_H

/*
 * A line of a web server's access log, in the common format or one that begins so (combined):
 *	HOST IDENT USER [TIME] "METHOD TARGET PROTOCOL" STATUS BYTES ...
 * with the escapes that Apache and nginx write: \" \\ \n \xHH.
 */
enum accesslog {
	ACCESSLOG_FILE,    /* a GET that was answered with what it asked for: 200, 206 or 304 */
	ACCESSLOG_OTHER,   /* another method or answer */
	ACCESSLOG_REFUSED, /* its target is no path of a file: "..", a bad escape, NUL, too long */
	ACCESSLOG_RUBBISH, /* the line is none */
};

/* Takes LINE apart, in its own bytes. *PATH, of a file only: the target, decoded, from the root
 * on but without a slash in front, shorter than PATH_MAX, and with no component that is empty,
 * "." or "..". That of a folder has the name of its index.html instead. */
enum accesslog accesslog_parse(char *line, const char **path);

#endif
