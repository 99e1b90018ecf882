/* trace/status.h -- Status codes of the trace readers, and the limits behind TRACE_ERROR_LIMIT. */
#ifndef IFOREST_STATUS_H
#define IFOREST_STATUS_H

enum trace_status {
	TRACE_ROW = 1,		    /* an event was returned, or there is more to read */
	TRACE_OK = 0,		    /* done */
	TRACE_ERROR_MEMORY = -1,    /* an allocation failed */
	TRACE_ERROR_OPEN = -2,	    /* the file cannot be opened */
	TRACE_ERROR_READ = -3,	    /* the operating system failed to read the file */
	TRACE_ERROR_GZIP = -4,	    /* the gzip stream is corrupt or cut short */
	TRACE_ERROR_FORMAT = -5,    /* the bytes violate their format */
	TRACE_ERROR_NOT_TRACE = -6, /* the file is of no known format, or has no trace */
	TRACE_ERROR_RANGE = -7,	    /* a time or duration does not fit into 64-bit nanoseconds */
	TRACE_ERROR_LIMIT = -8,	    /* nested too deep, or more than may be kept in memory */
	TRACE_ERROR_TEMPORARY = -9  /* a temporary file cannot be made, written or read */
};

enum {
	TRACE_MAX_NESTING = 1000,		 /* open objects and arrays */
	TRACE_MAX_KEPT_BYTES = 256 * 1024 * 1024 /* of one event; of all tracks; of open spans, or waiting points, of a track */
};

#endif
