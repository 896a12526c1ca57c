// Access to the gateway, and its connections to providers: engines of vLLM, private authorities, proxies.
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { createServer, type IncomingMessage } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { gatewayAudience } from '@agentfleet/protocol/gateway';
import { expertsAudience, metricsAudience } from '@agentfleet/protocol/tokens';
import { issuer, Signer } from '@agentfleet/protocol/tokens/testing';
import { FakeEngine } from '../engines/vllm/testing/engine.ts';
import { FakeProvider, tell } from './testing/provider.ts';
import { Stage } from './testing/harness.ts';

let stage: Stage;
beforeEach(async () => {
  stage = await Stage.open();
});
afterEach(() => stage.close());

describe('a caller', () => {
  it('is let in by a token for the gateway of this pool only; metrics have their own', async () => {
    const provider = new FakeProvider();
    provider.play(tell([{ content: 'Hello.' }]));
    await stage.models({ baseURLs: [await provider.start()] });
    const signer = await Signer.create();
    await signer.writeJwks(stage.path('jwks.json'));
    const audience = gatewayAudience('fleet', 'coding');
    const worker = 'system:serviceaccount:fleet:coding-worker';
    const scraper = 'system:serviceaccount:monitoring:prometheus';
    await stage.start({
      AGENTFLEET_AUTHENTICATION: 'Tokens',
      AGENTFLEET_ISSUER: issuer,
      AGENTFLEET_JWKS: stage.path('jwks.json'),
      AGENTFLEET_AUDIENCE: audience,
      AGENTFLEET_CALLERS: worker,
      AGENTFLEET_METRICS_READERS: scraper,
    });
    const bearer = async (to: string, subject: string): Promise<{ authorization: string }> => ({
      authorization: `Bearer ${await signer.token(to, { subject })}`,
    });
    const rows = [
      [await bearer(audience, worker), 200],
      [{}, 401],
      [await bearer(gatewayAudience('fleet', 'other'), worker), 401],
      [await bearer(expertsAudience('fleet'), worker), 401],
      [await bearer(metricsAudience, scraper), 401],
      [await bearer(audience, 'system:serviceaccount:team:default'), 403],
    ] as const;
    for (const [headers, status] of rows) {
      const answer = await stage.ask({}, headers);
      expect(answer.status).toBe(status);
      if (status !== 200) expect(answer.body.error.code).toBe('Unauthenticated');
    }
    expect(provider.calls).toHaveLength(1);
    expect(JSON.stringify(provider.calls[0]?.headers)).not.toContain((await bearer(audience, worker)).authorization.slice(0, 40));
    const get = async (path: string, headers: object): Promise<number> =>
      (await fetch(`${stage.origin}${path}`, { headers: { ...headers } })).status;
    expect(await get('/metrics', await bearer(metricsAudience, scraper))).toBe(200);
    expect(await get('/v1/models', await bearer(metricsAudience, scraper))).toBe(401);
    expect(await get('/metrics', {})).toBe(401);
    expect(await get('/readyz', {})).toBe(200);
    await provider.stop();
  });
});

describe('engines of vLLM', () => {
  const engines = [new FakeEngine('org/model'), new FakeEngine('org/model')];
  const asked = (): number[] => engines.map(({ chats }) => chats.length);
  let baseURLs: string[];
  beforeEach(async () => {
    baseURLs = await Promise.all(engines.map(async (engine) => `${await engine.start()}/v1`));
    await stage.models({ baseURLs, model: 'org/model' });
    await stage.start();
  });
  afterEach(async () => {
    await Promise.all(engines.map((engine) => engine.stop()));
    for (const engine of engines) engine.chats.length = 0;
  });

  it('answer several choices with log probabilities, zeros too; usage that they leave out is estimated', async () => {
    for (const engine of engines) engine.faults.zeroLogprobs = true;
    const { body } = await stage.ask({ n: 3, logprobs: true });
    expect(body.choices.map(({ logprobs }) => logprobs?.content?.[0]?.logprob)).toEqual([0, 0, 0]);
    expect(body.usage).toMatchObject({ estimated: true });
    expect(asked().sort((a, b) => a - b)).toEqual([0, 1]);
  });

  it('keep a conversation; one that fails leaves its work to the other', async () => {
    for (let turn = 0; turn < 4; turn += 1) await stage.ask({}, { 'agentfleet-conversation': 'one' });
    expect(asked().sort((a, b) => a - b)).toEqual([0, 4]);
    const home = asked()[0] === 4 ? 0 : 1;
    const [engine] = engines.slice(home);
    if (engine !== undefined) engine.faults.generate = 500;
    expect((await stage.ask({}, { 'agentfleet-conversation': 'one' })).status).toBe(200);
    expect(asked()[1 - home]).toBe(1);
    if (engine !== undefined) delete engine.faults.generate;
  });

  it('without such a model report it', async () => {
    await stage.models({ baseURLs, model: 'org/other' });
    expect((await stage.ask()).body.error.code).toBe('ModelNotAtProvider');
  });
});

/** Key and certificate of a name, by an authority that only it has. */
async function certificate(name: string): Promise<{ readonly key: string; readonly cert: string }> {
  const [key, cert] = [stage.path('tls.key'), stage.path('tls.crt')];
  const kind = ['-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2'];
  const named = ['-subj', `/CN=${name}`, '-addext', `subjectAltName=DNS:${name}`];
  await promisify(execFile)('openssl', ['req', ...kind, ...named, '-keyout', key, '-out', cert]);
  return { key: await readFile(key, 'utf8'), cert: await readFile(cert, 'utf8') };
}

describe('a provider', () => {
  it('with a private authority, behind a proxy, is reached by both; without the authority it is not', async () => {
    const provider = new FakeProvider(await certificate('models.invalid'));
    provider.play(tell([{ content: 'Hello.' }]));
    const { port } = new URL(await provider.start());
    const seen: string[] = [];
    const proxy = createServer().on('connect', (request: IncomingMessage, socket: Socket) => {
      seen.push(request.url ?? '');
      const through = connect(Number(port), '127.0.0.1', () => socket.write('HTTP/1.1 200 OK\r\n\r\n'));
      through
        .on('error', () => socket.destroy())
        .pipe(socket)
        .on('error', () => through.destroy())
        .pipe(through);
    });
    await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
    const model = { baseURLs: [`https://models.invalid:${port}/v1`], proxy: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}` };
    await stage.models({ ...model, caFile: stage.path('tls.crt') });
    await stage.start();
    expect(await stage.ask()).toMatchObject({ status: 200 });
    expect(seen).toEqual([`models.invalid:${port}`]);
    await stage.models(model);
    const { error } = (await stage.ask()).body;
    expect(error).toMatchObject({ code: 'ProviderUnreachable', retryable: false });
    expect(error.message).toMatch(/certificate that is not trusted.*caBundleRef/);
    expect(provider.calls).toHaveLength(1);
    await provider.stop();
    proxy.close();
  });
});
