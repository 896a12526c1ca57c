// hack, cluster/images: docker-archive of one static binary. Of other folders imports hack/cache only.
import { createHash } from 'node:crypto';

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

/** One regular file of an archive. */
export interface TarFile {
  readonly name: string;
  readonly content: Buffer;
  /** Permission bits, such as 0o755. */
  readonly mode: number;
}

const block = 512;

function octal(value: number, width: number): string {
  return `${value.toString(8).padStart(width - 1, '0')}\0`;
}

/** The header block of a regular file owned by 0:0 with time 0 (POSIX.1-1988 ustar). */
function header({ name, content, mode }: TarFile): Buffer {
  if (Buffer.byteLength(name) > 100) throw new Error(`the name is too long for ustar: ${name}`);
  const bytes = Buffer.alloc(block);
  bytes.write(name, 0);
  bytes.write(octal(mode, 8), 100);
  bytes.write(octal(0, 8), 108);
  bytes.write(octal(0, 8), 116);
  bytes.write(octal(content.length, 12), 124);
  bytes.write(octal(0, 12), 136);
  bytes.write(' '.repeat(8), 148);
  bytes.write('0', 156);
  bytes.write('ustar', 257);
  bytes.write('00', 263);
  const sum = bytes.reduce((total, byte) => total + byte, 0);
  bytes.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
  return bytes;
}

/** A tar archive whose bytes depend on the files alone: no time, no owner, no order but the given one. */
export function tar(files: readonly TarFile[]): Buffer {
  const parts = files.flatMap((file) => {
    const padding = (block - (file.content.length % block)) % block;
    return [header(file), file.content, Buffer.alloc(padding)];
  });
  return Buffer.concat([...parts, Buffer.alloc(2 * block)]);
}
