/*
 * The tables of both stores, as a ladder: step i leads from version i to i + 1,
 * and what has been released is never changed again.  Both stores climb the
 * same number of steps.  The README, "Tables", says what the columns mean.
 */

#ifndef CS_SCHEMA_H
#define CS_SCHEMA_H


#define CS_SCHEMA_VERSION  3

extern const char *const  cs_schema_sqlite[CS_SCHEMA_VERSION];
extern const char *const  cs_schema_postgres[CS_SCHEMA_VERSION];


#endif /* CS_SCHEMA_H */
