# iforest: demo and test are all a newcomer needs; the rest is for developers.
#
#   make demo      records a trace, indexes it in SQLite, shows the main job   (TRACE=file takes a trace of any format)
#   make demo-pg   the same trace in a PostgreSQL server of its own, with ordinary queries
#   make test      all that must hold: unit, claims, SQLite, PostgreSQL, the same under sanitizers, fuzzers for a moment, layers
#   make all       core, trace and SQLite libraries, as far as there are headers for them; installs nothing
#   make bench     figures beside what they are compared with: SIZE=short (default; minutes), full (hours) or billion; bench/README.md
#   make fuzz      the fuzzers for SECONDS (default 600) each; needs clang
#   make fuzz-pg   damaged pages in PostgreSQL for SECONDS, with its checksums and without (CHECKSUMS=on, off: one of these)
#   make format    puts the sources into the form of .clang-format (clang-format 14)
#   make layers    proves which folder may know which
#   make pg        the PostgreSQL extension, for the server that PG_CONFIG names
#   make trace2pg  the loader of traces for PostgreSQL (docs/trace2pg.md)
#   make trace2sqlite  the loader of traces for SQLite (docs/trace2sqlite.md)
#   make matrix    compiles it for PostgreSQL 17 and 18 and tests it there, each in a Debian of its own (tests/pg/matrix.sh; as root)
#   make check-assert  builds PostgreSQL 15 with assertions from Debian's source, and tests it there: in /var/tmp/iforest-assert (tests/README.md)
#   make check-postgres-suite  PostgreSQL's own tests beside the extension: POSTGRES_SOURCE=folder of its sources (tests/README.md)
#   make check-perfetto  Perfetto's own tests of its importers, over ours: PERFETTO=folder of its sources (tests/README.md)
#   make matrix-sqlite  runs the SQLite tests with SQLite 3.38 and the newest (tests/sqlite/matrix.sh; from npm)
#   make dashboards  draws the pictures of docs/dashboards.md again, in a PostgreSQL server of its own
#   make amalgamation  the SQLite extension, and the forest, as one file each: $(BUILD)/amalgamation (docs/install.md)
#   make site      the documents as a site with a search, a tour and a timeline in the page: $(BUILD)/site/html. By mkdocs, without a network
#   make dist-pgxn  the zip that PGXN takes, of what git knows: $(BUILD)/dist (docs/install.md)
#   make wasm      SQLite with the extension as WebAssembly, and the timeline as one page: $(BUILD)/dist/wasm (docs/install.md). As root
#   make dist      all that is published, with checksums and notes: sources as one file, zip, npm packages, Python wheels, WebAssembly,
#                  Debian packages for the release that runs; $(BUILD)/dist. As root (CONTRIBUTING.md: how a version is released)
#   make check-dist  installs each of these in a clean place, and asks it a question; PARTS="debian wasm": these alone (tests/README.md). As root
#   make install   copies the SQLite modules to $(PREFIX)/lib/iforest
#   make install-core  copies the forest as a C library: libiforest.a, headers, iforest.pc (docs/forest.md)
#   make install-pg  copies the extension to where PostgreSQL looks for it
#   make uninstall, uninstall-core, uninstall-pg  remove what these have put there, with the same variables
#   make clean

BUILD   ?= build
PREFIX  ?= /usr/local
SECONDS ?= 600
PG_CONFIG ?= pg_config
CFLAGS  ?= -O2 -g
WARN     = -Wall -Wextra -Werror -Wshadow -Wstrict-prototypes -Wmissing-prototypes
BASE     = -std=c11 -ffp-contract=off -fPIC -fvisibility=hidden $(WARN) -MMD -MP -I. -D_POSIX_C_SOURCE=200809L
SANITIZE = -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer
# the one place that says the version
VERSION := $(shell sed -n "s/^default_version = '\(.*\)'/\1/p" sql/pg/iforest.control)
JOBS    := $(shell nproc 2>/dev/null || echo 2)

objects = $(patsubst %.c,$(BUILD)/obj/%.o,$(1))
programs = $(patsubst %.c,$(BUILD)/%,$(1))

