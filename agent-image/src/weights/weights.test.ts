import { createHash, randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { chown, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { systemClock } from '@agentfleet/kube';
import { weightsReportOf, type WeightsReport } from '@agentfleet/protocol/weights';
import { serveHttp, type LocalHttp } from '../testing/localHttp.ts';
import { readWeightsConfig, runWeights } from './run.ts';
import { filesOf } from './source.ts';
import { indexName } from './tensors.ts';

const log = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined } as never;
const { signal } = new AbortController();

/** A safetensors file with one tensor of so many bytes, each the same. */
function safetensors(bytes: number, fill = 1): Buffer {
  const header = Buffer.from(JSON.stringify({ w: { dtype: 'BF16', shape: [bytes / 2], data_offsets: [0, bytes] } }));
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(header.length));
  return Buffer.concat([length, header, Buffer.alloc(bytes, fill)]);
}

const config = JSON.stringify({
  num_hidden_layers: 2,
  num_attention_heads: 4,
  num_key_value_heads: 2,
  hidden_size: 64,
  intermediate_size: 128,
  vocab_size: 100,
});
const model: Readonly<Record<string, Buffer | string>> = {
  'config.json': config,
  'model-1.safetensors': safetensors(64),
  'model-2.safetensors': safetensors(36),
  'tokenizer.json': '{}',
};
const tokenizerHash = `sha256:${createHash('sha256').update('{}').digest('hex')}`;

type Files = Readonly<Record<string, Buffer | string>>;
const idOf = (content: Buffer | string): string => createHash('sha1').update(content).digest('hex');

function listingOf(files: Files): string {
  const keys = Object.entries(files).map(
    ([name, content]) =>
      `<Contents><Key>coder/${name}</Key><Size>${content.length}</Size><ETag>&quot;${idOf(content)}&quot;</ETag></Contents>`,
  );
  return `<?xml version="1.0"?><ListBucketResult><IsTruncated>false</IsTruncated>${keys.join('')}</ListBucketResult>`;
}

/** As the hub lists them: large files by their SHA-256, all by an id of their content. */
function siblingsOf(files: Files): object {
  const siblings = Object.entries(files).map(([rfilename, content]) => {
    const lfs = { sha256: createHash('sha256').update(content).digest('hex') };
    return { rfilename, size: content.length, blobId: idOf(content), ...(rfilename.endsWith('.safetensors') && { lfs }) };
  });
  return { sha: idOf(JSON.stringify(siblings)), siblings };
}

let root: string;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'weights-'));
});
afterEach(() => rm(root, { recursive: true }));

async function run(env: Readonly<Record<string, string>>): Promise<WeightsReport | undefined> {
  const report = join(root, `report-${randomUUID()}`);
  const folder = join(root, 'model');
  const whole = {
    AGENTFLEET_WEIGHTS_FOLDER: folder,
    AGENTFLEET_REPORT: report,
    AGENTFLEET_PORT: '0',
    ...env,
  };
  const code = await runWeights({ config: readWeightsConfig(whole), clock: systemClock, log, signal });
  const reported = await readFile(report, 'utf8');
  expect(reported.length).toBeLessThan(4096);
  const read = weightsReportOf(reported);
  expect(code).toBe(read !== undefined && 'fault' in read ? 1 : 0);
  return read;
}

async function lay(files: Files, folder = 'model'): Promise<void> {
  for (const [name, content] of Object.entries(files)) {
    await mkdir(dirname(join(root, folder, name)), { recursive: true });
    await writeFile(join(root, folder, name), content);
  }
}

const indexOf = (files: readonly string[]): string =>
  JSON.stringify({ weight_map: Object.fromEntries(files.map((file, at) => [`w${at}`, file])) });

const digestOf = (report: WeightsReport | undefined): string => (report !== undefined && 'digest' in report ? report.digest : '');

const claimed = { AGENTFLEET_WEIGHTS_URI: 'pvc://models/coder' };

