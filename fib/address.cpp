#include "fib/address.h"
