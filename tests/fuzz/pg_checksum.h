/* pg_checksum.h -- the checksum that PostgreSQL puts on a page, by the header of the server's that is made for that. */
#ifndef TESTS_FUZZ_PG_CHECKSUM_H
#define TESTS_FUZZ_PG_CHECKSUM_H

#include <stdint.h>

/* Of a page of a data file, as it stands in its bytes 8 and 9. */
uint16_t pg_checksum(const uint8_t *page, uint32_t block);

#endif
