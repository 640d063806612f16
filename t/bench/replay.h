/*
 * The file of prepared requests, which prepare.c writes and load.c replays: one
 * record after the other, a length in the machine's own order and then as many
 * bytes, a whole HTTP/1.1 request.  It is mapped, so that a gigabyte of signed
 * requests costs the generator no time while it measures.
 */

#ifndef CC_REPLAY_H
#define CC_REPLAY_H

#include <stdint.h>


typedef uint32_t  replay_len_t;


#endif /* CC_REPLAY_H */
