import { once } from 'node:events';
import { connect, createServer, type Server } from 'node:net';
import { Worker } from 'node:worker_threads';
import { systemClock } from '@agentfleet/kube';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { serveTunnel, type EgressRequest } from './connection.ts';
import { createDialer, dialFirst, Forbidden, type AddressRules, type Dialer, type DialerOptions } from './dial.ts';
import { HostList, type HostPort } from './hosts.ts';
import { listening, socketPair, textOf } from './testing/sockets.ts';

const { signal } = new AbortController();
let server: Server;
let port = 0;
let accepted = 0;

/** Stands for a pod of another tenant, the kubelet or the API server: it listens, and counts connections. */
beforeAll(async () => {
  server = createServer((socket) => {
    accepted += 1;
    socket.on('error', () => undefined);
    socket.end();
  });
  port = await listening(server);
});
afterAll(() => server.close());

const dialerOf = (rules: AddressRules, more: Partial<DialerOptions> = {}): Dialer =>
  createDialer({ clock: systemClock, env: { KUBERNETES_SERVICE_HOST: '10.96.0.1' }, ...more })(rules);

async function outcome(dialer: Dialer, to: HostPort): Promise<string> {
  try {
    (await dialer.dial(to, signal)).destroy();
    return 'connected';
  } catch (error) {
    return error instanceof Forbidden ? error.message.replace(/^\S+ /, '') : `other: ${String(error)}`;
  }
}

const closed =
  'may not be reached: it is unknown, or inside the cluster or a private network; correct it, or list it in spec.policy.allowedHosts of the pool';

/** All spellings that a resolver accepts for addresses of this machine, where a server listens. */
const spellings = [
  '127.0.0.1',
  '127.1',
  '2130706433',
  '0x7f000001',
  '0x7f.0.0.1',
  '0177.0.0.1',
  '017700000001',
  '127.0.0.1.',
  'localhost',
  '::ffff:127.0.0.1',
  '::ffff:7f00:1',
  '[::ffff:127.0.0.1]',
  '0.0.0.0',
  '0',
  '::',
];

describe('an unlisted address', () => {
  test.each(spellings)('%s is not dialed', async (host) => {
    const before = accepted;
    expect(await outcome(dialerOf({ open: [] }), { host, port })).toBe(closed);
    expect(accepted).toBe(before);
  });

  test.each([
    '10.96.0.1',
    '10.244.1.7',
    '172.18.0.2',
    '192.168.0.1',
    '100.64.0.1',
    '169.254.169.254',
    '224.0.0.1',
    '255.255.255.255',
    '::1',
    'fd00::1',
    'fe80::1',
    'fe80::1%lo',
    '64:ff9b::a00:1',
    '::ffff:10.0.0.1',
    '2002:a00:1::',
    '198.18.0.1',
  ])('%s is refused in the same words', async (host) => {
    expect(await outcome(dialerOf({ open: [] }), { host, port: 443 })).toBe(closed);
  });

  test('is refused with the same message whether the name exists, a server listens, and whatever it leads to', async () => {
    const unknown = Object.assign(new Error('getaddrinfo ENOTFOUND'), { code: 'ENOTFOUND' });
    const names: Readonly<Record<string, readonly string[] | Error>> = {
      'api.corp': ['10.1.2.3'],
      'both.corp': ['10.1.2.3', 'fd00::5'],
      'here.corp': ['127.0.0.1'],
      'nobody.corp': unknown,
      'empty.corp': [],
    };
    const resolve: DialerOptions['resolve'] = (name) => {
      const found = names[name] ?? unknown;
      return found instanceof Error ? Promise.reject(found) : Promise.resolve(found);
    };
    const said = await Promise.all(
      Object.keys(names).map((host) => outcome(dialerOf({ open: [{ host, port: 1 }] }, { resolve }), { host, port })),
    );
    expect(said).toEqual(Object.keys(names).map(() => closed));
  });

  test('of the cluster is refused where its ranges are public ones, and so is the machine itself', async () => {
    const rules = { open: [], clusterRanges: ['34.118.224.0/20', '2600:1900::/28'] };
    for (const host of ['34.118.225.1', '2600:1900::9', '8.8.8.8', '::ffff:34.118.225.1'])
      expect(await outcome(dialerOf(rules, { ownAddresses: ['8.8.8.8'] }), { host, port })).toBe(closed);
  });
});

