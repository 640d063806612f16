/*
 * The entry point that libFuzzer calls with one input after the other.  A
 * target states what must hold of any input with must(), which aborts.
 */

#ifndef CC_FUZZ_H
#define CC_FUZZ_H

#include <stddef.h>
#include <stdint.h>


int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);


#endif /* CC_FUZZ_H */
