# syntax=docker/dockerfile:1
FROM node:24.21.0-bookworm-slim AS build
WORKDIR /app
COPY package.json package-lock.json tsconfig.json ./
# No package needs its install script, so none runs.
RUN npm ci --ignore-scripts
COPY src ./src
COPY ui ./ui
RUN npm run build

FROM node:24.21.0-bookworm-slim AS packages
WORKDIR /app
COPY package.json package-lock.json ./
# Without scripts the `prepare` script of this package does not run either, because this stage has no compiler.
RUN npm ci --omit=dev --ignore-scripts && mkdir -m 700 /data

FROM node:24.21.0-bookworm-slim
ARG VERSION=0.1.0
ARG COMMIT=""
ARG BUILD_DATE=""
LABEL org.opencontainers.image.title="rollcall" \
      org.opencontainers.image.description="Event-sourced client tokens and feature flags" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${COMMIT}" \
      org.opencontainers.image.created="${BUILD_DATE}"
ENV NODE_ENV=production \
    ROLLCALL_STORAGE_DATA_DIR=/data \
    ROLLCALL_COMMIT="${COMMIT}" \
    ROLLCALL_BUILD_DATE="${BUILD_DATE}"
WORKDIR /app
# root owns the program, so the user that runs it can write only to /data.
COPY --from=packages /app ./
COPY --from=build /app/dist/src ./dist/src
COPY --from=build /app/dist/ui ./dist/ui
COPY --from=build /app/dist/rollcall-verify.mjs ./dist/rollcall-verify.mjs
COPY --from=packages --chown=10001:10001 /data /data
USER 10001:10001
VOLUME /data
EXPOSE 8080
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=3s --start-period=60s --retries=3 \
  CMD ["node", "dist/src/main.js", "health"]
ENTRYPOINT ["node", "dist/src/main.js"]
CMD ["serve"]
