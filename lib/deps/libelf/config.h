/* SPDX-License-Identifier: GPL-2.0-or-later */

/*
 * What elfutils' configure script would find out about musl, as far as
 * libelf asks: musl has <err.h> but no <error.h>. Every libelf source
 * includes this file first and expects it to end with eu-config.h.
 */
#define HAVE_ERR_H             1
#define HAVE_VISIBILITY        1
#define HAVE_FALLTHROUGH       1
#define HAVE_DECL_MEMPCPY      1
#define HAVE_DECL_MEMRCHR      1
#define HAVE_DECL_POWEROF2     1
#define HAVE_DECL_REALLOCARRAY 1

#include <eu-config.h>
