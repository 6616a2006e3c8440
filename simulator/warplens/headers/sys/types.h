#ifndef CUDASIM_TYPES
#define CUDASIM_TYPES
#include <stdint.h>
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;
#endif