describe('entries of the list of the pool', () => {
  test('an address is dialed, at the port that is listed', async () => {
    const dialer = dialerOf({ open: [{ host: '127.0.0.1', port }] });
    expect(await outcome(dialer, { host: '127.0.0.1', port })).toBe('connected');
    expect(await outcome(dialer, { host: '127.0.0.1', port: port + 1 })).toBe(closed);
    expect(await outcome(dialer, { host: '127.0.0.2', port })).toBe(closed);
  });

  test('a name may lead to private addresses, and the judged address is the dialed one', async () => {
    const asked: string[] = [];
    const answers = [['192.0.2.1', '127.0.0.1'], ['127.0.0.1']];
    const resolve = (name: string): Promise<readonly string[]> => Promise.resolve(answers[asked.push(name) - 1] ?? []);
    const open = [{ host: 'git.corp', port: 9 }];
    const limited = dialerOf({ open }, { resolve, ownAddresses: [] });
    // The private address of the first answer is tried; its refusal is reported unchanged.
    const first = await limited.dial({ host: 'git.corp', port: 9 }, AbortSignal.timeout(300)).catch((error: unknown) => error);
    expect(first).not.toBeInstanceOf(Forbidden);
    expect(String(first)).not.toContain('127.0.0.1');
    expect(asked, 'nothing is resolved between the judgement and the connection').toEqual(['git.corp']);
    expect(await outcome(limited, { host: 'git.corp', port: 9 })).toMatch(/^may not be reached: it is listed, and leads to the worker/);
  });

  test.each(['10.96.0.1', '127.0.0.1', '169.254.169.254', '::ffff:169.254.169.254', '0.0.0.0'])(
    'a name that leads to %s is refused: who runs the name server is not the pool',
    async (address) => {
      const dialer = dialerOf({ open: [{ host: 'sly.example', port }] }, { resolve: () => Promise.resolve([address]) });
      expect(await outcome(dialer, { host: 'sly.example', port })).toMatch(/^may not be reached: it is listed, and leads to/);
    },
  );

  test.each(['169.254.169.254', '0.0.0.0', 'fe80::1', '224.0.0.1'])('%s stays closed although it is listed', async (host) => {
    expect(await outcome(dialerOf({ open: [{ host, port }] }), { host, port })).toMatch(/^may not be reached: it is listed, and/);
  });

  test('an unknown name, and a port without a listener, are reported as such', async () => {
    const unknown = dialerOf({ open: [{ host: 'git.corp', port }] }, { resolve: () => Promise.reject(new Error('ENOTFOUND git.corp')) });
    expect(await outcome(unknown, { host: 'git.corp', port })).toContain('ENOTFOUND git.corp');
    const free = createServer();
    const nobody = await listening(free);
    await new Promise((resolve) => free.close(resolve));
    const dialer = dialerOf({ open: [{ host: '127.0.0.1', port: nobody }] });
    expect(await outcome(dialer, { host: '127.0.0.1', port: nobody })).toContain('ECONNREFUSED');
  });
});

describe('of several addresses', () => {
  /** Listens in a thread that stands still, so that its queue of two is full and each further connection hears nothing. */
  async function silent(): Promise<AsyncDisposable & { readonly host: string; readonly port: number }> {
    const host = '127.0.0.9';
    const code = `const { createServer } = require('node:net');
      const { parentPort } = require('node:worker_threads');
      const server = createServer().listen({ host: '${host}', port: 0, backlog: 1 }, () => {
        parentPort.postMessage(server.address().port);
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
      });`;
    const thread = new Worker(code, { eval: true });
    const [at] = (await once(thread, 'message')) as [number];
    const fill = Array.from({ length: 4 }, () => connect(at, host).on('error', () => undefined));
    await Promise.all(fill.slice(0, 2).map((socket) => once(socket, 'connect')));
    return {
      host,
      port: at,
      async [Symbol.asyncDispose]() {
        for (const socket of fill) socket.destroy();
        await thread.terminate();
      },
    };
  }

  const connecting = (): number => process.getActiveResourcesInfo().filter((one) => one === 'TCPConnectWrap').length;

  test('a silent one holds up no other, and is let go', async () => {
    await using nobody = await silent();
    const here = createServer((socket) => socket.resume()).listen(nobody.port, '127.0.0.1');
    await once(here, 'listening');
    const before = connecting();
    const dialed = await dialFirst([nobody.host, '127.0.0.1'], nobody.port, { clock: systemClock, signal: AbortSignal.timeout(15_000) });
    expect([dialed.remoteAddress, dialed.destroyed]).toEqual(['127.0.0.1', false]);
    expect(connecting()).toBe(before);
    dialed.destroy();
    here.close();
  });

  test('one that refuses is not waited for, and the failure of the last is reported', async () => {
    const clock = { ...systemClock, after: () => ({ cancel: () => undefined }) };
    const dialed = await dialFirst(['127.0.0.2', '127.0.0.1'], port, { clock, signal });
    expect(dialed.remoteAddress).toBe('127.0.0.1');
    dialed.destroy();
    await expect(dialFirst(['127.0.0.2', '127.0.0.3'], port, { clock, signal })).rejects.toThrow(`ECONNREFUSED 127.0.0.3:${port}`);
  });
});

describe('a task that lists an address itself', () => {
  /** Sends one request to the proxy of a task whose own list has the host; returns the answer and the notes. */
  async function ask(host: string, head: string): Promise<{ answer: string; requests: readonly EgressRequest[] }> {
    const [client, tunnel] = await socketPair();
    const requests: EgressRequest[] = [];
    const served = serveTunnel(tunnel, {
      hosts: new HostList([{ host, port }]),
      listedIn: 'spec.policy.network.hosts',
      dialer: dialerOf({ open: [] }),
      clock: systemClock,
      signal,
      onTaken: () => undefined,
      onRequest: (request) => requests.push(request),
    });
    client.write(head);
    const answer = await textOf(client);
    client.destroy();
    await served;
    return { answer, requests };
  }

  test.each(['127.0.0.1', '[::ffff:127.0.0.1]', 'localhost', '0x7f000001'])('CONNECT %s does not reach it', async (host) => {
    const before = accepted;
    const { answer, requests } = await ask(host, `CONNECT ${host}:${port} HTTP/1.1\r\n\r\n`);
    expect(answer).toMatch(/^HTTP\/1\.1 403 Forbidden\r\n/);
    expect(answer).toContain(closed);
    expect(requests).toMatchObject([{ decision: 'Forbidden', bytesOut: 0 }]);
    expect(accepted).toBe(before);
  });

  test.each(['127.0.0.1', '[::ffff:7f00:1]', 'localhost'])('nor does a plain-HTTP request to http://%s', async (host) => {
    const before = accepted;
    const { answer, requests } = await ask(host, `GET http://${host}:${port}/metrics HTTP/1.1\r\nHost: x\r\n\r\n`);
    expect(answer).toMatch(/^HTTP\/1\.1 403 Forbidden\r\n/);
    expect(requests).toMatchObject([{ decision: 'Forbidden' }]);
    expect(accepted).toBe(before);
  });
});
