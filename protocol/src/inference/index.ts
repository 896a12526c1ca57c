/**
 * The inference server's HTTP API, version 1. One server, one engine; all generating engines answer
 * the same request. Errors are `{error: {code, message, field, cure}}`.
 *
 * | Request | Answer |
 * |---|---|
 * | `POST /v1/generate` {@link GenerateRequest} | {@link GenerateResponse} |
 * | `GET /v1/info` | {@link InferenceInfo} |
 * | `GET /healthz`, `/readyz`, `/metrics` | for the kubelet and Prometheus |
 */
export * from './errors.ts';
export * from './generate.ts';
export * from './replay.ts';
export * from './spectrum.ts';
