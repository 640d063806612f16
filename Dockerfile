# nginx with the module, and coupon-settle, in one image, both unprivileged.
#
#   docker build -t coupon-callback .             DEBIAN=trixie: TLS to Redis
#
#   docker run --network host -v ./secret:/etc/coupon-callback/secret:ro \
#       coupon-callback
#   docker run --network host -v ledger:/var/lib/coupon-settle \
#       coupon-callback coupon-settle run -c /etc/coupon-callback/settle.ini
#
# The configurations in it are those of conf/ (Redis on 127.0.0.1:6379, nginx on
# port 8080); mount your own over /etc/nginx/nginx.conf and
# /etc/coupon-callback/settle.ini.  User coupon (999) must be able to read them.

ARG DEBIAN=bookworm

FROM debian:$DEBIAN-slim AS build

WORKDIR /src
COPY t/bin/deps.sh t/bin/apt-private.sh t/bin/
RUN t/bin/deps.sh build
COPY . .
RUN make && make install DESTDIR=/out prefix=/usr

# the packages that the libraries come from
RUN ldd /out/usr/lib/nginx/modules/*.so /out/usr/sbin/coupon-settle \
    | grep -o '/[^ ]*\.so[^ ]*' | xargs -n 1 basename | sort -u \
    | sed 's|^|*/|' | xargs dpkg -S | cut -d : -f 1 | sort -u >/packages

# an unprivileged nginx that logs to where a container is expected to
RUN install -d /out/etc/nginx /out/etc/coupon-callback \
    && cp conf/settle.ini /out/etc/coupon-callback/ \
    && sed -e '/^user /d' \
           -e 's|/run/nginx.pid|/tmp/nginx.pid|' \
           -e 's|/var/log/nginx/error.log|stderr|' \
           -e 's|/var/log/nginx/access.log|/dev/stdout|' \
           -e 's|listen 127.0.0.1:8080|listen 8080|' \
           conf/nginx.conf >/out/etc/nginx/nginx.conf


FROM debian:$DEBIAN-slim

COPY --from=build /packages /tmp/packages
RUN apt-get update \
    && xargs apt-get install -y --no-install-recommends nginx ca-certificates </tmp/packages \
    && rm -rf /var/lib/apt/lists/* /tmp/packages \
    && useradd --system --uid 999 --home-dir /var/lib/coupon-settle coupon \
    && install -d -o coupon /var/lib/coupon-settle \
    && chown -R coupon /var/lib/nginx

COPY --from=build /out/ /

USER coupon
EXPOSE 8080
VOLUME /var/lib/coupon-settle
CMD ["nginx", "-g", "daemon off;"]
