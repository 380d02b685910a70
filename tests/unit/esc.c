/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "esc.h"

#include <stdlib.h>

#include "tap.h"

typedef void writer(FILE *stream, const char *text);

static void
check(writer *write, const char *text, const char *wanted, const char *name)
{
	char *got = NULL;
	size_t length;
	FILE *stream = open_memstream(&got, &length);

	write(stream, text);
	fclose(stream);
	is(got, wanted, name);
	free(got);
}

/* What esc_tsv makes of any bytes is undone; anything else is refused. */
static void
undo(void)
{
	static const char *const wrong[] = { "\\", "\\q", "\\x", "\\x1", "\\xg0", "\\x00", "\\x0g",
		"\\X41", "\\xAB", "a\tb", "a\n", "\x7f" };
	char all[256], *text = NULL, copy[8];
	size_t length = 0;
	FILE *stream = open_memstream(&text, &length);

	for (int i = 0; i < 255; i++)
		all[i] = (char)(i + 1);
	all[255] = '\0';
	esc_tsv(stream, all);
	fclose(stream);
	ok(esc_undo(text) == 0, "undo: any byte");
	is(text, all, "undo: all of them");
	free(text);
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
		ok(esc_undo(strcpy(copy, wrong[i])) < 0, "undo: what is no escape");
}

int
main(void)
{
	undo();
	check(esc_terminal, "a b", "a b", "terminal: plain");
	check(esc_terminal, "a\nb\tc\\d", "a\\nb\\tc\\\\d", "terminal: newline, tab, backslash");
	check(esc_terminal, "\x1b[31m\x7f", "\\x1b[31m\\x7f", "terminal: escape, delete");
	check(esc_terminal, "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80",
	    "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80", "terminal: UTF-8 of 2, 3 and 4 bytes");
	check(esc_terminal, "\xc2\x9b", "\\xc2\\x9b", "terminal: C1 control");
	check(esc_terminal, "\xff", "\\xff", "terminal: no UTF-8");
	check(esc_terminal, "\xc3", "\\xc3", "terminal: cut short");
	check(esc_terminal, "\xc0\xaf", "\\xc0\\xaf", "terminal: overlong");
	check(esc_terminal, "\xed\xa0\x80", "\\xed\\xa0\\x80", "terminal: surrogate");
	check(esc_terminal, "\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80", "terminal: above U+10FFFF");
	check(esc_tsv, "a\tb", "a\\tb", "tsv: tab");
	check(esc_shell, "a/b_c.d:@%+,-9", "a/b_c.d:@%+,-9", "shell: plain");
	check(esc_shell, "", "", "shell: empty");
	check(esc_shell, "a b", "'a b'", "shell: blank");
	check(esc_shell, "it's $(x)", "'it'\\''s $(x)'", "shell: quote");
	check(esc_shell, "\n", "'\n'", "shell: newline");
	check(esc_shell, "~", "'~'", "shell: tilde");
	check(esc_json, "a\"b\\c", "\"a\\\"b\\\\c\"", "json: quote, backslash");
	check(esc_json, "\x01\n\x7f", "\"\\u0001\\u000a\\u007f\"", "json: controls");
	check(esc_json, "\xc3\xa4", "\"\xc3\xa4\"", "json: UTF-8");
	check(esc_json, "\xff", "\"\\udcff\"", "json: no UTF-8");
	check(esc_label, "a\"b\n", "\"a\\\"b\\\\n\"", "label: quote, newline");
	check(esc_label, "\xff", "\"\\\\xff\"", "label: no UTF-8");
	return tap_done();
}
