import { existsSync } from 'node:fs';
import { readFile, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { cacheRoot } from '../cache/index.ts';
import { summarizeArchive } from './archive.ts';

/** One row of `list`: an image in the cache. Sizes in bytes; compressed by gzip. */
interface ListedImage {
  readonly ref: string;
  readonly digest: string;
  readonly compressedBytes: number;
  readonly layerBytes: number;
}

/** The images in the cache. The first listing of an image compresses it to learn its size. */
export async function listImages(root: string = cacheRoot()): Promise<readonly ListedImage[]> {
  const folder = join(root, 'images');
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
