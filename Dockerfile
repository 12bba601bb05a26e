# The image of the operator, for any platform that Go compiles for:
#   docker buildx build --platform linux/amd64,linux/arm64 --build-arg VERSION=v1.2.3 -t IMAGE .
FROM --platform=$BUILDPLATFORM golang:1.26 AS build
ENV GOTOOLCHAIN=local
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY cmd cmd
COPY internal internal
ARG TARGETOS
ARG TARGETARCH
ARG VERSION=devel
# The same line as in make build; a test compares them.
RUN CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH go build -tags grpcnotrace -trimpath -buildvcs=false -ldflags "-s -w -X main.version=$VERSION" -o bin/ ./cmd/...

FROM scratch
ARG VERSION=devel
LABEL org.opencontainers.image.title="lockstep" \
      org.opencontainers.image.description="Rolls groups of StatefulSets zone by zone, one zone at a time" \
      org.opencontainers.image.source="https://github.com/lockstep-dev/lockstep" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="$VERSION"
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY LICENSE /
COPY --from=build /src/bin/lockstep /
USER 65532:65532
EXPOSE 8001
ENTRYPOINT ["/lockstep"]
