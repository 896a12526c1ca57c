import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { silentLog, systemClock } from '@agentfleet/kube';
import { describe, expect, it } from 'vitest';
import type { Pod } from '../runtime/resources.ts';
import { askByHttp, infoOf, InfoReader, infoRetryMs, originOf, type AskInfo } from './info.ts';

const digest = `sha256:${'a'.repeat(64)}`;
const artifact = `sha256:${'b'.repeat(64)}`;
const never = new AbortController().signal;
const podOf = (name: string, podIP?: string): Pod => ({
  metadata: { name, uid: `uid-${name}` },
  status: podIP === undefined ? {} : { podIP },
});

/** A reader whose time the test moves, and whom it asked. */
function readerOf(answer: (origin: string) => unknown) {
  let now = 0;
  const asked: string[] = [];
  const ask: AskInfo = (origin) => {
    asked.push(origin);
    return Promise.resolve(answer(origin));
  };
  const clock = { ...systemClock, monotonic: () => now };
  return { reader: new InfoReader({ ask, clock, log: silentLog }), asked, pass: (ms: number) => (now += ms) };
}

async function withServer<T>(listener: RequestListener, use: (origin: string) => Promise<T>): Promise<T> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  try {
    return await use(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  } finally {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
}

describe('what servers report', () => {
  it('is asked of each pod once', async () => {
    const { reader, asked } = readerOf(() => ({
      modelDigest: digest,
      shadow: 'not better than chance',
      about: { artifactDigest: artifact },
    }));
    const reported = new Map([['a', { digest, artifact, shadow: 'not better than chance' }]]);
    expect(await reader.read([podOf('a', '10.0.0.1')], never)).toEqual(reported);
    expect(await reader.read([podOf('a', '10.0.0.1')], never)).toEqual(reported);
    await reader.read([podOf('b', 'fd00::1')], never);
    expect(asked).toEqual(['http://10.0.0.1:7080', 'http://[fd00::1]:7080']);
  });

  it('is asked again after a while of one that did not report, and of no pod without an address', async () => {
    const answers: unknown[] = [{ modelDigest: 'latest' }, { modelDigest: digest }];
    const { reader, asked, pass } = readerOf(() => answers.shift());
    const pods = [podOf('a', '10.0.0.1'), podOf('b')];
    expect(await reader.read(pods, never)).toEqual(new Map());
    pass(infoRetryMs - 1);
    expect(await reader.read(pods, never)).toEqual(new Map());
    expect(asked).toHaveLength(1);
    pass(1);
    expect(await reader.read(pods, never)).toEqual(new Map([['a', { digest, artifact: null, shadow: null }]]));
    expect(asked).toHaveLength(2);
    expect(originOf(podOf('b'))).toBeUndefined();
  });

  it('ends with the reconcile that asks', async () => {
    const stopping = new AbortController();
    const ask: AskInfo = (_, signal) =>
      new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(new Error('ended')), { once: true }));
    const reading = new InfoReader({ ask, clock: systemClock, log: silentLog }).read([podOf('a', '10.0.0.1')], stopping.signal);
    stopping.abort();
    expect(await reading).toEqual(new Map());
  });

  it.each([[undefined], [null], ['text'], [{}], [{ modelDigest: 'sha256:abc' }]])('is nothing without a digest: %j', (answer) => {
    expect(() => infoOf(answer)).toThrow('modelDigest is not a digest');
  });

  it('is read by HTTP with a token of its namespace, and never without bound', async () => {
    const ask = askByHttp((namespace) => Promise.resolve(`Bearer for-${namespace}`));
    const answer = { modelDigest: digest, shadow: null };
    const good: RequestListener = ({ url, headers }, response) =>
      response.end(url === '/v1/info' && headers.authorization === 'Bearer for-platform' ? JSON.stringify(answer) : '');
    expect(await withServer(good, (origin) => ask(origin, never, 'platform'))).toEqual(answer);
    const endless: RequestListener = (_, response) => {
      const more = (): void => {
        while (response.writable && response.write('x'.repeat(16_384)));
      };
      response.on('drain', more);
      more();
    };
    await expect(withServer(endless, (origin) => ask(origin, never, 'platform'))).rejects.toThrow('longer than 65536 bytes');
    const elsewhere: RequestListener = (_, response) => response.writeHead(302, { location: 'http://127.0.0.1:1/' }).end();
    await expect(withServer(elsewhere, (origin) => ask(origin, never, 'platform'))).rejects.toThrow();
    const absent: RequestListener = (_, response) => response.writeHead(404).end();
    await expect(withServer(absent, (origin) => ask(origin, never, 'platform'))).rejects.toThrow('answered with 404');
  });
});
