# The standard OpenTelemetry Collector with the components of builder-config.yaml. Build from the root of the repository:
#
#   docker build --file collector/otelcol.Dockerfile --tag otelcol-mcp-observatory .

FROM golang:1.26-bookworm AS build
WORKDIR /src
COPY collector/builder-config.yaml collector/
COPY scripts/build-collector.sh scripts/
RUN cp "$(XDG_CACHE_HOME=/cache BUILD_JOBS=$(nproc) scripts/build-collector.sh)" /otelcol && mkdir /queue

FROM gcr.io/distroless/static-debian12:nonroot
COPY --from=build /otelcol /otelcol
COPY otel-collector.yaml collector/with-content.yaml /etc/otelcol/
# The folder of the queues, for a volume that takes its owner from it.
COPY --from=build --chown=nonroot:nonroot /queue /var/lib/otelcol/queue
USER nonroot
EXPOSE 4317 4318 13133
ENTRYPOINT ["/otelcol"]
CMD ["--config", "/etc/otelcol/otel-collector.yaml"]
