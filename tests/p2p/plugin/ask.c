// SPDX-License-Identifier: BSD-3-Clause
/* ask SOCKET TARGET: the answer of pktpitd's API to a GET, as it comes. In the guest, where the start of
 * `pktpit` takes longer than the daemon does to answer: what waits for a state asks by this, and leaves the
 * CPUs to the daemon. */
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

int main(int count, char** arguments) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (count != 3 || strlen(arguments[1]) >= sizeof address.sun_path) return 2;
    strcpy(address.sun_path, arguments[1]);
    const int connection = socket(AF_UNIX, SOCK_STREAM, 0);
    if (connection < 0 || connect(connection, (const struct sockaddr*)&address, sizeof address) != 0) {
        perror(arguments[1]);
        return 1;
    }
    dprintf(connection, "GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", arguments[2]);
    char piece[1 << 16];
    ssize_t got;
    while ((got = read(connection, piece, sizeof piece)) > 0)
        if (write(STDOUT_FILENO, piece, (size_t)got) != got) return 1;
    return got < 0;
}
