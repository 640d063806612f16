// The receiver as one would write it for Node: fastify, the body as a buffer,
// and one script in Redis, by ioredis, that finds a duplicate and adds the
// entry in one step.

'use strict';

const crypto = require('crypto');
const Redis = require('ioredis');

const app = require('fastify')({ bodyLimit: 1 << 20 });
const redis = new Redis(process.env.BENCH_REDIS,
                        { enableAutoPipelining: true });
const secret = process.env.BENCH_SECRET;

const batchId = /^[\x21-\x7e]{1,64}$/;
const couponCode = /^[0-9A-Za-z_-]{1,64}$/;

redis.defineCommand('store', {
    numberOfKeys: 2,
    lua: `
if not redis.call('SET', KEYS[1], '1', 'NX', 'PX', 691200000) then
  return 0
end
redis.call('XADD', KEYS[2], '*', 'id', ARGV[1], 'count', ARGV[2],
           'body', ARGV[3])
return 1`,
});


function isSigned(request) {
    const mac = crypto.createHmac('sha256', secret).update(request.body)
                      .digest();
    const sent = Buffer.from(request.headers['x-signature'] || '', 'hex');

    return sent.length === mac.length && crypto.timingSafeEqual(sent, mac);
}


function isCoupon(coupon) {
    return typeof coupon.coupon_code === 'string'
           && couponCode.test(coupon.coupon_code)
           && Number.isInteger(coupon.status)
           && (coupon.real_win == null || Number(coupon.real_win) >= 0)
           && (coupon.events_data || []).every(
               (bet) => typeof bet.uuid === 'string' && bet.uuid !== '');
}


function parse(body) {
    let batch;

    try {
        batch = JSON.parse(body);
    } catch {
        return null;
    }

    return batch && typeof batch.batchId === 'string'
           && batchId.test(batch.batchId) && Array.isArray(batch.coupons)
           && batch.couponCount === batch.coupons.length
           && batch.coupons.length <= 100 && batch.coupons.every(isCoupon)
           ? batch : null;
}


app.addContentTypeParser('application/json', { parseAs: 'buffer' },
                         (request, body, done) => done(null, body));

app.post('/callbacks/coupons', async (request, reply) => {
    if (!isSigned(request)) {
        return reply.code(401).send({ success: false });
    }

    const batch = parse(request.body);
    if (!batch) {
        return reply.code(400).send({ success: false });
    }

    await redis.store('{bench}:seen:' + batch.batchId, '{bench}:inbox',
                      batch.batchId, batch.couponCount, request.body);

    return { success: true, processed: batch.couponCount };
});

app.listen({ host: '127.0.0.1', port: Number(process.argv[2]) });
