/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "esc.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/*
 * Length in bytes of the UTF-8 character at TEXT, 0 where there is none: also
 * for overlong forms, surrogates and what is above U+10FFFF.
 */
static size_t
utf8_length(const unsigned char *text)
{
	static const unsigned long least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	unsigned long point;
	size_t length, i;

	if (text[0] < 0x80)
		return 1;
	if (text[0] >= 0xf5 || text[0] < 0xc2)
		return 0;
	length = text[0] >= 0xf0 ? 4 : text[0] >= 0xe0 ? 3 : 2;
	point = text[0] & (0x7f >> length);
	for (i = 1; i < length; i++) {
		if ((text[i] & 0xc0) != 0x80)
			return 0;
		point = point << 6 | (text[i] & 0x3f);
	}
	if (point < least[length] || point > 0x10ffff || (point >= 0xd800 && point < 0xe000))
		return 0;
	return length;
}

/*
 * What terminals obey: control characters, of C1 (U+0080 to U+009F) too, and what turns
 * the direction of text (U+200E, U+200F, U+202A to U+202E, U+2066 to U+2069).
 */
static int
is_control(const unsigned char *text)
{
	if (text[0] == 0xe2 && text[1] == 0x80)
		return text[2] == 0x8e || text[2] == 0x8f || (text[2] >= 0xaa && text[2] <= 0xae);
	if (text[0] == 0xe2 && text[1] == 0x81)
		return text[2] >= 0xa6 && text[2] <= 0xa9;
	return text[0] < 0x20 || text[0] == 0x7f || (text[0] == 0xc2 && text[1] < 0xa0);
}

void
esc_terminal(FILE *stream, const char *text)
{
	const unsigned char *at = (const unsigned char *)text;
	size_t length;

	for (; *at; at += length) {
		length = utf8_length(at);
		if (*at == '\n')
			fputs("\\n", stream);
		else if (*at == '\t')
			fputs("\\t", stream);
		else if (*at == '\\')
			fputs("\\\\", stream);
		else if (length == 0 || is_control(at)) {
			length = length ? length : 1;
			for (size_t i = 0; i < length; i++)
				fprintf(stream, "\\x%02x", at[i]);
		} else
			fwrite(at, 1, length, stream);
	}
}

void
esc_tsv(FILE *stream, const char *text)
{
	esc_terminal(stream, text);
}

/* The value of a digit that %x writes; -1 where it is none. */
static int
hexadecimal(char digit)
{
	static const char digits[] = "0123456789abcdef";
	const char *found = digit ? strchr(digits, digit) : NULL;

	return found ? (int)(found - digits) : -1;
}

/* The byte that the escape at *TEXT, a backslash, stands for, and *TEXT behind it; 0 where
 * it is no escape. */
static char
unescape(const char **text)
{
	char kind = (*text)[1];
	int high, low;

	*text += 2;
	switch (kind) {
	case 'n':
		return '\n';
	case 't':
		return '\t';
	case '\\':
		return '\\';
	case 'x':
		high = hexadecimal(**text);
		low = high < 0 ? -1 : hexadecimal((*text)[1]);
		*text += 2;
		return low < 0 ? '\0' : (char)(high << 4 | low);
	default:
		return '\0';
	}
}

int
esc_undo(char *text)
{
	const char *from = text;

	while (*from) {
		char byte = *from;

		if (byte == '\\')
			byte = unescape(&from);
		else if ((unsigned char)byte < 0x20 || byte == 0x7f)
			byte = '\0';
		else
			from++;
		if (!byte) {
			errno = EINVAL;
			return -1;
		}
		*text++ = byte;
	}
	*text = '\0';
	return 0;
}

void
esc_shell(FILE *stream, const char *text)
{
	static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				    "0123456789_./:@%+,-";

	if (text[strspn(text, plain)] == '\0') {
		fputs(text, stream);
		return;
	}
	fputc('\'', stream);
	for (; *text; text++) {
		if (*text == '\'')
			fputs("'\\''", stream);
		else
			fputc(*text, stream);
	}
	fputc('\'', stream);
}

void
esc_json(FILE *stream, const char *text)
{
	const unsigned char *at = (const unsigned char *)text;
	size_t length;

	fputc('"', stream);
	for (; *at; at += length) {
		length = utf8_length(at);
		if (length == 0) {
			fprintf(stream, "\\udc%02x", *at);
			length = 1;
		} else if (*at == '"' || *at == '\\')
			fprintf(stream, "\\%c", *at);
		else if (*at < 0x20 || *at == 0x7f)
			fprintf(stream, "\\u%04x", *at);
		else
			fwrite(at, 1, length, stream);
	}
	fputc('"', stream);
}

void
esc_label(FILE *stream, const char *text)
{
	char *shown = NULL;
	size_t length = 0;
	FILE *memory = open_memstream(&shown, &length);

	if (!memory)
		return;
	esc_terminal(memory, text);
	if (fclose(memory) != 0) {
		free(shown);
		return;
	}
	fputc('"', stream);
	for (const char *at = shown; *at; at++) {
		if (*at == '"' || *at == '\\')
			fputc('\\', stream);
		fputc(*at, stream);
	}
	fputc('"', stream);
	free(shown);
}
