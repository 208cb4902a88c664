#include "fib/result.h"