describe('weights in a folder', () => {
  test('are read: bytes of tensors, sizes of the model, one digest over names and contents', async () => {
    await lay(model);
    const found = await run(claimed);
    expect(found).toMatchObject({
      files: 4,
      weightBytes: 100,
      architecture: { layers: 2, kvHeads: 2, headSize: 16, hiddenSize: 64, feedForwardSize: 128, vocabulary: 100 },
      tokenizerHash,
    });
    expect(digestOf(await run({ ...claimed, AGENTFLEET_WEIGHTS_DIGEST: digestOf(found) }))).toBe(digestOf(found));
    await lay({ 'tokenizer.json': '{ }' });
    expect(digestOf(await run(claimed))).not.toBe(digestOf(found));
    expect(await run({ ...claimed, AGENTFLEET_WEIGHTS_DIGEST: digestOf(found) })).toMatchObject({ fault: 'DigestMismatch' });
  });

  test('count once where the same tensors are there in another form too', async () => {
    const doubles = { 'consolidated.safetensors': safetensors(100), 'original/model.safetensors': safetensors(100) };
    await lay({ ...model, ...doubles });
    expect(await run(claimed)).toMatchObject({ files: 6, weightBytes: 100 });
    await lay({ [indexName]: indexOf(['model-1.safetensors']) });
    expect(await run(claimed)).toMatchObject({ files: 7, weightBytes: 64 });
    await lay({ [indexName]: indexOf(['model-1.safetensors', 'model-3.safetensors']) });
    const message = expect.stringContaining('names model-3.safetensors, which is not there') as string;
    expect(await run(claimed)).toMatchObject({ fault: 'Unreadable', message });
    await lay({ [indexName]: '{}' });
    expect(await run(claimed)).toMatchObject({ fault: 'Unreadable', message: expect.stringContaining('has no weight_map') as string });
    for (const name of Object.keys({ ...model, [indexName]: '' })) await rm(join(root, 'model', name));
    expect(await run(claimed)).toMatchObject({ weightBytes: 100, architecture: null });
  });

  test('are read beside what only the administrator of the volume may read', async () => {
    await lay(model);
    const found = await run(claimed);
    await mkdir(join(root, 'model', 'lost+found'), { mode: 0 });
    // Root may read everything.
    const uid = process.geteuid?.();
    if (uid === 0) await chown(root, 65_532, 65_532);
    if (uid === 0) process.seteuid?.(65_532);
    try {
      expect(await run(claimed)).toEqual(found);
    } finally {
      if (uid === 0) process.seteuid?.(0);
    }
  });

  test('of an adapter have no architecture', async () => {
    await lay({ 'adapter_model.safetensors': safetensors(10), 'adapter_config.json': '{}' });
    expect(await run(claimed)).toMatchObject({ weightBytes: 10, architecture: null, tokenizerHash: null });
  });

  test('that are not there, not whole, or linked from elsewhere are refused with the cure', async () => {
    expect(await run(claimed)).toMatchObject({ fault: 'NotFound', message: expect.stringContaining('correct the folder') as string });
    await lay({ 'readme.txt': 'x' });
    expect(await run(claimed)).toMatchObject({ fault: 'NotFound', message: expect.stringContaining('.safetensors') as string });
    await lay({ 'model.safetensors': safetensors(64).subarray(0, 20) });
    expect(await run(claimed)).toMatchObject({ fault: 'Unreadable', message: expect.stringContaining('whole') as string });
    for (const content of [safetensors(64).subarray(0, 100), Buffer.concat([safetensors(64), Buffer.alloc(7)])]) {
      await lay({ 'model.safetensors': content });
      const message = expect.stringContaining(
        `model.safetensors has ${content.length} bytes, and ${safetensors(64).length} by its header`,
      ) as string;
      expect(await run(claimed)).toMatchObject({ fault: 'Unreadable', message });
    }
    await symlink('/etc/hostname', join(root, 'model', 'stranger.json'));
    expect(await run(claimed)).toMatchObject({ fault: 'Refused', message: expect.stringContaining('stranger.json') as string });
  });
});

