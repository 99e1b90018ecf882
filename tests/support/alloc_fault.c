#include "tests/support/alloc_fault.h"

#include <stdlib.h>
#include <string.h>

enum { PREFIX = 16, POISON = 0xA5 }; /* the prefix has a block's size, and preserves the alignment for __int128 */

static void fault_release(void *context, void *memory)
{
	struct alloc_fault *fault = context;
	size_t n_bytes;

	if (!memory)
		return;
	memcpy(&n_bytes, (char *)memory - PREFIX, sizeof n_bytes);
	fault->n_live--;
	fault->n_live_bytes -= n_bytes;
	free((char *)memory - PREFIX);
}

static void *fault_reallocate(void *context, void *memory, size_t n_bytes)
{
	struct alloc_fault *fault = context;
	unsigned long call = ++fault->n_calls;
	size_t n_old_bytes = 0;
	char *block;

	if (fault->fail_at && (call == fault->fail_at || (call > fault->fail_at && fault->fail_after)))
		return NULL;
	if (fault->n_most_bytes && n_bytes > fault->n_most_bytes)
		return NULL;
	block = malloc(PREFIX + n_bytes);
	if (!block)
		return NULL;
	memcpy(block, &n_bytes, sizeof n_bytes);
	memset(block + PREFIX, POISON, n_bytes);
	if (memory) {
		memcpy(&n_old_bytes, (char *)memory - PREFIX, sizeof n_old_bytes);
		memcpy(block + PREFIX, memory, n_old_bytes < n_bytes ? n_old_bytes : n_bytes);
		fault_release(context, memory);
	}
	fault->n_live++;
	fault->n_live_bytes += n_bytes;
	if (fault->n_live_bytes > fault->n_peak_bytes)
		fault->n_peak_bytes = fault->n_live_bytes;
	return block + PREFIX;
}

void alloc_fault_init(struct alloc_fault *fault)
{
	*fault = (struct alloc_fault){
		.alloc = { .reallocate = fault_reallocate, .release = fault_release, .context = fault }
	};
}
