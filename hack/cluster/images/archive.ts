// hack, cluster/images: docker-archive of one static binary. Of other folders imports hack/cache only.
import { createHash } from 'node:crypto';
import { tar } from './tar.ts';

/** An image with one static binary only. */
interface BinaryImage {
  /** Full name with a tag other than latest, such as `localhost/pause:3.10`. */
  readonly name: string;
  /** Name of the binary in the root folder; it is the entry point. */
  readonly binary: string;
  readonly content: Buffer;
  /** Go's name for the processor: amd64 or arm64. */
  readonly architecture: string;
  /** Numeric user, or `uid:gid`; default root, unless the pod sets another. */
  readonly user?: string;
}

function sha256(content: Buffer): string {
  return createHash('sha256').update(content).digest('hex');
}

/**
 * A docker-archive (the format of `docker save`: manifest.json, a config and layer tars). The same binary gives
 * the same bytes, so its hash can serve as a cache key.
 */
export function dockerArchive(image: BinaryImage): Buffer {
  const layer = tar([{ name: image.binary, content: image.content, mode: 0o755 }]);
  const created = new Date(0).toISOString();
  const config = Buffer.from(
    JSON.stringify({
      architecture: image.architecture,
      os: 'linux',
      created,
      config: { Entrypoint: [`/${image.binary}`], WorkingDir: '/', ...(image.user === undefined ? {} : { User: image.user }) },
      rootfs: { type: 'layers', diff_ids: [`sha256:${sha256(layer)}`] },
      history: [{ created, comment: 'one static binary' }],
    }),
  );
  const configName = `${sha256(config)}.json`;
  const manifest = [{ Config: configName, RepoTags: [image.name], Layers: ['layer.tar'] }];
  return tar([
    { name: 'manifest.json', content: Buffer.from(JSON.stringify(manifest)), mode: 0o644 },
    { name: configName, content: config, mode: 0o644 },
    { name: 'layer.tar', content: layer, mode: 0o644 },
  ]);
}
