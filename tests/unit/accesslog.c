/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "accesslog.h"

#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>

#include "tap.h"

/* What a line comes to: a path, or a word in brackets. The line is in memory of its exact size. */
static const char *
parsed(const char *line)
{
	static char answer[2 * PATH_MAX];
	char *copy = strdup(line);
	const char *path = NULL;

	switch (accesslog_parse(copy, &path)) {
	case ACCESSLOG_FILE:
		snprintf(answer, sizeof answer, "%s", path);
		break;
	case ACCESSLOG_OTHER:
		strcpy(answer, "<other>");
		break;
	case ACCESSLOG_REFUSED:
		strcpy(answer, "<refused>");
		break;
	default:
		strcpy(answer, "<rubbish>");
	}
	free(copy);
	return answer;
}

/* The same of a whole line with this request and answer. */
static const char *
request(const char *text, const char *answer)
{
	static char line[4 * PATH_MAX];

	snprintf(line, sizeof line, "192.0.2.7 - - [10/Oct/2026:13:55:36 -0700] \"%s\" %s", text,
	    answer);
	return parsed(line);
}

static const char *
target(const char *text)
{
	static char line[3 * PATH_MAX];

	snprintf(line, sizeof line, "GET %s HTTP/1.1", text);
	return request(line, "200 -");
}

static void
lines(void)
{
	is(parsed("192.0.2.7 - frank [10/Oct/2000:13:55:36 -0700] \"GET /apache_pb.gif HTTP/1.0\" "
		  "200 2326"),
	    "apache_pb.gif", "common");
	is(parsed("192.0.2.7 - - [10/Oct/2000:13:55:36 -0700] \"GET /a HTTP/2.0\" 200 2326 "
		  "\"http://h/\" \"Mozilla/4.08 [en] \\\"x\\\"\""),
	    "a", "combined");
	is(parsed("h:443 192.0.2.7 - - [10/Oct/2000] \"GET /a HTTP/2\" 206 1"), "a", "with a host");
	is(parsed("2001:db8::1 - a user [1] [10/Oct/2000] \"GET /a HTTP/3.0\" 304 -"), "a",
	    "with a user");
	is(request("GET /a HTTP/1.1", "404 5"), "<other>", "not found");
	is(request("GET /a HTTP/1.1", "2000 5"), "<rubbish>", "no answer");
	is(request("GET /a HTTP/1.1", "200"), "<rubbish>", "cut off");
	is(request("GET /a HTTP/1.1", "200 x"), "<rubbish>", "no bytes");
	is(request("GET /a HTTP/1.1", "301 -"), "<other>", "moved");
	is(request("HEAD /a HTTP/1.1", "200 -"), "<other>", "another method");
	is(request("get /a HTTP/1.1", "200 -"), "<other>", "in small letters");
	is(request("GET /a", "200 -"), "<rubbish>", "no protocol");
	is(request("-", "200 -"), "<rubbish>", "no request");
	is(request("\\x16\\x03\\x01", "400 -"), "<other>", "what was no request is no rubbish");
	is(request("", "400 -"), "<other>", "nothing at all");
	is(parsed(""), "<rubbish>", "an empty line");
	is(parsed("{\"time\": 1, \"request\": \"GET /a HTTP/1.1\", \"status\": 200}"), "<rubbish>",
	    "another format");
	is(parsed("a - - [1] \"GET /a HTTP/1.1 200 -"), "<rubbish>", "no quote at the end");
	is(parsed("a - - [1] \"GET /a HTTP/1.1\\\" 200 -"), "<rubbish>", "which is no end");
}

