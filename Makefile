# iforest: demo and test are all a newcomer needs; the rest is for developers.
#
#   make demo        record a trace, index it in SQLite, show the main job      (TRACE=file takes any Chrome trace)
#   make test        everything that must hold: unit, SQLite, sanitizers, layers
#   make all         core, trace and SQLite libraries, without installing anything
#   make bench       figures beside what they are compared with
#   make layers      proves which folder may know which
#   make install     copies the SQLite modules to $(PREFIX)/lib/iforest
#   make clean

BUILD   ?= build
PREFIX  ?= /usr/local
CC      ?= cc
SQLITE3 ?= sqlite3
CFLAGS  ?= -O2 -g
WARN     = -Wall -Wextra -Werror -Wshadow -Wstrict-prototypes -Wmissing-prototypes
BASE     = -std=c11 -fPIC -fvisibility=hidden $(WARN) -MMD -MP -I. -D_POSIX_C_SOURCE=200809L
SANITIZE = -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer

CORE_SRC   := $(wildcard core/*.c)
TRACE_SRC  := $(wildcard trace/*.c)
READER_SRC := $(wildcard sqlite_ext/chrometrace*.c)
SQLITE_SRC := $(filter-out $(READER_SRC),$(wildcard sqlite_ext/*.c))
SUPPORT    := $(wildcard tests/support/*.c)
UNIT       := $(patsubst %.c,%,$(notdir $(wildcard tests/unit/test_*.c)))
CLAIMS     := $(patsubst %.c,%,$(notdir $(wildcard tests/claims/*.c)))
SQLITE_C   := $(patsubst %.c,%,$(notdir $(wildcard tests/sqlite/test_*.c)))

objects = $(patsubst %.c,$(BUILD)/obj/%.o,$(1))

CORE_LIB  = $(BUILD)/libiforest.a
TRACE_LIB = $(BUILD)/libtrace.a

.PHONY: all core trace sqlite demo test check bench asan layers install clean tools
.SECONDARY:

all: core trace sqlite
core: $(CORE_LIB)
trace: $(TRACE_LIB)
sqlite: $(BUILD)/iforest.so $(BUILD)/chrometrace.so

demo: tools
	@$(MAKE) --no-print-directory all
	@BUILD=$(BUILD) TRACE='$(TRACE)' sh tests/../sql/sqlite/demo.sh

test: tools
	@$(MAKE) --no-print-directory check

tools:
	@sh tests/support/install_tools.sh

$(BUILD)/obj/%.o: %.c
	@mkdir -p $(dir $@)
	@echo "  cc $<"
	@$(CC) $(BASE) $(CFLAGS) $(EXTRA) -c -o $@ $<

$(CORE_LIB): $(call objects,$(CORE_SRC))
$(TRACE_LIB): $(call objects,$(TRACE_SRC))
$(CORE_LIB) $(TRACE_LIB):
	@rm -f $@
	ar rcs $@ $^

$(BUILD)/iforest.so: $(call objects,$(SQLITE_SRC)) $(CORE_LIB)
	$(CC) -shared $(CFLAGS) $(EXTRA) -o $@ $^ -lm

$(BUILD)/chrometrace.so: $(call objects,$(READER_SRC)) $(TRACE_LIB)
	$(CC) -shared $(CFLAGS) $(EXTRA) -o $@ $^ -lyajl -lz

$(BUILD)/tests/%: $(BUILD)/obj/tests/unit/%.o $(call objects,$(SUPPORT)) $(CORE_LIB) $(TRACE_LIB)
	@mkdir -p $(dir $@)
	$(CC) $(CFLAGS) $(EXTRA) -o $@ $^ -lcmocka -lyajl -lz -lm

clean:
	rm -rf $(BUILD)

-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)
