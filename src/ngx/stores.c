/*
 * Apple and Google: their directives, what such a location must have, and the
 * files that hold their roots and keys.
 *
 * What would let in somebody else's notifications is refused when the
 * configuration is read: there is no default for an app, an audience, a service
 * account or a key.
 */

#include "ngx_http_coupon.h"


#define NGX_HTTP_COUPON_KEYS_FRESH  (24 * 60 * 60)   /* s after they came */


static ngx_int_t ngx_http_coupon_apple_option(ngx_http_coupon_apple_t *apple,
    ngx_str_t *option);
static char *ngx_http_coupon_apple_check(ngx_http_coupon_apple_t *apple);
static void *ngx_http_coupon_make_roots(cc_json_t *json, cc_str_t text,
    const char **reason);
static void ngx_http_coupon_free_roots(void *roots);
static ngx_int_t ngx_http_coupon_google_option(
    ngx_http_coupon_google_t *google, ngx_str_t *option);
static void *ngx_http_coupon_make_keys(cc_json_t *json, cc_str_t text,
    const char **reason);
static void ngx_http_coupon_free_keys(void *keys);
static ngx_uint_t ngx_http_coupon_text(ngx_str_t *option, const char *name,
    cc_str_t *text);


char *
ngx_http_coupon_set_apple(ngx_conf_t *cf, ngx_command_t *cmd, void *conf)
{
    ngx_http_coupon_loc_conf_t *lcf = conf;

    char                     *rv;
    ngx_str_t                *value;
    ngx_uint_t                i;
    ngx_http_coupon_apple_t  *apple;

    if (lcf->apple != NGX_CONF_UNSET_PTR) {
        return "is duplicate";
    }

    apple = ngx_pcalloc(cf->pool, sizeof(ngx_http_coupon_apple_t));
    if (apple == NULL) {
        return NGX_CONF_ERROR;
    }

    apple->verifier.environment = CC_APPLE_PRODUCTION;

    value = cf->args->elts;

    for (i = 1; i < cf->args->nelts; i++) {
        if (ngx_http_coupon_apple_option(apple, &value[i]) != NGX_OK) {
            ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                               "invalid parameter \"%V\" in \"%V\"", &value[i],
                               &cmd->name);
            return NGX_CONF_ERROR;
        }
    }

    rv = ngx_http_coupon_apple_check(apple);

    if (rv != NGX_CONF_OK) {
        return rv;
    }

    apple->verifier.json = ngx_http_coupon_json(cf);
    apple->root.thing = (void **) &apple->verifier.roots;
    apple->root.make = ngx_http_coupon_make_roots;
    apple->root.destroy = ngx_http_coupon_free_roots;

    if (apple->verifier.json == NULL
        || ngx_http_coupon_file_open(cf, cmd, &apple->root) != NGX_OK)
    {
        return NGX_CONF_ERROR;
    }

    lcf->apple = apple;

    return NGX_CONF_OK;
}


static ngx_int_t
ngx_http_coupon_apple_option(ngx_http_coupon_apple_t *apple, ngx_str_t *option)
{
    off_t       id;
    ngx_str_t   text;
    ngx_uint_t  i;

    static const struct {
        const char              *name;
        cc_apple_environment_e   environment;
    } environments[] = {
        { "environment=Production", CC_APPLE_PRODUCTION },
        { "environment=Sandbox", CC_APPLE_SANDBOX },
        { "environment=any", CC_APPLE_ANY }
    };

    if (ngx_http_coupon_text(option, "bundle_id=",
                             &apple->verifier.bundle_id))
    {
        return NGX_OK;
    }

    if (ngx_http_coupon_option(option, "root=", &text) && text.len != 0) {
        apple->root.name = text;
        return NGX_OK;
    }

    if (ngx_http_coupon_option(option, "app_apple_id=", &text)) {
        id = ngx_atoof(text.data, text.len);

        if (id > 0) {
            apple->verifier.app_apple_id = id;
            return NGX_OK;
        }
    }

    for (i = 0; i < sizeof(environments) / sizeof(environments[0]); i++) {
        if (option->len == ngx_strlen(environments[i].name)
            && ngx_strcmp(option->data, environments[i].name) == 0)
        {
            apple->verifier.environment = environments[i].environment;
            return NGX_OK;
        }
    }

    return NGX_ERROR;
}


