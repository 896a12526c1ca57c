import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { systemClock } from '@agentfleet/kube';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { hastyClock, serveHttp, type LocalHttp } from '../testing/localHttp.ts';
import { createArtifactStore, S3Store, webIdentityOf } from './index.ts';
import { S3Client } from './s3Store.ts';

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

const refuse =
  (status: number, code: string, message = code, headers = {}): Handler =>
  (request, response) => {
    request.resume().once('end', () => {
      response.writeHead(status, { 'content-type': 'application/xml', ...headers });
      response.end(`<?xml version="1.0"?><Error><Code>${code}</Code><Message>${message}</Message></Error>`);
    });
  };
const accept: Handler = (request, response) => void request.resume().once('end', () => response.end());
const answer =
  (body: string, headers = {}): Handler =>
  (request, response) =>
    void request.resume().once('end', () => response.writeHead(200, headers).end(body));

let server: LocalHttp;
let folder: string;
let clock: ReturnType<typeof hastyClock>;
let seen: { readonly method: string; readonly url: string; readonly headers: IncomingMessage['headers'] }[];
let handlers: Handler[];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'agentfleet-s3-'));
  await writeFile(join(folder, 'credential'), 'AKID:very-secret-key\n');
  clock = hastyClock(100_000);
  [seen, handlers] = [[], []];
  server = await serveHttp((request, response) => {
    seen.push({ method: request.method ?? '', url: request.url ?? '', headers: request.headers });
    (handlers.length > 1 ? handlers.shift() : handlers[0])?.(request, response);
  });
});
afterEach(async () => {
  await server[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
});

function open(change: Partial<ConstructorParameters<typeof S3Store>[0]> = {}): S3Store {
  return new S3Store({
    uri: 's3://agents/pool/a',
    endpoint: server.url,
    region: 'eu-west-1',
    forcePathStyle: true,
    credentialFile: join(folder, 'credential'),
    spool: folder,
    clock,
    random: () => 0,
    maxWaitMs: 10_000,
    ...change,
  });
}

describe('trying again', () => {
  it('sends the same stream again while the store is busy', async () => {
    handlers = [refuse(503, 'SlowDown'), refuse(500, 'InternalError'), (request) => request.socket.destroy(), accept];
    const stored = await open().put('x', Readable.from([Buffer.from('abc')]), 'text/plain');
    expect(stored).toMatchObject({ uri: 's3://agents/pool/a/x', bytes: 3 });
    expect(seen.map(({ method, url }) => `${method} ${url}`)).toEqual(Array.from({ length: 4 }, () => 'PUT /agents/pool/a/x'));
    expect(seen.map(({ headers }) => headers['content-length'])).toEqual(['3', '3', '3', '3']);
    expect(clock.waits).toEqual([250, 500, 1000]);
  });

  it('waits as long as the store asks for', async () => {
    handlers = [refuse(503, 'SlowDown', 'busy', { 'retry-after': '3' }), accept];
    await open().put('x', 'abc', 'text/plain');
    expect(clock.waits).toEqual([3000]);
  });

  it('gives up with the last reason when its patience is over', async () => {
    handlers = [refuse(503, 'SlowDown', 'Reduce your request rate')];
    await expect(open().get('x')).rejects.toMatchObject({
      code: 'Unavailable',
      message: 'get s3://agents/pool/a/x: status 503, SlowDown: Reduce your request rate',
    });
    expect(seen.length).toBeGreaterThan(3);
  });

  it('sends a large artifact again whose connection breaks late', async () => {
    let passed = 0;
    const late: Handler = (request) => {
      passed += 60_000;
      request.socket.destroy();
    };
    handlers = [late, accept];
    await open({ clock: { ...clock, monotonic: () => clock.monotonic() + passed } }).put('x', 'abc', 'text/plain');
    expect(seen).toHaveLength(2);
  });

  it('reports that there is no answer', async () => {
    const store = open();
    await server[Symbol.asyncDispose]();
    await expect(store.list('')).rejects.toMatchObject({
      code: 'Unavailable',
      message: expect.stringMatching(/^list s3:.*ECONNREFUSED/) as unknown,
    });
  });

  it('stops waiting when it is aborted', async () => {
    const stop = new AbortController();
    handlers = [
      (request, response) => {
        refuse(503, 'SlowDown')(request, response);
        response.once('close', () => stop.abort(new Error('stopped')));
      },
    ];
    await expect(open({ clock: systemClock, maxWaitMs: 600_000 }).get('x', stop.signal)).rejects.toThrow('stopped');
  });

  it('does not retry a request that will be refused again', async () => {
    handlers = [refuse(403, 'AccessDenied')];
    await expect(open().put('x', 'abc', 'text/plain')).rejects.toMatchObject({ code: 'Denied' });
    expect(seen).toHaveLength(1);
  });
});

describe('refusals', () => {
  it.each([
    [403, 'SignatureDoesNotMatch', 'Credential'],
    [403, 'InvalidAccessKeyId', 'Credential'],
    [403, '', 'Denied'],
    [404, 'NoSuchBucket', 'NoBucket'],
    [404, 'NoSuchKey', 'NotFound'],
    [404, '', 'Refused'],
    [404, 'XAdminUserNotFound', 'Credential'],
    [301, 'PermanentRedirect', 'Refused'],
    [400, 'AuthorizationHeaderMalformed', 'Refused'],
    [507, '', 'Full'],
  ])('%i %s is %s, with a cure', async (status, code, kind) => {
    handlers = [refuse(status, code)];
    await expect(open().get('x')).rejects.toMatchObject({ name: 'StoreFailure', code: kind, cure: expect.stringMatching(/\w/) as unknown });
  });

  it('never repeats the secret key, whatever the server answers', async () => {
    handlers = [refuse(400, 'Odd', 'you said very-secret-key &amp; &#34;more&#34;')];
    await expect(open().get('x')).rejects.toMatchObject({ message: 'get s3://agents/pool/a/x: status 400, Odd: you said … & "more"' });
  });

  it('cuts a message of a proxy in place of the store', async () => {
    handlers = [(request, response) => void request.resume().once('end', () => response.writeHead(400).end('x'.repeat(1_000_000)))];
    await expect(open().get('x')).rejects.toMatchObject({ code: 'Refused', message: 'get s3://agents/pool/a/x: status 400' });
  });

  it('distinguishes changed content from stored content', async () => {
    handlers = [answer('changed', { 'x-amz-meta-sha256': 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad' })];
    await expect(open().get('x')).rejects.toMatchObject({ code: 'Corrupt' });
  });

  it('reads no artifact that is larger than any it would store', async () => {
    handlers = [
      (_request, response) => {
        response.writeHead(200);
        Readable.from(
          (function* () {
            for (let sent = 0; sent <= 64; sent++) yield Buffer.alloc(1024 * 1024);
          })(),
        ).pipe(response);
      },
    ];
    await expect(open().get('x')).rejects.toMatchObject({ code: 'TooLarge' });
    expect(seen).toHaveLength(1);
  });

  it.each(['<html></html>', 'not xml', '', '<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult>'])(
    'takes %j for no listing',
    async (body) => {
      handlers = [answer(body)];
      await expect(open().list('')).rejects.toMatchObject({ code: 'Refused' });
    },
  );

  it('asks for more pages of a listing a bounded number of times', async () => {
    const token = '<NextContinuationToken>t&amp;1</NextContinuationToken>';
    handlers = [answer(`<ListBucketResult><IsTruncated>true</IsTruncated>${token}</ListBucketResult>`)];
    await expect(open().list('')).rejects.toMatchObject({ code: 'TooLarge' });
    expect(seen[1]?.url).toBe('/agents?list-type=2&prefix=pool%2Fa%2F&continuation-token=t%261');
  });

  it('uses the answer to a listing only for the requested prefix', async () => {
    handlers = [
      answer('<ListBucketResult><Contents><Key>other/x</Key></Contents><Contents><Key>pool/a/1</Key></Contents></ListBucketResult>'),
    ];
    expect(await open().list('')).toEqual(['1']);
  });
});

describe('the credential', () => {
  it('is read at each use', async () => {
    handlers = [accept];
    const store = open();
    await store.put('x', '1', 'text/plain');
    await writeFile(join(folder, 'credential'), 'NEXT:another');
    await store.put('x', '1', 'text/plain');
    expect(seen.map(({ headers }) => /Credential=(\w+)\/\d{8}\/eu-west-1\/s3/.exec(headers.authorization ?? '')?.[1])).toEqual([
      'AKID',
      'NEXT',
    ]);
  });

  it.each(['', 'only-an-id', 'id: secret', ':secret', 'id:'])('is refused as %j, and not repeated', async (text) => {
    await writeFile(join(folder, 'credential'), text);
    await expect(open().get('x')).rejects.toMatchObject({
      code: 'Credential',
      message: `${join(folder, 'credential')} does not hold an access key id, a colon and a secret key`,
    });
    expect(seen).toHaveLength(0);
  });

  it('may be absent', async () => {
    handlers = [answer('x')];
    const { credentialFile: _, ...place } = {
      type: 'S3' as const,
      credentialFile: '',
      uri: 's3://agents',
      region: 'r',
      forcePathStyle: true,
    };
    const endpoint = server.url;
    await createArtifactStore({ ...place, endpoint }, { clock, random: () => 0 }).get('x');
    expect(seen[0]?.headers.authorization).toBeUndefined();
  });
});

describe('the identity of an account', () => {
  const session = (key: string, minutes: number): Handler =>
    answer(
      `<AssumeRoleWithWebIdentityResponse><AssumeRoleWithWebIdentityResult><Credentials><AccessKeyId>${key}</AccessKeyId>` +
        `<SecretAccessKey>lent</SecretAccessKey><SessionToken>session</SessionToken><Expiration>${new Date(Date.now() + minutes * 60_000).toISOString()}</Expiration>` +
        '</Credentials></AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>',
    );
  const client = (env: Readonly<Record<string, string>> = {}): S3Client => {
    const url = `${server.url}/`;
    const identity = webIdentityOf({
      AWS_ROLE_ARN: 'arn:aws:iam::1:role/fleet',
      AWS_WEB_IDENTITY_TOKEN_FILE: join(folder, 'credential'),
      AWS_ENDPOINT_URL_STS: url,
      ...env,
    });
    return new S3Client({ region: 'eu-1', clock, random: () => 0.5, maxWaitMs: 1000, ...(identity && { identity }) });
  };
  const get = (of: S3Client): Promise<unknown> => of.request({ method: 'GET', url: new URL(`${server.url}/agents/x`), what: 'get x' });

  it('signs with keys that are lent for its token, and asks again before they end', async () => {
    handlers = [session('AKID1', 4), answer('one'), session('AKID2', 60), answer('two'), answer('three')];
    const s3 = client();
    for (let count = 0; count < 3; count += 1) await get(s3);
    expect(seen.map(({ method, url }) => `${method} ${url}`)).toEqual([
      'POST /',
      'GET /agents/x',
      'POST /',
      'GET /agents/x',
      'GET /agents/x',
    ]);
    expect(seen[1]?.headers).toMatchObject({ 'x-amz-security-token': 'session' });
    expect([1, 3, 4].map((at) => /Credential=(\w+)/.exec(seen[at]?.headers.authorization ?? '')?.[1])).toEqual(['AKID1', 'AKID2', 'AKID2']);
  });

  it('reports that a role is refused, and signs nothing without one', async () => {
    handlers = [refuse(403, 'AccessDenied')];
    await expect(get(client())).rejects.toMatchObject({
      code: 'Credential',
      message: expect.stringContaining('arn:aws:iam::1:role/fleet') as string,
    });
    handlers = [answer('public')];
    await get(client({ AWS_ROLE_ARN: '' }));
    expect(seen.at(-1)?.headers.authorization).toBeUndefined();
  });
});
