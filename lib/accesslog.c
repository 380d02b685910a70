/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "accesslog.h"

#include <ctype.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

#define INDEX "index.html"

static int
digit_of(char letter)
{
	static const char digits[] = "0123456789abcdef";
	const char *found = letter ? strchr(digits, tolower((unsigned char)letter)) : NULL;

	return found ? (int)(found - digits) : -1;
}

/* The byte that two digits at TEXT stand for, or -1. */
static int
byte_of(const char *text)
{
	int high = digit_of(text[0]), low = high < 0 ? -1 : digit_of(text[1]);

	return low < 0 ? -1 : 16 * high + low;
}

/* Takes the escape at *TEXT, behind its backslash: the byte, or -1 where it is none. */
static int
unescape(char **text)
{
	static const char letters[] = "\"\\nrtbvf", bytes[] = "\"\\\n\r\t\b\v\f";
	const char *found = **text ? strchr(letters, **text) : NULL;
	int byte;

	if (found) {
		++*text;
		return bytes[found - letters];
	}
	if (**text != 'x' || (byte = byte_of(*text + 1)) < 0)
		return -1;
	*text += 3;
	return byte;
}

/* Undoes the escapes of the quoted text that begins at TEXT, in place; *LENGTH of it. Returns what
 * follows the quote that ends it, NULL where none does. */
static char *
unquote(char *text, size_t *length)
{
	char *to = text, *from = text;

	while (*from && *from != '"') {
		int byte = (unsigned char)*from++;

		if (byte == '\\' && (byte = unescape(&from)) < 0)
			byte = '\\';
		*to++ = (char)byte;
	}
	if (!*from)
		return NULL;
	*to = '\0';
	*length = (size_t)(to - text);
	return from + 1;
}

/* Whether " STATUS BYTES" at TEXT is that; whether the answer was what was asked for. */
static bool
read_answer(const char *text, bool *good)
{
	if (text[0] != ' ' || !isdigit((unsigned char)text[1]) ||
	    !isdigit((unsigned char)text[2]) || !isdigit((unsigned char)text[3]) ||
	    text[4] != ' ' || (text[5] != '-' && !isdigit((unsigned char)text[5])))
		return false;
	*good = strncmp(text + 1, "200", 3) == 0 || strncmp(text + 1, "206", 3) == 0 ||
	    strncmp(text + 1, "304", 3) == 0;
	return true;
}

/* The path in TARGET, which may be a whole address; NULL where there is none. */
static char *
path_of(char *target)
{
	size_t scheme = strncasecmp(target, "http://", 7) == 0 ? 7
	    : strncasecmp(target, "https://", 8) == 0          ? 8
							       : 0;
	char *path = target + scheme;

	path[strcspn(path, "?#")] = '\0';
	path += scheme ? strcspn(path, "/") : 0;
	return *path == '/' || scheme ? path : NULL;
}

/* In place; false for a bad escape, and for NUL. */
static bool
decode(char *text)
{
	char *to = text;

	for (; *text; text++) {
		int byte = (unsigned char)*text;

		if (byte == '%') {
			byte = byte_of(text + 1);
			if (byte <= 0)
				return false;
			text += 2;
		}
		*to++ = (char)byte;
	}
	*to = '\0';
	return true;
}

static bool
is(const char *component, size_t length, const char *name)
{
	return length == strlen(name) && memcmp(component, name, length) == 0;
}

/* Leaves out what means nothing, in place, and names the index of a folder, for which there is
 * room where protocol and answer stood; false where there is a ".." or it is too long. */
static bool
tidy(char *path)
{
	char *to = path, *at = path;
	bool folder = true;

	while (*at) {
		char *component = at + strspn(at, "/");
		size_t length = strcspn(component, "/");

		at = component + length;
		if (is(component, length, ".."))
			return false;
		folder = length == 0 || is(component, length, ".") || *at == '/';
		if (length == 0 || is(component, length, "."))
			continue;
		if (to > path)
			*to++ = '/';
		memmove(to, component, length);
		to += length;
	}
	if (folder) {
		if (to > path)
			*to++ = '/';
		to = stpcpy(to, INDEX);
	}
	*to = '\0';
	return to - path < PATH_MAX;
}

/* Cuts the line of a request, LENGTH bytes, in three; false where it is none. */
static bool
split(char *request, size_t length, char **target)
{
	char *first = strchr(request, ' '), *last = strrchr(request, ' ');

	if (strlen(request) < length || !first || first == last ||
	    strncmp(last + 1, "HTTP/", 5) != 0)
		return false;
	*first = *last = '\0';
	*target = first + 1;
	return true;
}

enum accesslog
accesslog_parse(char *line, const char **path)
{
	char *request = strstr(line, "] \""), *target, *answer;
	size_t length;
	bool good;

	if (!request)
		return ACCESSLOG_RUBBISH;
	request += 3;
	answer = unquote(request, &length);
	if (!answer || !read_answer(answer, &good))
		return ACCESSLOG_RUBBISH;
	if (!good)
		return ACCESSLOG_OTHER; /* whatever it was that was asked */
	if (!split(request, length, &target))
		return ACCESSLOG_RUBBISH;
	if (strcmp(request, "GET") != 0)
		return ACCESSLOG_OTHER;
	target = path_of(target);
	if (!target || !decode(target) || !tidy(target))
		return ACCESSLOG_REFUSED;
	*path = target;
	return ACCESSLOG_FILE;
}