static char *
ngx_http_coupon_apple_check(ngx_http_coupon_apple_t *apple)
{
    if (apple->verifier.bundle_id.len == 0) {
        return "needs \"bundle_id=\", the app whose notifications these are";
    }

    if (apple->root.name.len == 0) {
        return "needs \"root=\", the file with Apple's root certificate";
    }

    if (apple->verifier.app_apple_id == 0
        && (apple->verifier.environment & CC_APPLE_PRODUCTION))
    {
        return "needs \"app_apple_id=\", which Apple demands in Production";
    }

    return NGX_CONF_OK;
}


static void *
ngx_http_coupon_make_roots(cc_json_t *json, cc_str_t text, const char **reason)
{
    return cc_x5c_create(text, reason);
}


static void
ngx_http_coupon_free_roots(void *roots)
{
    cc_x5c_destroy(roots);
}


char *
ngx_http_coupon_set_google(ngx_conf_t *cf, ngx_command_t *cmd, void *conf)
{
    ngx_http_coupon_loc_conf_t *lcf = conf;

    ngx_str_t                 *value;
    ngx_uint_t                 i;
    ngx_http_coupon_google_t  *google;

    if (lcf->google != NGX_CONF_UNSET_PTR) {
        return "is duplicate";
    }

    google = ngx_pcalloc(cf->pool, sizeof(ngx_http_coupon_google_t));
    if (google == NULL) {
        return NGX_CONF_ERROR;
    }

    value = cf->args->elts;

    for (i = 1; i < cf->args->nelts; i++) {
        if (ngx_http_coupon_google_option(google, &value[i]) != NGX_OK) {
            ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                               "invalid parameter \"%V\" in \"%V\"", &value[i],
                               &cmd->name);
            return NGX_CONF_ERROR;
        }
    }

    if (google->verifier.audience.len == 0) {
        return "needs \"audience=\", as the push subscription has it";
    }

    if (google->verifier.email.len == 0) {
        return "needs \"email=\", the service account of the subscription: "
               "without it every customer of Google could call";
    }

    if (google->keys.name.len == 0) {
        return "needs \"keys=\", the file with Google's keys";
    }

    google->verifier.json = ngx_http_coupon_json(cf);
    google->keys.thing = (void **) &google->verifier.keys;
    google->keys.make = ngx_http_coupon_make_keys;
    google->keys.destroy = ngx_http_coupon_free_keys;
    google->keys.json = google->verifier.json;

    if (google->verifier.json == NULL
        || ngx_http_coupon_file_open(cf, cmd, &google->keys) != NGX_OK)
    {
        return NGX_CONF_ERROR;
    }

    lcf->google = google;

    return NGX_CONF_OK;
}


static ngx_int_t
ngx_http_coupon_google_option(ngx_http_coupon_google_t *google,
    ngx_str_t *option)
{
    ngx_str_t     text;
    cc_google_t  *verifier;

    verifier = &google->verifier;

    if (ngx_http_coupon_text(option, "audience=", &verifier->audience)
        || ngx_http_coupon_text(option, "email=", &verifier->email)
        || ngx_http_coupon_text(option, "subscription=",
                                &verifier->subscription)
        || ngx_http_coupon_text(option, "package=", &verifier->package))
    {
        return NGX_OK;
    }

    if (ngx_http_coupon_option(option, "keys=", &text) && text.len != 0) {
        google->keys.name = text;
        return NGX_OK;
    }

    if (ngx_http_coupon_option(option, "mode=", &text)) {
        verifier->unwrapped = text.len == sizeof("unwrapped") - 1
                              && ngx_strncmp(text.data, "unwrapped", text.len)
                                 == 0;

        if (verifier->unwrapped
            || (text.len == sizeof("wrapped") - 1
                && ngx_strncmp(text.data, "wrapped", text.len) == 0))
        {
            return NGX_OK;
        }
    }

    return NGX_ERROR;
}


