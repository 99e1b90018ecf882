#include "core/base/status.h"

const char *iforest_status_text(enum iforest_status status)
{
	switch (status) {
	case IFOREST_OK:
		return "no error";
	case IFOREST_NO_MEMORY:
		return "out of memory";
	case IFOREST_IO:
		return "the index could not be read or written";
	case IFOREST_CORRUPT:
		return "the index is corrupt";
	case IFOREST_FORMAT:
		return "the index has a format this version does not know";
	case IFOREST_UNORDERED:
		return "entries are out of order";
	case IFOREST_NOT_FOUND:
		return "no such entry";
	case IFOREST_ARGUMENT:
		return "invalid argument";
	case IFOREST_RANGE:
		return "integer overflow";
	case IFOREST_TOO_LARGE:
		return "a limit of the index format is exceeded";
	case IFOREST_STATUS_END:
		break;
	}
	return "unknown status";
}
