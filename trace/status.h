/* trace/status.h -- Status codes of the trace readers, and the limits behind TRACE_ERROR_LIMIT. */
#ifndef IFOREST_STATUS_H
#define IFOREST_STATUS_H

enum trace_status {
	TRACE_ROW = 1,		    /* an event was handed out */
	TRACE_OK = 0,		    /* done; a reader that answers this has no more events */
	TRACE_ERROR_MEMORY = -1,    /* an allocation failed */
	TRACE_ERROR_OPEN = -2,	    /* the file cannot be opened */
	TRACE_ERROR_READ = -3,	    /* the operating system failed to read the file */
	TRACE_ERROR_GZIP = -4,	    /* the gzip stream is corrupt or cut short */
	TRACE_ERROR_JSON = -5,	    /* the text is not JSON */
	TRACE_ERROR_NOT_TRACE = -6, /* the text is JSON, but not a Chrome trace */
	TRACE_ERROR_RANGE = -7,	    /* a time or duration does not fit into 64-bit nanoseconds */
	TRACE_ERROR_LIMIT = -8	    /* nesting too deep, or one event too long to be kept */
};

enum {
	TRACE_MAX_NESTING = 1000,		 /* open objects and arrays */
	TRACE_MAX_KEPT_BYTES = 256 * 1024 * 1024 /* of one event */
};

#endif