/* a set without a usable key would put off every message */
static void *
ngx_http_coupon_make_keys(cc_json_t *json, cc_str_t text, const char **reason)
{
    cc_jwks_t  *keys;

    keys = cc_jwks_create(json, text, reason);

    if (keys != NULL && cc_jwks_count(keys) == 0) {
        *reason = "there is no usable key in it";
        cc_jwks_destroy(keys);
        return NULL;
    }

    return keys;
}


static void
ngx_http_coupon_free_keys(void *keys)
{
    cc_jwks_destroy(keys);
}


/* "name=value" with a value that is not empty: 1, or 0 */
static ngx_uint_t
ngx_http_coupon_text(ngx_str_t *option, const char *name, cc_str_t *text)
{
    ngx_str_t  value;

    if (!ngx_http_coupon_option(option, name, &value) || value.len == 0) {
        return 0;
    }

    text->data = value.data;
    text->len = value.len;

    return 1;
}


ngx_int_t
ngx_http_coupon_complete_apple(ngx_conf_t *cf,
    ngx_http_coupon_loc_conf_t *conf)
{
    if (conf->apple == NULL) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "\"coupon_callback apple\" needs "
                           "\"coupon_callback_apple\"");
        return NGX_ERROR;
    }

    conf->verifier = &conf->apple->verifier;
    conf->file = &conf->apple->root;

    return NGX_OK;
}


ngx_int_t
ngx_http_coupon_complete_google(ngx_conf_t *cf,
    ngx_http_coupon_loc_conf_t *conf)
{
    static ngx_str_t  authorization = ngx_string("$http_authorization");

    if (conf->google == NULL) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "\"coupon_callback google\" needs "
                           "\"coupon_callback_google\"");
        return NGX_ERROR;
    }

    conf->verifier = &conf->google->verifier;
    conf->file = &conf->google->keys;
    conf->unwrapped = conf->google->verifier.unwrapped;
    conf->proof = ngx_http_coupon_value(cf, &authorization);

    return conf->proof ? NGX_OK : NGX_ERROR;
}


void
ngx_http_coupon_file_look(ngx_http_coupon_loc_conf_t *conf, ngx_log_t *log)
{
    int64_t  expires;

    if (ngx_http_coupon_file_refresh(conf->file, log) == NGX_ERROR) {
        (void) ngx_atomic_fetch_add(&conf->counters->file_errors, 1);
    }

    if (conf->provider != &cc_google) {
        return;
    }

    /* whoever fetched them says how long they are fresh; else a day */

    expires = cc_jwks_expires(conf->google->verifier.keys);

    if (expires == 0) {
        expires = conf->file->changed.tv_sec + NGX_HTTP_COUPON_KEYS_FRESH;
    }

    conf->counters->keys_expire = (ngx_atomic_uint_t) expires;
}


/*
 * Every attribute of a message is a line of the head, too: of two lines of one
 * name the publisher may have written either, so that neither counts.
 */
void
ngx_http_coupon_push_head(ngx_http_request_t *r, cc_callback_t *callback)
{
    ngx_uint_t        i, k, n[3];
    cc_str_t         *values[3];
    ngx_list_part_t  *part;
    ngx_table_elt_t  *h;

    static const ngx_str_t  names[] = {
        ngx_string("x-goog-pubsub-message-id"),
        ngx_string("x-goog-pubsub-subscription-name"),
        ngx_string("x-goog-pubsub-publish-time")
    };

    values[0] = &callback->message_id;
    values[1] = &callback->subscription;
    values[2] = &callback->publish_time;

    ngx_memzero(n, sizeof(n));

    for (part = &r->headers_in.headers.part; part; part = part->next) {
        h = part->elts;

        for (i = 0; i < part->nelts; i++) {
            for (k = 0; k < 3; k++) {

                if (h[i].key.len == names[k].len
                    && ngx_strncasecmp(h[i].key.data, names[k].data,
                                       names[k].len) == 0)
                {
                    values[k]->data = h[i].value.data;
                    values[k]->len = n[k]++ ? 0 : h[i].value.len;
                }
            }
        }
    }
}
