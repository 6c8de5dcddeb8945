# The program in an image that has a shell and nothing else, for use in continuous integration:
#
#   docker build --tag ptx-tc .
#   docker run --rm --volume "$PWD:/work" ptx-tc check .
#
# A release puts the static programs of its archives in: `--build-arg PROGRAM=released`, with dist/amd64/ptx-tc and
# dist/arm64/ptx-tc. Stages that are not used are not built.
ARG PROGRAM=compiled

FROM rust:1.90.0-alpine3.22 AS compiled
# A C compiler, for the allocator.
# hadolint ignore=DL3018
RUN apk add --no-cache build-base
WORKDIR /source
COPY . .
RUN cargo build --locked --profile dist --bin ptx-tc && strip target/dist/ptx-tc && mv target/dist/ptx-tc /ptx-tc

FROM scratch AS released
ARG TARGETARCH
COPY dist/${TARGETARCH}/ptx-tc /ptx-tc

# hadolint ignore=DL3006
FROM ${PROGRAM} AS program

FROM alpine:3.22.1
LABEL org.opencontainers.image.source="https://github.com/ptx-tc/ptx-tc" \
    org.opencontainers.image.description="Checks PTX for Blackwell's tcgen05 instructions, and simulates kernels" \
    org.opencontainers.image.licenses="Apache-2.0 OR MIT"
COPY --from=program /ptx-tc /usr/local/bin/ptx-tc
WORKDIR /work
ENTRYPOINT ["ptx-tc"]
CMD ["--help"]
