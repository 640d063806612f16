/*
 * Claims: the members of a JSON object that somebody signed.
 *
 * The tree is cJSON's, built only of text that the strict scanner has taken, so
 * that what cJSON would read in two ways never reaches it.  Names are matched
 * exactly, and a value of another type than the wanted one is not there.
 */

#ifndef CC_CLAIMS_H
#define CC_CLAIMS_H

#include <cjson/cJSON.h>

#include "core.h"
#include "json.h"


/* the largest whole number that a double holds without a doubt */
#define CC_CLAIM_WHOLE_MAX  9007199254740991


/*
 * The tree of one JSON object, to be freed by cJSON_Delete().  NULL, with the
 * reason in *reason, if the text is none; cc_json_no_memory says nothing about
 * the text.
 */
CC_MUST_USE cJSON *cc_claims_parse(cc_json_t *json, cc_str_t text,
    const char **reason);

/* an object among the members, or NULL */
const cJSON *cc_claim_object(const cJSON *claims, const char *name);

/* 1 if there is anything of this name, be it null */
int cc_claim_exists(const cJSON *claims, const char *name);

/*
 * 1 and the string, which lives as long as the tree, or 0 and an empty one.
 * It holds no NUL, so that its end is its end.
 */
int cc_claim_string(const cJSON *claims, const char *name, cc_str_t *out);

/* 1 if it is a string, and this one */
int cc_claim_is(const cJSON *claims, const char *name, cc_str_t wanted);

/* 1 and a whole number within ±CC_CLAIM_WHOLE_MAX, or 0 and 0 */
int cc_claim_whole(const cJSON *claims, const char *name, int64_t *out);

/*
 * 1 if it is 1 to max characters, each a letter, a digit or one of `others`;
 * such a text is safe as a part of a key
 */
int cc_claim_shaped(cc_str_t text, const char *others, size_t max);


#endif /* CC_CLAIMS_H */
