// hack, images: digest and size of a docker-archive. Of other folders imports hack/cache, hack/cluster/build.
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { extract } from 'tar-stream';

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
