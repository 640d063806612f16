/*
 * The version of coupon-settle, for --version and for the metrics.
 */

#ifndef CS_VERSION_H
#define CS_VERSION_H


#define CS_VERSION  "0.1.0"


#endif /* CS_VERSION_H */
