// hack, images: digest and size of a docker-archive. Of other folders imports hack/cache, hack/cluster/build.
import { createReadStream, existsSync } from 'node:fs';
import { stat, readFile, readdir, writeFile } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { extract } from 'tar-stream';
import { join } from 'node:path';
import { cacheRoot } from '../cache/index.ts';

/** Metadata of a docker-archive. */
interface ArchiveSummary {
  /** `sha256:…` of the image's configuration, which names all layers: the image id that the kubelet reports. */
  readonly digest: string;
  /** Bytes of the layers as they are unpacked. */
  readonly layerBytes: number;
  /** Bytes of the layers after gzip, as a registry would hold them; 0 unless asked for. */
  readonly compressedBytes: number;
}

interface ManifestEntry {
  readonly Config: string;
  readonly Layers: readonly string[];
}

/** The digest and layer names of a docker-archive's `manifest.json`. Throws when it is not one image. */
export function parseManifest(text: string): { readonly digest: string; readonly layers: readonly string[] } {
  const entries = JSON.parse(text) as readonly ManifestEntry[];
  const entry = entries[0];
  const digest = /^([0-9a-f]{64})\.json$/.exec(entry?.Config ?? '')?.[1];
  if (entries.length !== 1 || entry === undefined || digest === undefined) {
    throw new Error('The archive does not hold exactly one image named by its digest.');
  }
  return { digest: `sha256:${digest}`, layers: entry.Layers };
}

/** Reads a docker-archive. With `compress` every layer runs through gzip, which takes seconds. */
export async function summarizeArchive(archive: string, compress = false): Promise<ArchiveSummary> {
  const reader = extract();
  const sizes = new Map<string, { readonly bytes: number; readonly compressed: number }>();
  let manifest = '';
  const reading = pipeline(createReadStream(archive), reader);
  for await (const entry of reader) {
    const { name, size, type } = entry.header;
    let compressed = 0;
    if (name === 'manifest.json') {
      for await (const chunk of entry) manifest += Buffer.from(chunk as Uint8Array).toString('utf8');
    } else if (compress && type === 'file' && name.endsWith('.tar')) {
      for await (const chunk of entry.pipe(createGzip())) compressed += (chunk as Uint8Array).length;
    } else {
      entry.resume();
    }
    if (type === 'file') sizes.set(name, { bytes: size, compressed });
  }
  await reading;
  const { digest, layers } = parseManifest(manifest);
  const sum = (part: 'bytes' | 'compressed'): number => layers.reduce((total, layer) => total + (sizes.get(layer)?.[part] ?? 0), 0);
  return { digest, layerBytes: sum('bytes'), compressedBytes: sum('compressed') };
}

/** Bytes of a file. */
export async function bytesOf(file: string): Promise<number> {
  return (await stat(file)).size;
}

/** One row of `list`: an image in the cache. */
interface ListedImage extends ArchiveSummary {
  readonly ref: string;
}

/** The images in the cache. The first listing of an image compresses it to learn its size. */
export async function listImages(): Promise<readonly ListedImage[]> {
  const folder = join(cacheRoot(), 'images');
  const names = existsSync(folder) ? (await readdir(folder)).sort() : [];
  const finished = names.filter((name) => existsSync(join(folder, name, '.complete')));
  return Promise.all(finished.map((name) => listImage(join(folder, name))));
}

async function listImage(dir: string): Promise<ListedImage> {
  const known = JSON.parse(await readFile(join(dir, 'image.json'), 'utf8')) as Omit<ListedImage, 'compressedBytes'>;
  const sizeFile = join(dir, 'compressed-bytes');
  if (!existsSync(sizeFile)) {
    const { compressedBytes } = await summarizeArchive(join(dir, 'image.tar'), true);
    await writeFile(sizeFile, String(compressedBytes));
  }
  return { ...known, compressedBytes: Number(await readFile(sizeFile, 'utf8')) };
}

/** A table with one row per image, sizes in MiB. */
export function renderList(images: readonly ListedImage[]): string {
  const mebibytes = (bytes: number): string => (bytes / 2 ** 20).toFixed(1);
  const rows = [['REF', 'DIGEST', 'COMPRESSED MiB', 'UNCOMPRESSED MiB']];
  for (const image of images)
    rows.push([image.ref, image.digest.slice(0, 19), mebibytes(image.compressedBytes), mebibytes(image.layerBytes)]);
  const widths = rows[0]?.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0))) ?? [];
  return rows
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}
