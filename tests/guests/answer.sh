#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Commands from the terminal at its standard input, one a line, one after another: the guest's end of guest.py.
# An answer is a line "@NUMBER STATUS BYTES" and that many bytes.
stty raw -echo
echo @ready
while IFS= read -r line; do
    number=${line%% *}
    sh -c "${line#* }" >/run/answer 2>&1 </dev/null
    status=$?
    echo "@$number $status $(wc -c </run/answer)"
    cat /run/answer
done
