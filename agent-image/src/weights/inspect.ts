import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { lstat, readdir, readFile, realpath } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';
import { dataBytes, headerLength, lengthBytes, readConfig, tensorBytes, type FoundWeights } from '@agentfleet/protocol/weights';
import { beginningOf } from '../base/requests.ts';
import { WeightsFailure } from './failure.ts';
import { indexName, tensorFiles } from './tensors.ts';

/**
 * Reads a folder of weights: the digest over names and contents of all its files, bytes of the tensors, sizes of the model.
 * Links are followed inside the folder only. Rejects with a WeightsFailure, or with the error of a file.
 */
export async function inspectWeights(
  folder: string,
  expected: { readonly digest: string | undefined },
  signal: AbortSignal,
): Promise<FoundWeights> {
  const files = await filesBelow(folder);
  if (files.length === 0) throw new WeightsFailure('NotFound', `${folder} is empty: correct the folder in the uri`);
  const whole = createHash('sha256');
  let bytes = 0;
  for (const { path, file } of files) {
    const { size, hash } = await hashOf(file, signal);
    whole.update(`${hash} ${size} ${path}\n`);
    bytes += size;
  }
  const digest = `sha256:${whole.digest('hex')}`;
  if (expected.digest !== undefined && expected.digest !== digest)
    throw new WeightsFailure(
      'DigestMismatch',
      `the files are ${digest}, and artifact.digest is ${expected.digest}: correct the digest or the uri`,
    );
  const tokenizerHash = await tokenizerOf(files, signal);
  const { weightBytes, architecture } = await headersOf(files);
  return { format: 'agentfleet.dev/weights/v1', digest, bytes, files: files.length, weightBytes, architecture, tokenizerHash };
}

interface WeightsFile {
  /** Relative, with `/`. */
  readonly path: string;
  /** Path with links resolved. */
  readonly file: string;
}

/** Lists files in the order of their names as bytes; parts of a fetch and files of the file system itself are skipped. */
async function filesBelow(folder: string): Promise<readonly WeightsFile[]> {
  const root = await realpath(folder);
  const names = await namesBelow(root);
  const files: WeightsFile[] = [];
  for (const name of names.sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)))) {
    if (name.endsWith('.part')) continue;
    const file = await realpath(join(root, name));
    const inside = relative(root, file);
    if (inside.startsWith('..')) throw new WeightsFailure('Refused', `${name} is a link out of the folder: copy the file`);
    if ((await lstat(file)).isFile()) files.push({ path: name.split(sep).join('/'), file });
  }
  return files;
}

/** Lists what is no folder, relative to the root, and looks into no `lost+found`, which is the administrator's alone. */
async function namesBelow(root: string, below = ''): Promise<string[]> {
  const names: string[] = [];
  for (const entry of await readdir(join(root, below), { withFileTypes: true })) {
    if (entry.name === 'lost+found') continue;
    const name = join(below, entry.name);
    if (entry.isDirectory()) names.push(...(await namesBelow(root, name)));
    else names.push(name);
  }
  return names;
}

async function hashOf(file: string, signal: AbortSignal): Promise<{ readonly size: number; readonly hash: string }> {
  const hash = createHash('sha256');
  let size = 0;
  for await (const chunk of createReadStream(file, { highWaterMark: 2 ** 20, signal }) as AsyncIterable<Buffer>) {
    hash.update(chunk);
    size += chunk.byteLength;
  }
  return { size, hash: hash.digest('hex') };
}

async function tokenizerOf(files: readonly WeightsFile[], signal: AbortSignal): Promise<string | null> {
  const tokenizer = files.find(({ path }) => path === 'tokenizer.json');
  if (tokenizer === undefined) return null;
  return `sha256:${(await hashOf(tokenizer.file, signal)).hash}`;
}

async function headersOf(files: readonly WeightsFile[]): Promise<Pick<FoundWeights, 'weightBytes' | 'architecture'>> {
  const index = files.find(({ path }) => path === indexName);
  const loaded = tensorFiles(
    files.map(({ path }) => path),
    index && (await readFile(index.file, 'utf8')),
  );
  const weights = files.filter(({ path }) => loaded.includes(path));
  if (weights.length === 0) throw new WeightsFailure('NotFound', 'there is no .safetensors file: correct the folder');
  let weightBytes = 0;
  for (const of of weights) weightBytes += await tensorsOf(of);
  const config = files.find(({ path }) => path === 'config.json');
  // An adapter has no architecture of its own.
  const architecture = config === undefined ? null : readConfig(JSON.parse(await readFile(config.file, 'utf8')) as Record<string, unknown>);
  return { weightBytes, architecture };
}

/** Bytes of the tensors in a file, which has all of them. */
async function tensorsOf({ path, file }: WeightsFile): Promise<number> {
  const length = headerLength(await beginning(file, lengthBytes));
  const header = (await beginning(file, lengthBytes + length)).subarray(lengthBytes);
  const whole = lengthBytes + length + dataBytes(header);
  const { size } = await lstat(file);
  if (size !== whole)
    throw new WeightsFailure('Unreadable', `${path} has ${size} bytes, and ${whole} by its header: is the file whole? Put it there again`);
  return tensorBytes(header);
}

async function beginning(file: string, bytes: number): Promise<Buffer> {
  return (await beginningOf(bytes, createReadStream(file, { end: bytes - 1 }))).body;
}
