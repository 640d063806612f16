/*
 * Reading an object member by member.
 *
 * The objects of a list mostly have the same names in the same order.  Each is
 * then the twin of the one before: its names are compared, not read.
 */

#include "json_reader.h"


static inline int cc_json_again(cc_json_t *json, const cc_str_t *wanted,
    cc_json_token_t *name, cc_json_token_t *value);
CC_NOINLINE static cc_json_type_e cc_json_new_member(cc_json_t *json,
    const cc_str_t *wanted, cc_json_token_t *name, cc_json_token_t *value);
static unsigned cc_json_which(const cc_str_t *wanted,
    const cc_json_token_t *name);


cc_json_type_e
cc_json_member(cc_json_t *json, const cc_str_t *wanted, cc_json_token_t *name,
    cc_json_token_t *value)
{
    cc_json_type_e  type;

    value->type = CC_JSON_ERROR;

    if (json->error != NULL) {
        return CC_JSON_ERROR;
    }

    do {
        if (cc_json_again(json, wanted, name, value)) {
            type = value->type ? value->type : cc_json_value(json, value);

        } else if (json->p < json->end && *json->p == '}') {
            return value->type = cc_json_close(json);

        } else {
            type = cc_json_new_member(json, wanted, name, value);
        }

        if (type == CC_JSON_ERROR || type == CC_JSON_OBJECT_END
            || name->which != CC_JSON_UNWANTED)
        {
            return type;
        }

    } while (cc_json_skip(json, value, NULL) == 0);

    return value->type = CC_JSON_ERROR;
}


/*
 * Members that are their twin's again: passes over those that are plain and not
 * wanted.  Returns 1 with the next, whose value is still to be read if it is
 * not plain; 0 where the object ends or goes its own way.
 */
static inline int
cc_json_again(cc_json_t *json, const cc_str_t *wanted, cc_json_token_t *name,
    cc_json_token_t *value)
{
    cc_json_token_t        plain;
    cc_json_frame_t       *frame;
    const cc_json_name_t  *twin;
    const unsigned char   *p, *next;

    frame = json->frame;
    twin = &json->names.stack[frame->next];
    p = json->p;

    while (twin->wanted == wanted
           && cc_json_names_again(twin, frame, p, json->end))
    {
        next = cc_json_plain(&plain, p + twin->lead.len, json->end);

        if (next == NULL || twin->token.which != CC_JSON_UNWANTED) {
            *name = twin->token;
            name->raw.data = p + (twin->token.raw.data - twin->lead.data);
            *value = plain;

            json->p = next ? next : p + twin->lead.len;
            json->want = CC_JSON_WANT_NEXT;
            frame->next = (size_t) (twin - json->names.stack) + 1;

            return 1;
        }

        twin++;
        p = next;
    }

    if (p != json->p) {
        json->p = p;
        json->want = CC_JSON_WANT_NEXT;
        frame->next = (size_t) (twin - json->names.stack);
    }

    return 0;
}


static cc_json_type_e
cc_json_new_member(cc_json_t *json, const cc_str_t *wanted,
    cc_json_token_t *name, cc_json_token_t *value)
{
    cc_json_type_e        type;
    const unsigned char  *lead;

    lead = json->p;
    name->which = 0;
    type = cc_json_next(json, name);

    if (type != CC_JSON_NAME) {
        return value->type = type;
    }

    json->p = cc_json_blanks_end(json->p, json->end);

    if (json->p == json->end) {
        return cc_json_fail(json, cc_json_too_early);
    }

    name->which = cc_json_which(wanted, name);
    cc_json_names_lead(&json->names, json->frame, lead, json->p, wanted,
                       name->which);

    return cc_json_value(json, value);
}


static unsigned
cc_json_which(const cc_str_t *wanted, const cc_json_token_t *name)
{
    unsigned  i;

    if (wanted == NULL) {
        return 0;
    }

    for (i = 0; wanted[i].data != NULL; i++) {
        if (name->escaped
            ? cc_json_spells(name, (const char *) wanted[i].data)
            : cc_str_equal(name->raw, wanted[i]))
        {
            return i;
        }
    }

    return CC_JSON_UNWANTED;
}
