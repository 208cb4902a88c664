#include "fib/rib.h"