CORE       := $(call objects,$(wildcard core/*/*.c))
READERS    := $(call objects,$(wildcard trace/*.c))
READER     := $(call objects,$(wildcard sqlite_ext/trace/*.c))
EXTENSION  := $(filter-out $(READER),$(call objects,$(wildcard sqlite_ext/*/*.c)))
SUPPORT    := $(call objects,$(wildcard tests/support/*.c))
TRACES     := $(call objects,$(filter-out $(wildcard tests/trace/test_*.c),$(wildcard tests/trace/*.c)))
HARNESS    := $(call objects,$(filter-out $(wildcard tests/sqlite/test_*.c),$(wildcard tests/sqlite/*.c)))
VECTORS    := $(call objects,$(wildcard tests/support/vectors*.c))
UNIT       := $(call programs,$(wildcard tests/core/*/test_*.c tests/trace/test_*.c) tests/security/test_terminal.c)
CLAIMS     := $(call programs,$(wildcard tests/claims/*.c))
SQLITE     := $(call programs,$(wildcard tests/sqlite/test_*.c tests/security/test_sqlite*.c))
HAS_PG     := $(wildcard $(shell $(PG_CONFIG) --includedir-server 2>/dev/null)/postgres.h)
PG         := $(if $(HAS_PG),$(call programs,$(wildcard tests/pg/test_*.c) tests/fuzz/pg_pages.c))
PG_HARNESS := $(call objects,$(filter-out $(wildcard tests/pg/test_*.c),$(wildcard tests/pg/*.c)))
REPLAY     := $(patsubst tests/fuzz/%.c,$(BUILD)/tests/fuzz/replay_%,$(wildcard tests/fuzz/fuzz_*.c))
FUZZ       := $(patsubst tests/fuzz/%.c,$(BUILD)/tests/fuzz/%,$(wildcard tests/fuzz/fuzz_*.c))
LIBRARIES   = $(BUILD)/libiforest.a $(BUILD)/libtrace.a
# Debian 13 has nanopb's headers in a folder of their own
NANOPB      = -idirafter /usr/include/nanopb
# what libtrace.a needs; what is linked statically is not for others to see
TRACE_LIBS  = -Wl,--exclude-libs,libprotobuf-nanopb.a -lprotobuf-nanopb -lz -lm
MODULES     = $(BUILD)/iforest.so $(BUILD)/chrometrace.so

# what `make all` leaves out: the reader of traces, where a header that it needs is missing
without_header = $(if $(shell printf '\043include <$(1)>\n' | $(CC) $(EXTRA) $(NANOPB) -E - >/dev/null 2>&1 && echo it is there),,$(2))
MISSING    := $(strip $(call without_header,jsmn.h,libjsmn-dev) $(call without_header,zlib.h,zlib1g-dev) \
	$(call without_header,pb_decode.h,libnanopb-dev))
LEFT_OUT    = $(if $(MISSING),$(BUILD)/libtrace.a $(BUILD)/chrometrace.so)

# those that take longest begin first, so that no core is idle at the end
long_first = $(filter $(LONG),$(1)) $(filter-out $(LONG),$(1))
LONG := %/sqlite/test_faults %/sqlite/test_damage %/replay_fuzz_page %/damaged_bytes_are_reported %/callbacks_may_jump \
	%/sqlite/test_random_changes %/sqlite/test_window %/pg/test_bi %/pg/test_queries %/pg/test_random %/pg/test_worker \
	%/pg/test_concurrent %/pg/regress.sh %/dist/pgxs.sh %/examples/timeline.sh

.PHONY: all demo demo-pg dashboards test check check-plain check-programs check-pg check-assert check-bi-large check-clients check-fleet check-pauses check-sanitized check-clang check-postgres-suite check-perfetto matrix matrix-sqlite format check-format layers modules bench fuzz fuzz-pg pg install install-core install-pg uninstall uninstall-core uninstall-pg tools clean always
.SECONDARY:

all: $(filter-out $(LEFT_OUT),$(LIBRARIES) $(MODULES))
	@[ -z '$(MISSING)' ] || echo "Left out: $(notdir $(LEFT_OUT)). The reader of traces needs headers of $(MISSING) (names as in Debian)"

demo: tools
	@$(MAKE) --no-print-directory -j$(JOBS) all
	@BUILD='$(BUILD)' sh sql/sqlite/demo.sh

demo-pg: tools
	@PG_CONFIG='$(PG_CONFIG)' sh sql/pg/demo.sh check
	@$(MAKE) --no-print-directory -s -j$(JOBS) all pg trace2pg
	@BUILD='$(BUILD)' PG_CONFIG='$(PG_CONFIG)' sh sql/pg/demo.sh

# One pool of jobs for compiling and running all suites; one more than cores, as servers are often waited for.
test:
	@sh tests/support/install_tools.sh browser
	@rm -f $(BUILD)/results
	@$(MAKE) --no-print-directory -j$$(($(JOBS) + 1)) check
	@BUILD=$(BUILD) tests/run.sh --sum

check: check-sanitized check-pg check-pauses check-plain check-trace2pg check-clang check-format layers

tools:
	@sh tests/support/install_tools.sh

# ---- building ----

$(BUILD)/obj/%.o: %.c
	@mkdir -p $(@D)
	@echo "  cc  $<"
	@$(CC) $(BASE) $(CFLAGS) $(EXTRA) -c -o $@ $<

$(BUILD)/obj/trace/protobuf.o $(BUILD)/obj/tests/trace/test_protobuf.o: BASE += $(NANOPB)
# tests are compiled more often than they run
$(BUILD)/obj/tests/%.o: EXTRA += -O1
# what Chrome JSON goes through: a fifteenth less time for files of begins and ends
$(call objects,$(patsubst %,trace/%.c,assembly chrome_json flows json json_frames json_scan pairing record sorter tracks)): EXTRA += -O3

SAYS_VERSION = -DIFOREST_VERSION='"$(VERSION)"'
SAYING_VERSION := $(call objects,sqlite_ext/vtab/extension.c tools/options.c tools/trace2sqlite.c)
$(SAYING_VERSION): BASE += $(SAYS_VERSION)
$(SAYING_VERSION): sql/pg/iforest.control

$(BUILD)/libiforest.a: $(CORE)
$(BUILD)/libtrace.a: $(READERS)
$(LIBRARIES):
	@rm -f $@
	@ar rcs $@ $^

$(BUILD)/iforest.so: $(EXTENSION) $(BUILD)/libiforest.a
	@$(CC) -shared $(CFLAGS) $(EXTRA) -pthread -o $@ $^ -lm

$(BUILD)/chrometrace.so: $(READER) $(BUILD)/libtrace.a
	@$(CC) -shared $(CFLAGS) $(EXTRA) -o $@ $^ $(TRACE_LIBS)

# The extension is built as packagers build it (pg_ext/Makefile), with our warnings, to which PostgreSQL's headers are not held. What was
# compiled for one server is not for another.
PGXS = $(MAKE) --no-print-directory -C '$(BUILD)/pg' -f '$(CURDIR)/pg_ext/Makefile' PG_CONFIG='$(PG_CONFIG)' with_llvm=no CC='$(CC)' \
	CPPFLAGS='-isystem $(shell $(PG_CONFIG) --includedir-server)' COPT='$(CFLAGS) $(EXTRA) $(WARN)'
PG_SERVER = $(shell $(PG_CONFIG) --version) $(shell $(PG_CONFIG) --includedir-server)
$(BUILD)/pg/server: always
	@$(if $(HAS_PG),,echo "There is no postgres.h where $(PG_CONFIG) says: please install the server's headers" \
		"(Debian: postgresql-server-dev-all), or name another PG_CONFIG" >&2; exit 1)
	@echo '$(PG_SERVER)' | cmp -s - $@ || { rm -rf $(@D) && mkdir -p $(@D) && echo '$(PG_SERVER)' >$@; }

$(BUILD)/pg/iforest.so: $(BUILD)/pg/server always
	@+$(PGXS) -s

$(BUILD)/tests/core/%: $(BUILD)/obj/tests/core/%.o $(SUPPORT) $(BUILD)/libiforest.a
	@mkdir -p $(@D)
	@$(CC) $(CFLAGS) $(EXTRA) -pthread -o $@ $^ -lcmocka -lm

$(BUILD)/tests/trace/%: $(BUILD)/obj/tests/trace/%.o $(TRACES) $(SUPPORT) $(LIBRARIES)
	@mkdir -p $(@D)
	@$(CC) $(CFLAGS) $(EXTRA) -pthread -o $@ $^ $(LINK) -lcmocka $(TRACE_LIBS)

# its allocations fail one after the other
$(BUILD)/tests/trace/test_otlp_limits: LINK = $(foreach name,malloc calloc realloc strdup free,-Wl,--wrap=$(name))

$(BUILD)/tests/claims/%: $(BUILD)/obj/tests/claims/%.o $(SUPPORT) $(BUILD)/libiforest.a
	@mkdir -p $(@D)
	@$(CC) $(CFLAGS) $(EXTRA) -pthread -o $@ $^ -lcmocka -lm

$(BUILD)/tests/sqlite/%: $(BUILD)/obj/tests/sqlite/%.o $(HARNESS) $(call objects,tests/support/examples.c) $(VECTORS) $(BUILD)/libiforest.a
	@mkdir -p $(@D)
	@$(CC) $(CFLAGS) $(EXTRA) -o $@ $^ -lsqlite3 -lcmocka -lm

$(BUILD)/tests/security/test_sqlite%: $(BUILD)/obj/tests/security/test_sqlite%.o $(call objects,tests/security/stranger.c) $(HARNESS) $(call objects,tests/support/examples.c) $(VECTORS) $(BUILD)/libiforest.a
	@mkdir -p $(@D)
	@$(CC) $(CFLAGS) $(EXTRA) -o $@ $^ -lsqlite3 -lcmocka -lm

$(BUILD)/tests/security/test_terminal: $(call objects,tests/security/test_terminal.c tools/terminal.c trace/bytes.c trace/utf8.c)
	@mkdir -p $(@D)
	@$(CC) $(CFLAGS) $(EXTRA) -o $@ $^ -lcmocka

$(BUILD)/obj/tests/pg/%.o: EXTRA += -I$(shell $(PG_CONFIG) --includedir)
# the structs of pg_ext/storage, for their offsets
$(BUILD)/obj/tests/pg/storage_layout.o: EXTRA += -std=gnu11 -D_GNU_SOURCE -isystem $(shell $(PG_CONFIG) --includedir-server)

$(BUILD)/tests/pg/%: $(BUILD)/obj/tests/pg/%.o $(PG_HARNESS) $(call objects,tests/support/random.c tests/support/examples.c tests/support/format_tables.c) $(VECTORS)
	@mkdir -p $(@D)
	@$(CC) $(CFLAGS) $(EXTRA) -o $@ $^ -lcmocka -lpq -lm

# damaged pages of the PostgreSQL extension; the server's headers are for the checksums that it puts on pages
$(BUILD)/obj/tests/fuzz/pg_%.o: EXTRA += -I$(shell $(PG_CONFIG) --includedir)
$(BUILD)/obj/tests/fuzz/pg_checksum.o: EXTRA += -isystem $(shell $(PG_CONFIG) --includedir-server) -fno-strict-aliasing -fwrapv

$(BUILD)/tests/fuzz/pg_pages: $(call objects,$(wildcard tests/fuzz/pg_*.c) tests/pg/client.c tests/pg/server.c tests/support/random.c)
	@mkdir -p $(@D)
	@$(CC) $(CFLAGS) $(EXTRA) -o $@ $^ -lcmocka -lpq -lm

# a fuzz target with a driver that replays mutations of a fixed seed; and the same with libFuzzer
$(BUILD)/tests/fuzz/replay_%: $(BUILD)/obj/tests/fuzz/%.o $(BUILD)/obj/tests/fuzz/replay.o $(SUPPORT) $(BUILD)/libiforest.a
	@mkdir -p $(@D)
	@$(CC) $(CFLAGS) $(EXTRA) -pthread -o $@ $(filter %.o,$^) $(filter %.a,$^) $(LINK) -lcmocka -lm

$(BUILD)/tests/fuzz/fuzz_%: tests/fuzz/fuzz_%.c $(wildcard core/*/*.c) $(wildcard tests/support/*.c)
	@mkdir -p $(@D)
	clang -std=c11 -I. $(NANOPB) -D_POSIX_C_SOURCE=200809L -O1 -g -fsanitize=fuzzer,address,undefined $(SAYS_VERSION) -pthread -o $@ $^ $(LINK) -lcmocka -lm

# the one over SQLite has the extension within
$(BUILD)/tests/fuzz/replay_fuzz_shadow: $(EXTENSION)
$(BUILD)/tests/fuzz/fuzz_shadow: $(filter-out $(wildcard sqlite_ext/trace/*.c),$(wildcard sqlite_ext/*/*.c))
$(BUILD)/tests/fuzz/replay_fuzz_shadow $(BUILD)/tests/fuzz/fuzz_shadow: LINK = -lsqlite3

