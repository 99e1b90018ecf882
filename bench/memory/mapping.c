/* bench/memory/mapping.c -- Memory in pages of a chosen kind. */
#include "memory.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#define HUGE_BYTES (2 * MIB)

const char *const page_names[N_PAGES] = { "4 KiB", "huge" };

struct memory memory_map(size_t n_bytes, enum pages pages)
{
	struct memory memory = { .n_bytes = n_bytes, .pages = pages, .n_mapped = n_bytes + HUGE_BYTES };

	memory.mapped = mmap(NULL, memory.n_mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory.mapped == MAP_FAILED)
		fail("mmap");
	memory.bytes = (uint8_t *)(((uintptr_t)memory.mapped + HUGE_BYTES - 1) & ~(uintptr_t)(HUGE_BYTES - 1));
	/* A kernel without huge pages refuses both; then all are small, and the tables say so. */
	(void)madvise(memory.bytes, n_bytes, pages == HUGE_PAGES ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
	return memory;
}

void memory_unmap(struct memory *memory)
{
	check(munmap(memory->mapped, memory->n_mapped) == 0, "munmap");
	*memory = (struct memory){ 0 };
}

void memory_drop(const struct memory *memory)
{
	check(madvise(memory->bytes, memory->n_bytes, MADV_DONTNEED) == 0, "MADV_DONTNEED");
}

size_t memory_huge_bytes(const struct memory *memory)
{
	uintptr_t start = (uintptr_t)memory->bytes, end = start + memory->n_bytes;
	FILE *file = fopen("/proc/self/smaps", "r");
	size_t n_kib, n_bytes = 0;
	bool is_ours = false;
	char text[512];

	if (!file)
		return 0;
	while (fgets(text, sizeof text, file)) {
		unsigned long long from, to;

		if (sscanf(text, "%llx-%llx ", &from, &to) == 2)
			is_ours = from < end && to > start;
		else if (is_ours && sscanf(text, "AnonHugePages: %zu kB", &n_kib) == 1)
			n_bytes += n_kib * KIB;
	}
	fclose(file);
	return n_bytes;
}

static size_t number_in(const char *path, const char *format, size_t otherwise)
{
	FILE *file = fopen(path, "r");
	char text[128];
	size_t n = otherwise;

	if (!file)
		return n;
	while (fgets(text, sizeof text, file) && sscanf(text, format, &n) != 1)
		;
	fclose(file);
	return n;
}

size_t memory_available(void)
{
	size_t n_pages = (size_t)sysconf(_SC_PHYS_PAGES), n_page_bytes = (size_t)sysconf(_SC_PAGESIZE);
	size_t n_bytes = number_in("/proc/meminfo", "MemAvailable: %zu kB", n_pages / 2 * (n_page_bytes / KIB)) * KIB;
	size_t limit = number_in("/sys/fs/cgroup/memory.max", "%zu", n_bytes);
	struct rlimit address_space;

	if (getrlimit(RLIMIT_AS, &address_space) == 0 && address_space.rlim_cur < limit)
		limit = (size_t)address_space.rlim_cur;
	return limit < n_bytes ? limit : n_bytes;
}
