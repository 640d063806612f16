/*
 * How things can end in the daemon.
 */

#ifndef CS_STATUS_H
#define CS_STATUS_H


typedef enum {
    CS_OK = 0,
    CS_NONE,                     /* asked for something that is not there */
    CS_REFUSED,                  /* this data can never be settled */
    CS_AGAIN                     /* the data is fine, the world is not */
} cs_status_e;


#endif /* CS_STATUS_H */