# those over traces read them with libtrace.a
TRACE_REPLAY := $(addprefix $(BUILD)/tests/fuzz/replay_fuzz_,otlp perfetto chrome_json trace)
TRACE_FUZZ   := $(addprefix $(BUILD)/tests/fuzz/fuzz_,otlp perfetto chrome_json trace)
$(TRACE_REPLAY): $(TRACES) $(BUILD)/libtrace.a
$(TRACE_FUZZ): $(wildcard trace/*.c) $(filter-out $(wildcard tests/trace/test_*.c),$(wildcard tests/trace/*.c))
$(TRACE_REPLAY) $(TRACE_FUZZ): LINK = $(TRACE_LIBS)

# ---- testing ----

# run/PROGRAM builds a test program and runs it, as one of SUITE; what came of it is added to RESULTS
SUITE    ?= plain
RESULTS  ?= $(BUILD)
RUNNER    =
RUN       = BUILD=$(RESULTS) IFOREST_BUILD=$(BUILD) PG_CONFIG=$(PG_CONFIG) RUNNER='$(RUNNER)' tests/run.sh
runs      = $(addprefix run/,$(patsubst $(BUILD)/%,%,$(1)))
PROGRAMS := $(call runs,$(call long_first,$(SQLITE) $(REPLAY) $(UNIT) $(CLAIMS)))
SCRIPTS  := $(call runs,tests/dist/amalgamation.sh tests/dist/pgxs.sh tests/dist/release.sh tests/sqlite/tour.sh tests/vectors/check.sh tests/check_links.sh tests/docs/site.sh tests/docs/live.sh tests/examples/install_core.sh tests/examples/timeline.sh tests/security/build.sh tests/security/scripts.sh tests/security/server.sh)
.PHONY: $(PROGRAMS) $(SCRIPTS)

run/tests/examples/install_core.sh run/tests/dist/pgxs.sh: | $(if $(HAS_PG),pg)

$(PROGRAMS): run/%: $(BUILD)/% | all
	@$(RUN) $(SUITE) $<

$(SCRIPTS): run/%: % | all
	@$(RUN) $(SUITE) $<

# what counts pages, or simulates, is the same in both builds, and has nothing for the sanitizer that other programs have not
PLAIN_ALONE := $(call programs,tests/core/run/test_merge_policy $(addprefix tests/claims/,counters_read_log_pages extremes_open_few_pages \
	overlap_reads_log_pages peaks_read_each_page_once search_reads_log_pages window_reads_log_pages))
check-programs: $(filter-out $(call runs,$(PLAIN_ALONE)),$(PROGRAMS))
# fuzzers' inputs, faults and damage are the same in both builds, and it is the sanitized one that tells
SANITIZED_ALONE := $(REPLAY) $(call programs,tests/sqlite/test_faults tests/sqlite/test_damage $(addprefix tests/claims/,crash_leaves_valid_index \
	every_malloc_fails_cleanly every_read_fails_cleanly))
check-plain: $(filter-out $(call runs,$(SANITIZED_ALONE)),$(call long_first,$(PROGRAMS) $(SCRIPTS)))

# each program and driver in a cluster of its own (tests/pg/cluster.sh); the TAP tests make theirs themselves
PG_PROGRAMS := $(call runs,$(call long_first,$(PG)))
PG_DRIVERS  := $(call runs,$(addprefix tests/pg/,regress.sh isolation.sh tour.sh isolation_pauses.sh) tests/examples/dashboards.sh)
PG_TAP      := $(call runs,$(wildcard tests/pg/tap/*.pl))
PAUSED      := $(call runs,tests/pg/isolation_pauses.sh tests/pg/tap/replica_answers.pl)
.PHONY: $(PG_PROGRAMS) $(PG_DRIVERS) $(PG_TAP)

$(PG_PROGRAMS) $(PG_DRIVERS): RUNNER = env BUILD=$(BUILD) tests/pg/cluster.sh run
$(PG_TAP): RUNNER = env BUILD=$(BUILD) tests/pg/tap.sh
$(PG_PROGRAMS) $(PG_DRIVERS) $(PG_TAP): SUITE = pg

$(PG_PROGRAMS): run/%: $(BUILD)/% | $(if $(HAS_PG),pg)
	@$(RUN) $(SUITE) $<

$(PG_DRIVERS) $(PG_TAP): run/%: % | $(if $(HAS_PG),pg)
	@$(RUN) $(SUITE) $<

run/tests/examples/dashboards.sh: | all

check-pg: $(filter-out $(PAUSED),$(call long_first,$(PG_PROGRAMS) $(PG_DRIVERS) $(PG_TAP)))

# the queries of tests/pg/bi over a million rows, at default costs; prints times
check-bi-large: pg $(BUILD)/tests/pg/test_bi
	@tests/pg/cluster.sh run $(BUILD)/tests/pg/test_bi --large

# a coordinator and workers of Citus, where the server of PG_CONFIG has it (tests/fleet/build_citus.sh); IFOREST_ROWS=3000000 prints times
check-fleet: pg
	@for test in tests/pg/tap/fleet.pl $(wildcard tests/fleet/*.pl); do BUILD=$(BUILD) PG_CONFIG='$(PG_CONFIG)' tests/pg/tap.sh $$test || exit 1; done

# client programs, which are fetched from Debian and npm where they are not installed, with the index and without
check-clients: pg
	@tests/pg/cluster.sh run tests/clients/run.sh

# what stands in docs/dashboards.md
dashboards: all pg
	@BUILD=$(BUILD) tests/pg/cluster.sh run examples/dashboards/draw.py examples/dashboards/pictures

# with a library whose readers can be stopped between their steps (pg_ext/base/test_points.h); they wait more than they work. Files without
# such points are not compiled again.
check-pauses: $(if $(HAS_PG),pg)
	@$(if $(HAS_PG),cmp -s $(BUILD)/pg/server $(BUILD)/pauses/pg/server || rm -rf $(BUILD)/pauses/pg; mkdir -p $(BUILD)/pauses/pg && cd $(BUILD)/pg && \
		cp -pu --parents server $$(grep -rL --include='*.d' /test_points.h . | sed 'p; s/d$$/o/') '$(abspath $(BUILD)/pauses/pg)')
	@$(MAKE) --no-print-directory -s BUILD=$(BUILD)/pauses EXTRA='-DIFOREST_PAUSES -O0' RESULTS=$(BUILD) SUITE=pauses $(PAUSED)

# what `make all` compiles, for its warnings alone
CLANG_SOURCES = $(filter-out $(if $(MISSING),trace/% sqlite_ext/trace/%),$(wildcard core/*/*.c trace/*.c sqlite_ext/*/*.c))
check-clang:
	@if command -v clang >/dev/null; then echo "compiling with clang"; \
		clang $(filter-out -MMD -MP,$(BASE)) $(NANOPB) $(SAYS_VERSION) -fsyntax-only $(CLANG_SOURCES); \
	else echo "compiling with clang: skipped, it is not there"; fi

