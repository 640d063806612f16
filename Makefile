# Builds the nginx module and the daemon, and runs everything around them.
# `make help` lists the targets.  Whatever is made lies in build/.
#
#   SANITIZE=1   the same with ASan and UBSan, in build/asan/
#   CC=clang     any C11 compiler for the daemon and the unit tests
#   OUT=DIR      another folder for what is built
#   V=1          show the commands

SHELL         := /bin/bash
.SHELLFLAGS   := -eu -o pipefail -c
.DELETE_ON_ERROR:
.SUFFIXES:

NAME          := ngx_http_coupon_callback_module

OUT           ?= build$(if $(SANITIZE),/asan)
NGINX         ?= $(firstword $(wildcard /usr/sbin/nginx) nginx)
NGINX_SRC     ?= /usr/share/nginx/src

prefix        ?= /usr/local
MODULES_DIR   ?= $(shell { $(NGINX) -V 2>&1; cat $(NGINX_SRC)/conf_flags; } \
                     2>&1 | sed -n 's/.*--modules-path=\([^ ]*\).*/\1/p' \
                     | head -n 1)
FUZZ_SECONDS  ?= 60
SOAK_SECONDS  ?= 600

UNIT_DIR      ?= $(prefix)/lib/systemd/system
DOC_DIR       := $(prefix)/share/coupon-callback

# Warnings are errors here: the daemon and the core have none.
WARN          := -Wall -Wextra -Werror -Wstrict-prototypes -Wshadow
CFLAGS        ?= -O2 -g
ifdef SANITIZE
HARDEN        := -fsanitize=address,undefined -fno-omit-frame-pointer \
                 -fno-sanitize-recover=undefined
else
HARDEN        := -fstack-protector-strong -D_FORTIFY_SOURCE=2
endif
ALL_CFLAGS     = -std=c11 -D_GNU_SOURCE $(WARN) $(CFLAGS) $(HARDEN)

# hiredis has TLS from 1.0 on, where it was built with it
HAVE_TLS      := $(shell $(CC) $(CFLAGS) -include hiredis/hiredis_ssl.h -E - \
                     </dev/null >/dev/null 2>&1 && echo yes)