static void
targets(void)
{
	is(target("/a/b.css"), "a/b.css", "a path");
	is(target("/a/b.css?v=1&x=/../"), "a/b.css", "a query");
	is(target("/a#x?y"), "a", "a fragment");
	is(target("/a%3fb%23c"), "a?b#c", "neither");
	is(target("http://example.com/a/b"), "a/b", "a whole address");
	is(target("HTTPS://example.com:8443/a?x"), "a", "another");
	is(target("http://example.com"), "index.html", "one without a path");
	is(target("http://example.com?x/y"), "index.html", "with a query");
	is(target("ftp://example.com/a"), "<refused>", "of another protocol");
	is(target("*"), "<refused>", "none");
	is(target("a/b"), "<refused>", "no root");
	is(target("/"), "index.html", "the root");
	is(target("/a/b/"), "a/b/index.html", "a folder");
	is(target("//a///b//"), "a/b/index.html", "slashes");
	is(target("/./a/./b"), "a/b", "points");
	is(target("/a/."), "a/index.html", "a point at the end");
	is(target("/..."), "...", "three");
	is(target("/a b"), "a b", "a space");
	is(target("/a%20b"), "a b", "an escaped one");
	is(target("/%e4%C3%bc"), "\xe4\xc3\xbc", "bytes");
	is(target("/a%0ab"), "a\nb", "a newline");
	is(target("/a\\\"b\\\\c\\n\\x41"), "a\"b\\c\nA", "the escapes of the log");
	is(target("/a\\x2f..\\x2fb"), "<refused>", "hide nothing");
	is(target("/a\\q"), "a\\q", "what is none");
	is(target("/a%2Fb"), "a/b", "an escaped slash");
}

static void
refused(void)
{
	static char longest[PATH_MAX + 20];

	is(target("/.."), "<refused>", "above the root");
	is(target("/a/../b"), "<refused>", "below it");
	is(target("/a/..?x"), "<refused>", "with a query");
	is(target("/%2e%2e/etc/passwd"), "<refused>", "escaped");
	is(target("/.%2E/x"), "<refused>", "half of it");
	is(target("/a/%2e%2e%2fb"), "<refused>", "with the slash");
	is(target("/%252e%252e/x"), "%2e%2e/x", "decoded once only");
	is(target("/a%00b"), "<refused>", "NUL");
	is(target("/a\\x00b"), "<rubbish>", "NUL in the log");
	is(target("/a%"), "<refused>", "half an escape");
	is(target("/a%4"), "<refused>", "most of one");
	is(target("/a%zz"), "<refused>", "no escape");
	is(target("/%"), "<refused>", "only that");
	memset(longest, 'x', PATH_MAX);
	longest[0] = '/';
	ok(strlen(target(longest)) == PATH_MAX - 1, "the longest path");
	memset(longest + PATH_MAX, 'x', 1);
	is(target(longest), "<refused>", "one byte more");
	longest[PATH_MAX - 1] = '/';
	longest[PATH_MAX] = '\0';
	is(target(longest), "<refused>", "whose index is too long");
}

/* Whether it is what accesslog.h says of a path. */
static bool
is_sane(const char *path)
{
	if (*path == '/' || !*path || strlen(path) >= PATH_MAX)
		return false;
	for (const char *at = path; at; at = strchr(at, '/')) {
		size_t length = strcspn(at += at > path, "/");

		if (length == 0 || (length == 1 && *at == '.') ||
		    (length == 2 && strncmp(at, "..", 2) == 0))
			return false;
	}
	return true;
}

static void
rubbish(void)
{
	static const char pieces[][8] = { "/", "..", ".", "%2e", "%2f", "%00", "%", "\\x2e", "\\",
		"\"", " ", "?", "#", "a", "\xff", "http://", "] \"", "GET ", "HTTP/1", "200 -" };
	static char text[400];
	int insane = 0, files = 0;

	srand(1);
	for (int round = 0; round < 200000; round++) {
		const char *path;

		text[0] = '\0';
		for (int left = rand() % 12; left > 0; left--)
			strcat(text, pieces[(size_t)rand() % (sizeof pieces / sizeof *pieces)]);
		path = rand() % 8 ? target(text)
		    : rand() % 2  ? request(text, "200 -")
				  : parsed(text);
		if (*path == '<')
			continue;
		files++;
		insane += !is_sane(path);
	}
	ok(files > 1000, "rubbish may be paths");
	ok(insane == 0, "which never leave the root");
}

int
main(void)
{
	lines();
	targets();
	refused();
	rubbish();
	return tap_done();
}