# the loader's tests need the server's library as it is elsewhere
check-sanitized: $(if $(HAS_PG),pg)
	@ASAN_OPTIONS=quarantine_size_mb=$(if $(IFOREST_LONG),32,8) $(MAKE) --no-print-directory -s BUILD=$(BUILD)/sanitized CFLAGS='-O1 -g' \
		EXTRA='$(SANITIZE)' RESULTS=$(BUILD) SUITE=asan check-programs check-trace2pg

check-postgres-suite: pg
	@BUILD=$(BUILD) CC='$(CC)' PG_CONFIG='$(PG_CONFIG)' tests/pg/postgres_suite.sh '$(POSTGRES_SOURCE)' $(MODES)

check-perfetto: $(if $(PERFETTO),$(BUILD)/trace2sqlite)
	@$(if $(PERFETTO),tests/trace/perfetto_suite.py $< '$(PERFETTO)',echo "check-perfetto: skipped, PERFETTO names no folder of its sources")

check-assert:
	@BUILD=$(BUILD) tests/pg/assert.sh

matrix:
	@tests/pg/matrix.sh

matrix-sqlite: all $(SQLITE) $(BUILD)/trace2sqlite
	@BUILD=$(BUILD) tests/sqlite/matrix.sh

# other versions of clang-format have other opinions
FORMATTED = $(shell git ls-files 'core/*.[ch]' 'sqlite_ext/*.[ch]' 'pg_ext/*.[ch]' 'trace/*.[ch]' 'tools/*.[ch]' 'examples/timeline/*.[ch]' 'dist/*.[ch]' 2>/dev/null)
CLANG_FORMAT := $(firstword $(foreach name,clang-format-14 clang-format,$(if $(findstring version 14.,$(shell $(name) --version 2>/dev/null)),$(name))))