CORE          := $(wildcard src/core/*.c)
TLS           := src/tls/$(if $(HAVE_TLS),tls,none).c
PROVIDERS     := $(wildcard src/providers/*.c)
SETTLE        := $(wildcard src/settle/*.c)
UNIT          := $(wildcard t/unit/*_test.c)
SETTLE_UNIT   := $(wildcard t/settle/*_test.c)
TRUTH         := $(wildcard t/truth/*_test.c)
HEADERS       := $(wildcard src/*/*.h)
MODULE_SRC    := config $(NAME).c $(HEADERS) $(CORE) \
                 $(PROVIDERS) $(wildcard src/ngx/*.c src/tls/*.c)

CORE_OBJ      := $(CORE:%.c=$(OUT)/obj/%.o)
PROVIDERS_OBJ := $(PROVIDERS:%.c=$(OUT)/obj/%.o)
SETTLE_OBJ    := $(SETTLE:%.c=$(OUT)/obj/%.o) $(TLS:%.c=$(OUT)/obj/%.o)
UNIT_BIN      := $(UNIT:t/unit/%.c=$(OUT)/t/%) \
                 $(SETTLE_UNIT:t/settle/%.c=$(OUT)/t/settle/%)
BENCH_MODULE  := build/bench/ngx_http_bench_module.so
TRUTH_BIN     := $(TRUTH:t/truth/%.c=$(OUT)/t/truth/%)

UNIT_OBJ      := $(patsubst %.c,$(OUT)/obj/%.o,$(UNIT) $(SETTLE_UNIT) \
                     $(wildcard t/truth/*.c))

CORE_LIBS     := -lcrypto -lxxhash -lcjson
SETTLE_LIBS   := -lmicrohttpd -lcurl -lpthread \
                 $(if $(HAVE_TLS),-lhiredis_ssl -lssl) -lhiredis -linih \
                 -lsqlite3 -lpq $(CORE_LIBS)
SETTLE_CFLAGS  = -I$(shell pg_config --includedir)

# a make of its own, by all processors
BUILD          = $(MAKE) --no-print-directory -j$(shell nproc)

Q             := $(if $(V),,@)
say            = @$(if $(V),:,printf '  %-5s %s\n' $1 $2)

.PHONY: all module settle unit objects deps demo run test test-sanitize lint \
        fuzz bench bench-apple bench-http bench-settle install clean help


all: module settle

module: build/$(NAME).so

settle: $(OUT)/coupon-settle

unit: $(UNIT_BIN) $(TRUTH_BIN)

# all that is C and not nginx's, only compiled
objects: $(CORE_OBJ) $(PROVIDERS_OBJ) $(SETTLE_OBJ) $(UNIT_OBJ)


# --- the daemon and the unit tests: no nginx header in sight ---------------

$(OUT)/coupon-settle: $(SETTLE_OBJ) $(CORE_OBJ)
	$(call say,link,$@)
	$(Q)$(CC) $(HARDEN) $(LDFLAGS) -o $@ $^ $(SETTLE_LIBS)

$(OUT)/t/%: $(OUT)/obj/t/unit/%.o $(PROVIDERS_OBJ) $(CORE_OBJ)
	@mkdir -p $(@D)
	$(call say,link,$@)
	$(Q)$(CC) $(HARDEN) $(LDFLAGS) -o $@ $^ $(CORE_LIBS) -lz

$(OUT)/t/settle/%: $(OUT)/obj/t/settle/%.o $(CORE_OBJ) \
                 $(filter-out %/main.o $(OUT)/obj/src/settle/cmd_%,$(SETTLE_OBJ))
	@mkdir -p $(@D)
	$(call say,link,$@)
	$(Q)$(CC) $(HARDEN) $(LDFLAGS) -o $@ $^ $(SETTLE_LIBS)

# the daemon with a provider and a clock that the test makes
$(OUT)/t/truth/%: $(OUT)/obj/t/truth/%.o $(OUT)/obj/t/truth/provider.o \
                 $(filter-out $(addprefix %/,main.o api.o api_http.o token.o \
                     clock.o poller.o relay.o) $(OUT)/obj/src/settle/cmd_%, \
                     $(SETTLE_OBJ)) $(CORE_OBJ)
	@mkdir -p $(@D)
	$(call say,link,$@)
	$(Q)$(CC) $(HARDEN) $(LDFLAGS) -o $@ $^ $(SETTLE_LIBS)

$(OUT)/bench/%: t/bench/%.c $(PROVIDERS_OBJ) $(CORE_OBJ)
	@mkdir -p $(@D)
	$(call say,link,$@)
	$(Q)$(CC) $(ALL_CFLAGS) $(LDFLAGS) -It/unit -Isrc/providers -Isrc/core \
	    -o $@ $^ $(CORE_LIBS) -lz -lsqlite3

# the core is compiled without -Isrc/settle, so that it cannot include from it
$(OUT)/obj/src/core/%.o: src/core/%.c
	@mkdir -p $(@D)
	$(call say,cc,$<)
	$(Q)$(CC) $(ALL_CFLAGS) -MMD -MP -Isrc/core -c -o $@ $<

$(OUT)/obj/src/providers/%.o: src/providers/%.c
	@mkdir -p $(@D)
	$(call say,cc,$<)
	$(Q)$(CC) $(ALL_CFLAGS) -MMD -MP -Isrc/providers -Isrc/core -c -o $@ $<

$(OUT)/obj/src/tls/%.o: src/tls/%.c
	@mkdir -p $(@D)
	$(call say,cc,$<)
	$(Q)$(CC) $(ALL_CFLAGS) -MMD -MP -Isrc/tls -Isrc/core -c -o $@ $<

$(OUT)/obj/src/settle/%.o: src/settle/%.c
	@mkdir -p $(@D)
	$(call say,cc,$<)
	$(Q)$(CC) $(ALL_CFLAGS) -MMD -MP -Isrc/settle -Isrc/tls -Isrc/core \
	    $(SETTLE_CFLAGS) -c -o $@ $<

$(OUT)/obj/t/unit/%.o: t/unit/%.c
	@mkdir -p $(@D)
	$(call say,cc,$<)
	$(Q)$(CC) $(ALL_CFLAGS) -MMD -MP -It/unit -Isrc/providers -Isrc/core \
	    -c -o $@ $<

$(OUT)/obj/t/settle/%.o: t/settle/%.c
	@mkdir -p $(@D)
	$(call say,cc,$<)
	$(Q)$(CC) $(ALL_CFLAGS) -MMD -MP -It/unit -Isrc/settle -Isrc/tls \
	    -Isrc/core $(SETTLE_CFLAGS) -c -o $@ $<

$(OUT)/obj/t/truth/%.o: t/truth/%.c
	@mkdir -p $(@D)
	$(call say,cc,$<)
	$(Q)$(CC) $(ALL_CFLAGS) -MMD -MP -It/truth -It/unit -Isrc/settle \
	    -Isrc/tls -Isrc/core $(SETTLE_CFLAGS) -c -o $@ $<

.SECONDARY:
-include $(shell find $(OUT)/obj -name '*.d' 2>/dev/null)


# --- the module, for the nginx of the distribution (package nginx-dev) ------

build/$(NAME).so: $(MODULE_SRC) t/bin/build-module.sh
	@NGINX_SRC=$(NGINX_SRC) t/bin/build-module.sh $@


$(BENCH_MODULE): $(wildcard t/bench/module/*) $(MODULE_SRC) \
                 t/bin/build-module.sh
	@MODULE_DIR=t/bench/module NGINX_SRC=$(NGINX_SRC) \
	    t/bin/build-module.sh $@


# --- what is made of them ---------------------------------------------------

deps:
	@t/bin/deps.sh build run test lint

demo:
	@t/bin/deps.sh build run
	@$(BUILD) all
	@t/bin/demo.sh

run:
	@t/bin/deps.sh build run
	@$(BUILD) all
	@t/bin/demo.sh --stay

test:
	@t/bin/deps.sh build run test
	@$(BUILD) all unit $(addprefix $(OUT)/bench/,scan load prepare)
	@t/bin/build-tls.sh || echo 'no TLS to Redis: its tests will be skipped'
	@t/bin/prove.sh

lint:
	@t/bin/deps.sh build lint
	@t/bin/lint.sh

test-sanitize:
	@t/bin/deps.sh build run test
	@t/bin/test-sanitize.sh

bench: bench-apple bench-http bench-settle

bench-settle:
	@t/bin/deps.sh build run test
	@$(MAKE) --no-print-directory settle $(OUT)/bench/floor
	@t/bench/settle.pl

bench-apple: $(OUT)/bench/apple_bench
	@$<

bench-http:
	@t/bin/deps.sh build run
	@$(MAKE) --no-print-directory module $(BENCH_MODULE) \
	    $(OUT)/bench/prepare $(OUT)/bench/load
	@t/bench/install.sh
	@t/bench/http.sh

fuzz:
	@t/bin/deps.sh build fuzz
	@t/fuzz/run.sh $(FUZZ_SECONDS)

soak:
	@t/bin/deps.sh build run test fuzz
	@$(BUILD) all unit
	@t/bin/soak.sh $(SOAK_SECONDS)

install: all
	@test -n "$(MODULES_DIR)" || { echo "set MODULES_DIR"; exit 1; }
	install -d $(DESTDIR)$(MODULES_DIR) $(DESTDIR)$(prefix)/sbin \
	    $(DESTDIR)$(DOC_DIR) $(DESTDIR)$(UNIT_DIR)
	install -m 644 build/$(NAME).so $(DESTDIR)$(MODULES_DIR)/
	install -m 755 $(OUT)/coupon-settle $(DESTDIR)$(prefix)/sbin/
	install -m 644 conf/nginx.conf conf/redis.conf conf/settle.ini conf/wallet.sql \
	    $(DESTDIR)$(DOC_DIR)/
	for unit in coupon-settle.service coupon-jwks.service \
	    coupon-jwks.timer; do \
	    sed 's|/usr/local/sbin|$(prefix)/sbin|' conf/$$unit \
	        > $(DESTDIR)$(UNIT_DIR)/$$unit; \
	done

clean:
	rm -rf build

help:
	@echo 'make             build/$(NAME).so and build/coupon-settle'
	@echo 'make module      only the nginx module'
	@echo 'make settle      only the daemon'
	@echo 'make deps        install what building and testing need (apt)'
	@echo 'make demo        install, build, and show a callback on its way'
	@echo 'make run         the servers of the demo, until Ctrl-C'
	@echo 'make test        install, build, run all tests'
	@echo 'make test-sanitize  most of them under ASan and UBSan, nginx included'
	@echo 'make lint        compilers, analysers, layers, style'
	@echo 'make fuzz        each parser for FUZZ_SECONDS (clang)'
	@echo 'make soak        storms of SOAK_SECONDS, memory, fuzz, and whether' \
	                        'the tests can fail'
	@echo 'make bench       how fast it is, beside what else there is:' \
	                        'bench-http, bench-apple, bench-settle'
	@echo 'make install     module, daemon, samples (DESTDIR, prefix,' \
	                        'MODULES_DIR, UNIT_DIR)'
	@echo 'make clean       remove build/'
