/* Lines for whoever runs the server, on standard error. */
#ifndef LOG_H
#define LOG_H

/* One line. After a hundred of them only when their number is a power of two: a broken database under full load does not
 * turn into gigabytes. */
void log_line(const char *form, ...) __attribute__((format(printf, 1, 2)));

#endif
