-- The receiver as one would write it for OpenResty: the HMAC by libcrypto
-- through FFI, a pool of connections, cjson, and one script in Redis that finds
-- a duplicate and adds the entry in one step.

local ffi = require "ffi"
local cjson = require "cjson.safe"
local redis = require "nginx.redis"

ffi.cdef[[
typedef struct evp_md_st EVP_MD;
const EVP_MD *EVP_sha256(void);
unsigned char *HMAC(const EVP_MD *md, const void *key, int key_len,
    const unsigned char *data, size_t n, unsigned char *out,
    unsigned int *out_len);
]]

local crypto = ffi.load("crypto")
local sha256 = crypto.EVP_sha256()
local mac = ffi.new("unsigned char[32]")
local mac_len = ffi.new("unsigned int[1]")

local secret = os.getenv("BENCH_SECRET")
local address = "unix:" .. os.getenv("BENCH_REDIS")

local script = [[
if not redis.call('SET', KEYS[1], '1', 'NX', 'PX', 691200000) then
  return 0
end
redis.call('XADD', KEYS[2], '*', 'id', ARGV[1], 'count', ARGV[2],
           'body', ARGV[3])
return 1
]]

local script_sha = ngx.sha1_bin(script):gsub(".", function(c)
    return string.format("%02x", c:byte())
end)

local hex = {}
for i = 0, 255 do
    hex[i] = string.format("%02x", i)
end

local match = ngx.re.find


local function signature(body)
    local out = {}

    crypto.HMAC(sha256, secret, #secret, body, #body, mac, mac_len)
    for i = 0, 31 do
        out[i + 1] = hex[mac[i]]
    end
    return table.concat(out)
end


local function answer(status, text)
    ngx.status = status
    ngx.header["Content-Type"] = "application/json"
    ngx.header["Content-Length"] = #text
    ngx.print(text)
    return ngx.exit(status)
end


local function is_coupon(coupon)
    if type(coupon) ~= "table" or type(coupon.status) ~= "number"
        or type(coupon.coupon_code) ~= "string"
        or not match(coupon.coupon_code, [[^[0-9A-Za-z_-]{1,64}$]], "jo")
        or (coupon.real_win and tonumber(coupon.real_win) < 0)
    then
        return false
    end

    for _, bet in ipairs(coupon.events_data or {}) do
        if type(bet.uuid) ~= "string" or bet.uuid == "" then
            return false
        end
    end
    return true
end


local function is_batch(batch)
    if type(batch) ~= "table" or type(batch.coupons) ~= "table"
        or type(batch.batchId) ~= "string"
        or not match(batch.batchId, [[^[\x21-\x7e]{1,64}$]], "jo")
        or batch.couponCount ~= #batch.coupons or #batch.coupons > 100
    then
        return false
    end

    for _, coupon in ipairs(batch.coupons) do
        if not is_coupon(coupon) then
            return false
        end
    end
    return true
end


local function store(batch, body)
    local client = redis:new()
    local stored, err

    client:set_timeout(5000)
    if not client:connect(address) then
        return nil
    end

    local seen = "{bench}:seen:" .. batch.batchId
    stored, err = client:evalsha(script_sha, 2, seen, "{bench}:inbox",
                                 batch.batchId, batch.couponCount, body)
    if not stored and err and err:find("NOSCRIPT", 1, true) then
        stored = client:eval(script, 2, seen, "{bench}:inbox", batch.batchId,
                             batch.couponCount, body)
    end

    client:set_keepalive(60000, 64)
    return stored
end


local _M = {}


function _M.receive()
    ngx.req.read_body()

    local body = ngx.req.get_body_data()
    if not body or signature(body) ~= ngx.var.http_x_signature then
        return answer(401, '{"success":false}')
    end

    local batch = cjson.decode(body)
    if not is_batch(batch) then
        return answer(400, '{"success":false}')
    end

    if not store(batch, body) then
        return answer(503, '{"success":false}')
    end

    return answer(200, '{"success":true,"processed":'
                       .. batch.couponCount .. '}')
end


return _M