describe('weights in a hub or a bucket', () => {
  let server: LocalHttp;
  let origin: string;
  let fails = 0;
  /** What is at the source now. */
  let source: Files;
  let serveListing: () => string;
  /** Whether an answer breaks off, and the connection after it. */
  let cut = false;
  /** Requests of one file that wait for each other. */
  let held: readonly (() => void)[] | undefined;
  const asked: string[] = [];
  beforeEach(async () => {
    [fails, asked.length, held, source, cut] = [0, 0, undefined, model, false];
    serveListing = () => listingOf(source);
    server = await serveHttp((request, response) => {
      asked.push(`${request.url} ${request.headers.range ?? ''} ${request.headers.authorization ?? ''}`.trim());
      serve(request, response);
    });
    origin = server.url;
  });

  function serve(request: IncomingMessage, response: ServerResponse): unknown {
    if (fails > 0) {
      fails -= 1;
      return response.writeHead(503).end();
    }
    const { url = '' } = request;
    if (url.includes('list-type=2')) return response.end(serveListing());
    if (url.startsWith('/api/models/org/coder/revision/main'))
      return response.end(JSON.stringify(siblingsOf({ ...source, '../evil.json': 'x', 'pytorch_model.bin': 'x' })));
    const content = source[url.replace(/^\/(org\/coder\/resolve\/(?:main|[0-9a-f]{40})|models\/coder)\//, '')];
    if (content === undefined) return response.writeHead(404).end();
    const { 'if-match': match } = request.headers;
    if (match !== undefined && match !== `"${idOf(content)}"`) return response.writeHead(412).end();
    if (held !== undefined && url.includes('model-1')) return hold(() => part(request, response, content));
    return part(request, response, content);
  }

  function hold(answer: () => unknown): void {
    held = [...(held ?? []), answer];
    if (held.length === 2) for (const each of held) each();
  }

  function part(request: IncomingMessage, response: ServerResponse, content: Buffer | string): unknown {
    const [, from, to] = /bytes=(\d+)-(\d+)/.exec(request.headers.range ?? '') ?? [];
    if (cut && from !== '0') return response.writeHead(404).end();
    if (cut) return response.writeHead(206).end(Buffer.from(content as string).subarray(0, 30));
    return response.writeHead(206).end(Buffer.from(content as string).subarray(Number(from), Number(to) + 1));
  }

  afterEach(() => server[Symbol.asyncDispose]());

  const hub = (): Record<string, string> => ({ AGENTFLEET_WEIGHTS_URI: 'hf://org/coder@main', AGENTFLEET_HUB: origin });

  const bucket = (): Record<string, string> => ({
    AGENTFLEET_WEIGHTS_URI: 's3://models/coder',
    AGENTFLEET_S3_ENDPOINT: origin,
    AGENTFLEET_S3_REGION: 'r',
    AGENTFLEET_S3_PATH_STYLE: 'true',
  });

  test('are fetched, only files that an engine reads, and not twice', async () => {
    await writeFile(join(root, 'token'), 'secret\n');
    const report = await run({ ...hub(), AGENTFLEET_CREDENTIAL_FILE: join(root, 'token') });
    expect(report).toMatchObject({ files: 4, weightBytes: 100, tokenizerHash });
    expect(asked).toHaveLength(5);
    expect(asked.every((line) => line.endsWith('Bearer secret'))).toBe(true);
    expect(asked.filter((line) => /\/resolve\/[0-9a-f]{40}\//.test(line))).toHaveLength(4);
    expect(asked.join('\n')).not.toMatch(/evil|pytorch/);
    expect(await run(hub())).toEqual(report);
    expect(asked).toHaveLength(6);
  });

  test('are fetched from a bucket too', async () => {
    const env = bucket();
    expect(await run(env)).toEqual(await run(hub()));
    await rm(join(root, 'model'), { recursive: true });
    expect(await run({ ...env, AGENTFLEET_WEIGHTS_URI: 's3://models/nothing' })).toMatchObject({ fault: 'NotFound' });
  });

  /** A run that gets 30 bytes of the first file that is longer. */
  async function runCut(): Promise<void> {
    cut = true;
    expect(await run(hub())).toMatchObject({ fault: 'NotFound' });
    cut = false;
    asked.length = 0;
  }
  const other: Files = { ...model, 'model-1.safetensors': safetensors(64, 2), 'tokenizer.json': '[]' };
  const freshDigest = async (files: Files): Promise<string> => {
    await lay(files, 'fresh');
    return digestOf(await run({ ...claimed, AGENTFLEET_WEIGHTS_FOLDER: join(root, 'fresh') }));
  };

  test('go on where an earlier fetch was cut, while they are the same', async () => {
    const first = 'config.json';
    await runCut();
    expect(await run(hub())).toMatchObject({ weightBytes: 100 });
    expect(asked.find((line) => line.includes(first))).toContain('bytes=30-');
    await rm(join(root, 'model'), { recursive: true });
    await runCut();
    source = { ...model, [first]: config.replace('64', '65') };
    expect(digestOf(await run(hub()))).toBe(await freshDigest(source));
    expect(asked.find((line) => line.includes(first))).toContain('bytes=0-');
    expect((await readdir(join(root, 'model'))).sort()).toEqual(Object.keys(model).sort());
  });

  test.each(['a hub', 'a bucket'])(
    'are those of the source: of %s only what changed is fetched again, and what is gone goes',
    async (kind) => {
      const env = kind === 'a hub' ? hub() : bucket();
      source = { ...model, 'old/extra.json': '{}' };
      expect(await run(env)).toMatchObject({ files: 5 });
      source = other;
      asked.length = 0;
      expect(digestOf(await run(env))).toBe(await freshDigest(other));
      expect(asked.filter((line) => line.includes('bytes=')).map((line) => /[-\w.]+(?= bytes)/.exec(line)?.[0])).toEqual([
        'model-1.safetensors',
        'tokenizer.json',
      ]);
    },
  );

  test('are fetched once where the same tensors are there in another form too', async () => {
    const doubles = { 'consolidated.safetensors': safetensors(100), 'original/model.safetensors': safetensors(100) };
    const wanted = { ...model, 'original/config.json': '{}' };
    source = { ...wanted, ...doubles };
    expect(await run(hub())).toMatchObject({ files: 5, weightBytes: 100 });
    source = { ...source, [indexName]: indexOf(['model-2.safetensors']) };
    expect(await run(hub())).toMatchObject({ files: 5, weightBytes: 36 });
    expect(asked.join('\n')).not.toMatch(/consolidated|original\/model/);
  });

  test('that are replaced in the bucket while they are fetched are not mixed', async () => {
    const listed = listingOf(model);
    source = other;
    serveListing = () => listed;
    expect(await run(bucket())).toMatchObject({ fault: 'Unreachable', message: expect.stringContaining('412') as string });
  });

  test('that were damaged in the folder are fetched once more, not each time when it is the digest that is wrong', async () => {
    const digest = digestOf(await run(hub()));
    const file = join(root, 'model', 'model-1.safetensors');
    const { atime, mtime } = await stat(file);
    await writeFile(file, safetensors(64, 3));
    await utimes(file, atime, mtime);
    const pinned = { ...hub(), AGENTFLEET_WEIGHTS_DIGEST: digest };
    expect(await run(pinned)).toMatchObject({ digest });
    const wrong = { ...hub(), AGENTFLEET_WEIGHTS_DIGEST: `sha256:${'f'.repeat(64)}` };
    for (const fetched of [4, 0]) {
      asked.length = 0;
      expect(await run(wrong)).toMatchObject({ fault: 'DigestMismatch' });
      expect(asked.filter((line) => line.includes('bytes='))).toHaveLength(fetched);
    }
  });

  test('are whole when two runs fetch them at once', async () => {
    held = [];
    const [one, two] = await Promise.all([run(hub()), run(hub())]);
    expect(one).toMatchObject({ files: 4, weightBytes: 100 });
    expect(two).toEqual(one);
    expect(await readFile(join(root, 'model', 'model-1.safetensors'))).toEqual(model['model-1.safetensors']);
    expect((await readdir(join(root, 'model'))).sort()).toEqual(Object.keys(model).sort());
  });

  test('that fail for a moment are asked for again; those that are not there are not', async () => {
    fails = 1;
    expect(await run(hub())).toMatchObject({ weightBytes: 100 });
    const before = asked.length;
    expect(await run({ ...hub(), AGENTFLEET_WEIGHTS_URI: 'hf://org/nothing@main' })).toMatchObject({
      fault: 'NotFound',
      message: expect.stringContaining('correct the model or the revision') as string,
    });
    expect(asked).toHaveLength(before + 1);
  });
});

test('files that an engine does not read stay where they are', () => {
  const files = ['a.safetensors', 'b.gguf', 'c.bin', 'd.json', '/e.json', 'f/../g.json', 'h/i.json'].map((path) => ({ path, bytes: 1 }));
  expect(filesOf(files).map(({ path }) => path)).toEqual(['a.safetensors', 'd.json', 'h/i.json']);
});
