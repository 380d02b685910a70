/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "opts.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include "diag.h"
#include "num.h"
#include "status.h"

#define MAX_OPTIONS 64
#define FIRST_LONG  256 /* values of options without a letter start here */

static opts_store store_format;

static const struct opts_option common_options[] = {
	{ 'f', "format", "FORMAT", store_format, offsetof(struct opts_common, format),
	    "text, tsv, kv, json or prom (default text)" },
	{ 'o', "output", "FILE", opts_text, offsetof(struct opts_common, output),
	    "write each complete report to FILE, atomically" },
	{ 't', "timeout", "DURATION", opts_duration, offsetof(struct opts_common, timeout),
	    "give up after DURATION (5, 5s, 2m, 1h; 0: never)" },
	{ 'q', "quiet", NULL, opts_flag, offsetof(struct opts_common, quiet),
	    "no notes on standard error, only errors" },
	{ 'v', "verbose", NULL, opts_increase, offsetof(struct opts_common, verbose), "say more" },
	{ 'h', "help", NULL, NULL, 0, "show this help" },
	{ 'V', "version", NULL, NULL, 0, "show the version" },
	{ 0 },
};

int
opts_flag(void *field, const char *argument)
{
	(void)argument;
	*(bool *)field = true;
	return 0;
}

int
opts_increase(void *field, const char *argument)
{
	(void)argument;
	++*(int *)field;
	return 0;
}

int
opts_text(void *field, const char *argument)
{
	*(const char **)field = argument;
	return 0;
}

int
opts_list(void *field, const char *argument)
{
	struct opts_words *list = field;
	const char **words = realloc(list->words, (list->count + 1) * sizeof *words);

	if (!words)
		return -1;
	list->words = words;
	list->words[list->count++] = argument;
	return 0;
}

int
opts_count(void *field, const char *argument)
{
	return num_count(argument, field);
}

int
opts_size(void *field, const char *argument)
{
	return num_size(argument, field);
}

int
opts_duration(void *field, const char *argument)
{
	return num_duration(argument, field);
}

int
opts_percent(void *field, const char *argument)
{
	return num_percent(argument, field);
}

int
opts_share(void *field, const char *argument)
{
	return num_share(argument, field);
}

int
opts_range(void *field, const char *argument)
{
	return num_range(argument, field);
}

int
opts_pid(void *field, const char *argument)
{
	uint64_t number;

	if (num_count(argument, &number) < 0)
		return -1;
	if (number == 0 || number > INT_MAX) {
		errno = ERANGE;
		return -1;
	}
	*(pid_t *)field = (pid_t)number;
	return 0;
}

static int
store_format(void *field, const char *argument)
{
	return out_format_named(argument, field);
}

/* One pass over all tables: the common one, then the tool's. */
struct choices {
	const struct opts_option *option[MAX_OPTIONS];
	void *base[MAX_OPTIONS];
	size_t count;
};

static void
choices_add(struct choices *choices, const struct opts_option *options, void *base)
{
	for (; options->name && choices->count < MAX_OPTIONS; options++) {
		choices->option[choices->count] = options;
		choices->base[choices->count++] = base;
	}
}

static int
option_value(const struct choices *choices, size_t i)
{
	int letter = choices->option[i]->letter;

	return letter ? letter : FIRST_LONG + (int)i;
}

static void
help_option(const struct opts_option *option)
{
	char left[64];

	snprintf(left, sizeof left, "%s%c%s--%s%s%s", option->letter ? "-" : " ",
	    option->letter ? option->letter : ' ', option->letter ? ", " : "  ", option->name,
	    option->argument ? "=" : "", option->argument ? option->argument : "");
	printf("  %-29s %s\n", left, option->help);
}

static int
flushed(void)
{
	return out_flush(stdout) < 0 ? out_explain(&(struct out){ 0 }) : STATUS_DONE;
}

static int
help(const struct opts_tool *tool, const struct choices *choices)
{
	const char *line = tool->synopsis;

	for (const char *lead = "usage:"; line; lead = "      ") {
		const char *end = strchr(line, '\n');
		int length = end ? (int)(end - line) : (int)strlen(line);

		printf("%s %s %.*s\n", lead, tool->name, length, line);
		line = end ? end + 1 : NULL;
	}
	printf("\n%s\n\noptions:\n", tool->summary);
	for (size_t i = 0; i < choices->count; i++)
		help_option(choices->option[i]);
	for (int i = 0; tool->tables[i]; i++)
		out_help(tool->tables[i], stdout);
	return flushed();
}

