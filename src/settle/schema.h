/*
 * The tables in SQLite.  A later version of the schema gets a number of its own
 * and the statements that lead to it from the one before.
 */

#ifndef CS_SCHEMA_H
#define CS_SCHEMA_H


#define CS_SCHEMA_VERSION  1          /* PRAGMA user_version */


/* makes the tables in an empty database and sets user_version */
extern const char  cs_schema[];


#endif /* CS_SCHEMA_H */
