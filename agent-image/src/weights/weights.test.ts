import { createHash, randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { systemClock } from '@agentfleet/kube';
import { weightsReportOf, type WeightsReport } from '@agentfleet/protocol/weights';
import { readWeightsConfig, runWeights } from './run.ts';
import { filesOf } from './source.ts';

const log = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined } as never;
const { signal } = new AbortController();

/** A safetensors file with one tensor of so many bytes. */
function safetensors(bytes: number): Buffer {
  const header = Buffer.from(JSON.stringify({ w: { dtype: 'BF16', shape: [bytes / 2], data_offsets: [0, bytes] } }));
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(header.length));
  return Buffer.concat([length, header, Buffer.alloc(bytes, 1)]);
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

const keys = Object.entries(model).map(
  ([name, { length }]) =>
    `<Contents><Key>coder/${name}</Key><Size>${length}</Size><LastModified>2026-01-01T00:00:00Z</LastModified></Contents>`,
);
const listing = `<?xml version="1.0"?><ListBucketResult><IsTruncated>false</IsTruncated>${keys.join('')}</ListBucketResult>`;

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

async function lay(files: Readonly<Record<string, Buffer | string>>): Promise<void> {
  for (const [name, content] of Object.entries(files)) {
    await mkdir(dirname(join(root, 'model', name)), { recursive: true });
    await writeFile(join(root, 'model', name), content);
  }
}

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
    const digest = (report: WeightsReport | undefined): string => (report !== undefined && 'digest' in report ? report.digest : '');
    expect(digest(await run({ ...claimed, AGENTFLEET_WEIGHTS_DIGEST: digest(found) }))).toBe(digest(found));
    await lay({ 'tokenizer.json': '{ }' });
    expect(digest(await run(claimed))).not.toBe(digest(found));
    expect(await run({ ...claimed, AGENTFLEET_WEIGHTS_DIGEST: digest(found) })).toMatchObject({ fault: 'DigestMismatch' });
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
  let server: Server;
  let origin: string;
  let fails = 0;
  /** Requests of one file that wait for each other. */
  let held: readonly (() => void)[] | undefined;
  const asked: string[] = [];
  beforeEach(async () => {
    [fails, asked.length, held] = [0, 0, undefined];
    server = createServer((request, response) => {
      asked.push(`${request.url} ${request.headers.range ?? ''} ${request.headers.authorization ?? ''}`.trim());
      serve(request, response);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });

  function serve(request: IncomingMessage, response: ServerResponse): unknown {
    if (fails > 0) {
      fails -= 1;
      return response.writeHead(503).end();
    }
    const { url = '' } = request;
    if (url.includes('list-type=2')) return response.end(listing);
    if (url.startsWith('/api/models/org/coder/revision/main')) {
      const siblings = [...Object.entries(model), ['../evil.json', 'x'], ['pytorch_model.bin', 'x']] as [string, string | Buffer][];
      return response.end(JSON.stringify({ siblings: siblings.map(([rfilename, { length: size }]) => ({ rfilename, size })) }));
    }
    const content = model[url.replace(/^\/(org\/coder\/resolve\/main|models\/coder)\//, '')];
    if (content === undefined) return response.writeHead(404).end();
    if (held !== undefined && url.includes('model-1')) return hold(() => part(request, response, content));
    return part(request, response, content);
  }

  function hold(answer: () => unknown): void {
    held = [...(held ?? []), answer];
    if (held.length === 2) for (const each of held) each();
  }

  function part(request: IncomingMessage, response: ServerResponse, content: Buffer | string): unknown {
    const [, from, to] = /bytes=(\d+)-(\d+)/.exec(request.headers.range ?? '') ?? [];
    return response.writeHead(206).end(Buffer.from(content as string).subarray(Number(from), Number(to) + 1));
  }

  afterEach(() => new Promise((resolve) => (server.closeAllConnections(), server.close(resolve))));

  const hub = (): Record<string, string> => ({ AGENTFLEET_WEIGHTS_URI: 'hf://org/coder@main', AGENTFLEET_HUB: origin });

  test('are fetched, only files that an engine reads, and not twice', async () => {
    await writeFile(join(root, 'token'), 'secret\n');
    const report = await run({ ...hub(), AGENTFLEET_CREDENTIAL_FILE: join(root, 'token') });
    expect(report).toMatchObject({ files: 4, weightBytes: 100, tokenizerHash });
    expect(asked).toHaveLength(5);
    expect(asked.every((line) => line.endsWith('Bearer secret'))).toBe(true);
    expect(asked.join('\n')).not.toMatch(/evil|pytorch/);
    expect(await run(hub())).toEqual(report);
    expect(asked).toHaveLength(6);
  });

  test('are fetched from a bucket too', async () => {
    const env = {
      AGENTFLEET_WEIGHTS_URI: 's3://models/coder',
      AGENTFLEET_S3_ENDPOINT: origin,
      AGENTFLEET_S3_REGION: 'r',
      AGENTFLEET_S3_PATH_STYLE: 'true',
    };
    expect(await run(env)).toEqual(await run(hub()));
    await rm(join(root, 'model'), { recursive: true });
    expect(await run({ ...env, AGENTFLEET_WEIGHTS_URI: 's3://models/nothing' })).toMatchObject({ fault: 'NotFound' });
  });

  test('go on where an earlier fetch was cut', async () => {
    await lay({ 'model-1.safetensors.part': safetensors(64).subarray(0, 30), 'model-2.safetensors.part': Buffer.alloc(5000) });
    expect(await run(hub())).toMatchObject({ weightBytes: 100 });
    expect(asked.find((line) => line.includes('model-1'))).toContain('bytes=30-');
    expect(asked.find((line) => line.includes('model-2'))).toContain('bytes=0-');
    await expect(stat(join(root, 'model', 'model-1.safetensors.part'))).rejects.toThrow('ENOENT');
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