static int
version(const struct opts_tool *tool)
{
	printf("%s (hotset) %s\n", tool->name, HOTSET_VERSION);
	return flushed();
}

struct opts_operands
opts_split(int argc, char **argv, int first, const struct opts_common *common)
{
	int i = common->ended ? first - 1 : first;
	struct opts_operands operands = { .words = argv + i };

	while (i < argc && strcmp(argv[i], "--") != 0)
		i++;
	operands.count = (size_t)(argv + i - operands.words);
	if (i < argc)
		operands.command = argv + i + 1;
	return operands;
}

bool
opts_late(char **words, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (words[i][0] != '-' || strspn(words[i] + 1, "0123456789.") > 0 || !words[i][1])
			continue;
		opts_misuse("%s comes too late: options come before operands", words[i]);
		return true;
	}
	return false;
}

int
opts_misuse(const char *format, ...)
{
	va_list arguments;
	char *text = NULL;

	va_start(arguments, format);
	if (vasprintf(&text, format, arguments) >= 0)
		diag_error("%s (see %s --help)", text, diag_tool());
	va_end(arguments);
	free(text);
	return STATUS_UNKNOWN;
}

/* What the user typed for the option that getopt_long stopped at. */
static void
misuse_unknown(char **argv)
{
	const char *word = argv[optind - 1];

	if (optopt > 0 && optopt < FIRST_LONG && strncmp(word, "--", 2) != 0)
		opts_misuse("unknown option -%c", optopt);
	else
		opts_misuse("unknown or ambiguous option %s, or one that takes no argument", word);
}

static int
store(const struct choices *choices, size_t i, const char *argument)
{
	const struct opts_option *option = choices->option[i];

	if (option->store((char *)choices->base[i] + option->field, argument) == 0)
		return 0;
	if (errno == ERANGE)
		opts_misuse("--%s: %s is out of range", option->name, argument);
	else if (errno == EINVAL)
		opts_misuse("--%s: \"%s\" is not a valid %s", option->name, argument,
		    option->argument);
	else
		opts_misuse("--%s: %s", option->name, strerror(errno));
	return -1;
}

/*
 * Standard descriptors that we were started without would be the next files that
 * we open: messages would end up in a report. Opened the wrong way round, each
 * use of them still is an error.
 */
static void
hold_standard_descriptors(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
		if (fcntl(fd, F_GETFD) < 0)
			open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
	}
}

int
opts_parse(const struct opts_tool *tool, const struct opts_group *groups,
    struct opts_common *common, int argc, char **argv, int *status)
{
	struct choices choices = { .count = 0 };
	struct option longs[MAX_OPTIONS + 1] = { 0 };
	char shorts[2 * MAX_OPTIONS + 3] = "+:";
	char *at = shorts + strlen(shorts);
	int value, seen;

	hold_standard_descriptors();
	diag_init(tool->name);
	*status = STATUS_UNKNOWN;
	for (; groups->options; groups++)
		choices_add(&choices, groups->options, groups->base);
	choices_add(&choices, common_options, common);
	for (size_t i = 0; i < choices.count; i++) {
		const struct opts_option *option = choices.option[i];

		longs[i].name = option->name;
		longs[i].has_arg = option->argument ? required_argument : no_argument;
		longs[i].val = option_value(&choices, i);
		if (option->letter)
			*at++ = (char)option->letter;
		if (option->letter && option->argument)
			*at++ = ':';
	}
	while (seen = optind, (value = getopt_long(argc, argv, shorts, longs, NULL)) != -1) {
		size_t i = 0;

		if (value == ':') {
			opts_misuse("option %s needs an argument", argv[optind - 1]);
			return -1;
		}
		while (i < choices.count && option_value(&choices, i) != value)
			i++;
		if (i == choices.count) {
			misuse_unknown(argv);
			return -1;
		}
		if (value == 'h' || value == 'V') {
			*status = value == 'h' ? help(tool, &choices) : version(tool);
			return -1;
		}
		if (store(&choices, i, optarg) < 0)
			return -1;
	}
	/* nothing else is passed over without an option; an argument "--" was passed before */
	common->ended = optind > seen;
	diag_verbosity(common->quiet ? -1 : common->verbose);
	return optind;
}
