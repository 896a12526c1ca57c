/** Container images without a registry or a Docker engine. Imports `hack/cache`, and `hack/cluster/build` for Go binaries. */
export { hostArch, runnerBinary } from './parts.ts';
export { buildImages, type BuiltImage } from './build.ts';
export { s3ServerBinary } from './s3Server.ts';