format:
	@$(if $(CLANG_FORMAT),$(CLANG_FORMAT) -i $(FORMATTED),echo "There is no clang-format 14 (Debian 12: clang-format)" >&2; exit 1)

check-format:
	@$(if $(CLANG_FORMAT),$(CLANG_FORMAT) --dry-run -Werror $(FORMATTED) && echo "format: as .clang-format has it",echo "format: skipped, there is no clang-format 14")

layers: all $(if $(HAS_PG),pg)
	@BUILD=$(BUILD) tests/check_layers.sh

fuzz: $(FUZZ)
	@for target in $(FUZZ); do mkdir -p $$target.corpus && \
		$$target -max_total_time=$(SECONDS) -print_final_stats=1 $$target.corpus \
			$$(ls -d tests/fuzz/corpus_$${target##*/fuzz_} 2>/dev/null) || exit 1; done

# what it finds is printed, a line each; another seed each time
fuzz-pg: pg $(BUILD)/tests/fuzz/pg_pages
	@IFOREST_SEED=$${IFOREST_SEED:-$$(date +%s)} IFOREST_SECONDS=$(SECONDS) IFOREST_CHECKSUMS='$(CHECKSUMS)' BUILD=$(BUILD) \
		tests/pg/cluster.sh run $(BUILD)/tests/fuzz/pg_pages

# read again after tools are installed: only then is it known whether there is PostgreSQL
modules: all $(if $(HAS_PG),pg)

# side by side with what one would use instead; the full size measures all else as well
SIZE ?= short
bench: tools
	@$(MAKE) --no-print-directory -j$(JOBS) modules
	@BUILD=$(BUILD) SIZE=$(SIZE) sh bench/side_by_side.sh
	@[ $(SIZE) != full ] || for bench in $(filter-out %/side_by_side.sh,$(wildcard bench/*.sh)); do \
		BUILD=$(BUILD) sh $$bench || exit 1; done

pg: $(BUILD)/pg/iforest.so

install-pg: pg
	@+$(PGXS) install

uninstall-pg: $(BUILD)/pg/server
	@+$(PGXS) uninstall

# files FOLDER,NAMES: names in a folder that may have spaces in its own
files = $(foreach name,$(notdir $(2)),'$(1)/$(name)')

# ---- trace2pg, the loader for PostgreSQL: needs libpq ----

TRACE2PG       := $(if $(shell command -v $(PG_CONFIG)),$(BUILD)/trace2pg)
TRACE2PG_TESTS := $(if $(TRACE2PG),$(call programs,$(wildcard tests/tools/test_*.c)))
TRACE2PG_RUNS  := $(call runs,$(TRACE2PG_TESTS))

.PHONY: trace2pg check-trace2pg $(TRACE2PG_RUNS)

trace2pg: $(BUILD)/trace2pg

$(BUILD)/obj/tools/%.o $(BUILD)/obj/tests/tools/%.o: BASE += $(addprefix -isystem ,$(shell $(PG_CONFIG) --includedir 2>/dev/null))

$(BUILD)/trace2pg: $(call objects,$(filter-out tools/trace2sqlite.c,$(wildcard tools/*.c))) $(BUILD)/libtrace.a
	@$(CC) $(CFLAGS) $(EXTRA) -o $@ $^ -lpq $(TRACE_LIBS)

$(BUILD)/tests/tools/%: $(BUILD)/obj/tests/tools/%.o $(BUILD)/obj/tests/tools/harness.o
	@mkdir -p $(@D)
	@$(CC) $(CFLAGS) $(EXTRA) -o $@ $^ -lcmocka -lpq -lz -lsqlite3

$(TRACE2PG_RUNS): RUNNER = tests/pg/cluster.sh run
run/tests/tools/test_loaded_traces: $(BUILD)/trace2sqlite $(BUILD)/chrometrace.so
$(TRACE2PG_RUNS): run/%: $(BUILD)/% $(TRACE2PG) | $(if $(HAS_PG),$(RESULTS)/pg/iforest.so)
	@$(RUN) $(SUITE) $<

check-trace2pg: $(TRACE2PG_RUNS)
	@$(if $(TRACE2PG),,echo "trace2pg: skipped, there is no $(PG_CONFIG)")

layers: $(TRACE2PG)

# ---- trace2sqlite, the loader for SQLite: has the extension within ----

.PHONY: trace2sqlite
trace2sqlite: $(BUILD)/trace2sqlite
run/tests/sqlite/test_trace2sqlite run/tests/examples/timeline.sh layers: $(BUILD)/trace2sqlite

$(BUILD)/trace2sqlite: $(call objects,$(addprefix tools/,trace2sqlite.c interrupt.c progress.c rows.c terminal.c time_sample.c)) $(EXTENSION) $(BUILD)/libiforest.a $(BUILD)/libtrace.a
	@$(CC) $(CFLAGS) $(EXTRA) -pthread -o $@ $^ -lsqlite3 $(TRACE_LIBS)

install: all
	install -d '$(DESTDIR)$(PREFIX)/lib/iforest'
	install -m 755 $(filter-out $(LEFT_OUT),$(MODULES)) '$(DESTDIR)$(PREFIX)/lib/iforest'

# a folder that has something else in it stays
remove_empty = rmdir $(1) 2>/dev/null || true

uninstall:
	rm -f $(call files,$(DESTDIR)$(PREFIX)/lib/iforest,$(MODULES))
	@$(call remove_empty,'$(DESTDIR)$(PREFIX)/lib/iforest')

# ---- the sources as one file ----

.PHONY: amalgamation wasm dist dist-pgxn check-dist site
# What its live pages are made of is made where emscripten is at hand; nothing is fetched for it.
LIVE_SOURCES = $(wildcard core/*/*.[ch] trace/*.[ch] sqlite_ext/*/*.[ch] tools/*.[ch] dist/wasm/* dist/wasm.sh examples/timeline/* examples/timeline/static/*)
site: $(filter-out $(LEFT_OUT),$(BUILD)/chrometrace.so)
	@sh tests/support/install_tools.sh site
	@reason=$$(dist/wasm.sh --missing); if [ -z "$$reason" ]; then $(MAKE) -s --no-print-directory $(BUILD)/dist/wasm/timeline.html; \
		elif [ ! -e $(BUILD)/dist/wasm/timeline.html ]; then echo "Left out: the tour and the timeline in the page. make wasm is needed for them: "$$reason; fi
	@if [ -e $(BUILD)/dist/wasm/timeline.html ] && [ -e $(BUILD)/chrometrace.so ] && command -v clang >/dev/null; then \
		$(MAKE) -s --no-print-directory $(BUILD)/site_trace/clang.json.gz; fi
	@dist/site.py $(BUILD)/site $(BUILD)/dist/wasm $(BUILD)/site_trace/clang.json.gz
	@echo "The site is $(BUILD)/site/html. Its search needs a server: python3 -m http.server -d $(BUILD)/site/html"

$(BUILD)/dist/wasm/timeline.html: $(LIVE_SOURCES)
	@echo "compiling for WebAssembly, which takes some minutes"
	@dist/wasm.sh $(BUILD)/dist/wasm

$(BUILD)/site_trace/clang.json.gz: | $(BUILD)/chrometrace.so
	@mkdir -p $(@D)
	@printf 'recording a trace for the timeline '
	@BUILD=$(BUILD) sh sql/sqlite/demo_trace.sh $(@D)/files $(@D)/clang.json 100
	@gzip -9nf $(@D)/clang.json && echo

dist-pgxn:
	@dist/pgxn.py $(BUILD)/dist

amalgamation:
	@dist/amalgamate.py sqlite $(BUILD)/amalgamation
	@dist/amalgamate.py forest $(BUILD)/amalgamation

wasm:
	@dist/wasm.sh $(BUILD)/dist/wasm

# Debian packages are for the release that runs, or DEBIAN; others are made by tests/dist/debian.sh
DEBIAN ?= $(shell . /etc/os-release && echo $$VERSION_CODENAME)
PUBLISHED = amalgamation/*.[ch] modules/*/* npm/*.tgz wheels/*.whl wasm/*.tgz wasm/timeline.html debian/*.deb *.zip notes.md
dist: amalgamation dist-pgxn wasm
	@dist/modules.sh $(BUILD)/dist/modules
	@dist/npm.py $(BUILD)/dist/modules $(BUILD)/dist/npm
	@dist/wheel.py $(BUILD)/dist/modules $(BUILD)/dist/wheels
	@dist/debs.sh $(DEBIAN) $(BUILD)/dist/debian >$(BUILD)/dist/debian.log 2>&1 || { tail -n 40 $(BUILD)/dist/debian.log; exit 1; }
	@rm -rf $(BUILD)/dist/amalgamation && cp -r $(BUILD)/amalgamation $(BUILD)/dist
	@dist/release.sh notes $(BUILD)/dist/notes.md
	@cd $(BUILD)/dist && LC_ALL=C ls $(PUBLISHED) | xargs sha256sum >SHA256SUMS && cat SHA256SUMS

check-dist: all trace2sqlite $(if $(HAS_PG),pg)
	@BUILD=$(BUILD) tests/dist/check.sh $(PARTS)

# ---- the forest as a C library (docs/forest.md) ----

HEADERS = $(wildcard core/forest/*.h) $(addprefix core/base/,alloc.h bits.h platform.h status.h) $(addprefix core/model/,aggregate.h kind.h monoid.h)

install-core: $(BUILD)/libiforest.a
	install -d '$(DESTDIR)$(PREFIX)/lib/pkgconfig' '$(DESTDIR)$(PREFIX)/include/iforest'
	install -m 644 $(BUILD)/libiforest.a '$(DESTDIR)$(PREFIX)/lib'
	for header in $(HEADERS); do \
		sed 's|#include "core/[a-z]*/\(.*\)"|#include <iforest/\1>|' $$header >'$(DESTDIR)$(PREFIX)/include/iforest/'$${header##*/} && \
		chmod 644 '$(DESTDIR)$(PREFIX)/include/iforest/'$${header##*/} || exit 1; done
	printf '%s\n' 'prefix=$(PREFIX)' 'libdir=$${prefix}/lib' 'includedir=$${prefix}/include' '' 'Name: iforest' \
		'Description: Range aggregates over arrays: any window in logarithmic time' 'Version: $(VERSION)' \
		'Cflags: -I$${includedir}' 'Libs: -L$${libdir} -liforest -pthread -lm' \
		>'$(DESTDIR)$(PREFIX)/lib/pkgconfig/iforest.pc'
	chmod 644 '$(DESTDIR)$(PREFIX)/lib/pkgconfig/iforest.pc'

uninstall-core:
	rm -f '$(DESTDIR)$(PREFIX)/lib/libiforest.a' '$(DESTDIR)$(PREFIX)/lib/pkgconfig/iforest.pc' \
		$(call files,$(DESTDIR)$(PREFIX)/include/iforest,$(HEADERS))
	@$(call remove_empty,'$(DESTDIR)$(PREFIX)/include/iforest')

clean:
	rm -rf $(BUILD)

-include $(shell find $(BUILD)/obj -name '*.d' 2>/dev/null)
