#include "postgres_fe.h"

#include "storage/checksum_impl.h"

#include "tests/fuzz/pg_checksum.h"

/* pg_checksum_page() writes to the page meanwhile. */
uint16_t pg_checksum(const uint8_t *page, uint32_t block)
{
	union {
		char bytes[BLCKSZ];
		uint64_t aligned;
	} copy;

	memcpy(copy.bytes, page, BLCKSZ);
	return pg_checksum_page(copy.bytes, block);
}
