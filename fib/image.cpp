#include "fib/image.h"
