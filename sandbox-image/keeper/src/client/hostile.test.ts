import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { limited, answerBounds } from './transport.ts';
import { KeeperClient } from './client.ts';

const mib = 1024 * 1024;
/** Bytes that the hostile keeper tries to send. */
const flood = 250 * mib;
/** Bytes in the socket buffers of both sides. */
const underWay = 24 * mib;

let server: Server | undefined;
afterEach(() => {
  server?.closeAllConnections();
  server?.close();
});

interface Hostile {
  readonly client: KeeperClient;
  /** Bytes that were sent. */
  readonly sent: () => number;
  /** Lets the time of all requests pass. */
  readonly pass: () => void;
}

async function hostile(answer: (response: ServerResponse, request: IncomingMessage) => void): Promise<Hostile> {
  server = createServer((request, response) => {
    request.resume();
    answer(response, request);
  });
  const sockets = new Set<{ readonly bytesWritten: number }>();
  server.on('connection', (socket) => sockets.add(socket));
  const { promise, resolve } = Promise.withResolvers<void>();
  server.listen(0, '127.0.0.1', resolve);
  await promise;
  const { port } = server.address() as AddressInfo;
  const timers = new Set<() => void>();
  const after = (_ms: number, run: () => void): (() => void) => {
    timers.add(run);
    return () => timers.delete(run);
  };
  const client = new KeeperClient({ baseUrl: `http://127.0.0.1:${port}`, token: () => 't', epoch: 1, after });
  return {
    client,
    sent: () => [...sockets].reduce((sum, { bytesWritten }) => sum + bytesWritten, 0),
    pass: () => {
      for (const run of timers) run();
    },
  };
}

/** Sends the same text repeatedly, as fast as it is read. */
function repeat(text: string, status = 200) {
  const piece = Buffer.from(text.repeat(Math.ceil((256 * 1024) / text.length)));
  return (response: ServerResponse): void => {
    response.on('error', () => undefined);
    response.writeHead(status);
    let sent = 0;
    const more = (): void => {
      while (sent < flood && !response.destroyed) {
        sent += piece.length;
        if (!response.write(piece)) return void response.once('drain', more);
      }
      response.end();
    };
    more();
  };
}

async function drain(stream: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of stream);
}

const id = '01K00000000000000000000000';
const command = { execId: id, tool: 'Shell', command: 'true' } as const;
const part = { sha256: 'a'.repeat(64), size: 1, offset: 0, length: 1 };
const none = new Uint8Array();

/** Every request of the client. Those that are read as a stream of unbounded length hold no more than a line. */
const calls: Readonly<Record<string, (client: KeeperClient) => Promise<unknown>>> = {
  info: (client) => client.info(),
  exec: (client) => drain(client.exec(command)),
  follow: (client) => drain(client.follow(id)),
  spilledOutput: async (client) => drain(await client.spilledOutput(id, 'stdout')),
  run: (client) => client.run(command),
  waitFor: (client) => client.waitFor(id),
  writeStdin: (client) => client.writeStdin(id, 1, 'x'),
  resizeTerminal: (client) => client.resizeTerminal(id, 1, 1),
  interrupt: (client) => client.interrupt(id),
  openSession: (client) => client.openSession({ sessionId: id }),
  sessions: (client) => client.sessions(),
  execInSession: (client) => drain(client.execInSession(id, { execId: id, command: 'true' })),
  runInSession: (client) => client.runInSession(id, { execId: id, command: 'true' }),
  closeSession: (client) => client.closeSession(id),
  cancel: (client) => client.cancel(id),
  readFile: (client) => client.readFile('/workspace/a'),
  writeFile: (client) => client.writeFile('/workspace/a', 'x'),
  readLines: (client) => client.readLines('/workspace/a'),
  listFiles: (client) => client.listFiles('/workspace'),
  searchFiles: (client) => client.searchFiles({ path: '/workspace', text: 'x' }),
  replaceInFile: (client) => client.replaceInFile({} as never),
  astEdit: (client) => client.astEdit({} as never),
  declareSecrets: (client) => client.declareSecrets([]),
  scrub: (client) => client.scrub(),
  applyPatch: (client) => client.applyPatch({} as never),
  writeTree: (client) => client.writeTree('/workspace', none),
  readTree: async (client) => drain((await client.readTree('/workspace')).tar),
  note: (client) => client.note('Kind', {}),
  noteAll: (client) => client.noteAll([{ kind: 'Kind', data: {} }]),
  takeSnapshot: (client) => client.takeSnapshot(),
  snapshots: (client) => client.snapshots(),
  spans: (client) => client.spans('0'.repeat(32)),
  manifest: (client) => client.manifest('s0001'),
  exportParts: (client) => client.exportParts([part]),
  beginAdoption: (client) => client.beginAdoption(),
  adoptLog: (client) => client.adoptLog(none),
  adoptParts: (client) => client.adoptParts(none),
  adoptManifest: (client) => client.adoptManifest('s0001', none),
  commitAdoption: (client) => client.commitAdoption({} as never),
  dropAdoption: (client) => client.dropAdoption(),
  restore: (client) => client.restore('s0001'),
  diff: (client) => client.diff('s0001'),
  revertBundle: async (client) => drain(await client.revertBundle('s0001')),
  events: (client) => drain(client.events()),
  audit: (client) => client.audit(),
  restartTools: (client) => client.restartTools(),
  egress: (client) => client.egress(),
};

/** These return a stream whose bound is above the size sent here, and hold nothing. */
const passedOn = new Set(['readTree', 'revertBundle', 'spilledOutput']);
const held = Object.entries(calls).filter(([name]) => !passedOn.has(name));

describe('a hostile keeper', () => {
  test('is asked by these requests and no others', () => {
    const methods = Object.getOwnPropertyNames(KeeperClient.prototype).filter((name) => !['constructor', 'close'].includes(name));
    expect(methods.sort()).toEqual(Object.keys(calls).sort());
  });

  test.each(held)('that floods %s is cut off with a code, and nothing like that is read', async (_name, call) => {
    const { client, sent } = await hostile(repeat('[[0,"x"],'));
    await expect(call(client)).rejects.toMatchObject({
      name: 'KeeperRefusal',
      code: expect.stringMatching(/^AF_ANSWER_|AF_UNREADABLE/) as string,
    });
    expect(sent()).toBeLessThan(answerBounds.manifest.bytes + underWay);
  });

  test.each(held)('that floods the refusal of %s is cut off', async (_name, call) => {
    const { client, sent } = await hostile(repeat('x', 503));
    await expect(call(client)).rejects.toMatchObject({ code: 'AF_ANSWER_TOO_LARGE' });
    expect(sent()).toBeLessThan(underWay);
  });

  test('ends a small answer after 256 KiB, and names the route', async () => {
    const { client, sent } = await hostile(repeat('x'));
    await expect(client.info()).rejects.toMatchObject({
      code: 'AF_ANSWER_TOO_LARGE',
      message: expect.stringContaining('/v1/info') as string,
    });
    expect(sent()).toBeLessThan(underWay);
  });

  test('cannot make a stream that is handed on longer than its bound', async () => {
    const { client, sent } = await hostile(repeat('x'));
    const { tar } = await client.readTree('/workspace');
    await expect(drain(limited(tar, '/v1/tree', 5 * mib, () => undefined))).rejects.toMatchObject({ code: 'AF_ANSWER_TOO_LARGE' });
    expect(tar.destroyed).toBe(true);
    expect(sent()).toBeLessThan(underWay);
  });

  test('cannot send more output of a command than commands may have', async () => {
    const output = `${JSON.stringify({ type: 'out', seq: 1, stream: 'stdout', text: 'x'.repeat(60_000) })}\n`;
    const { client, sent } = await hostile(repeat(output));
    await expect(client.run(command)).rejects.toMatchObject({ code: 'AF_ANSWER_TOO_LARGE' });
    expect(sent()).toBeLessThan(flood / 2);
  });

  test.each([
    ['an object with a length for text', '{"type":"out","seq":1,"stream":"stdout","text":{"length":1073741824}}\n'],
    ['a stream that is none', '{"type":"out","seq":1,"stream":"__proto__","text":"x"}\n'],
    ['what is no JSON', 'x\n'],
    ['very many levels', `${'['.repeat(100_000)}\n`],
    ['very many members', `[${'{},'.repeat(1_300_000)}0]\n`],
  ])('cannot send %s', async (_what, body) => {
    const { client } = await hostile((response) => response.end(body));
    await expect(client.run(command)).rejects.toMatchObject({ code: 'AF_ANSWER_MALFORMED' });
  });

  test.each(['info', 'readFile', 'run', 'events', 'restore', 'readTree'])('that never ends %s is given up', async (name) => {
    const arrived = Promise.withResolvers<void>();
    const { client, pass } = await hostile((response) => {
      response.writeHead(200);
      response.write('{"');
      arrived.resolve();
    });
    const asked = expect(calls[name]?.(client)).rejects.toMatchObject({ code: 'AF_ANSWER_LATE' });
    await arrived.promise;
    pass();
    await asked;
  });

  test('has its words cut', async () => {
    const error = { code: 'AF_BUSY', message: 'x'.repeat(50_000), cure: { length: 1e9 } };
    const { client } = await hostile((response) => {
      response.writeHead(409);
      response.end(JSON.stringify({ error }));
    });
    const refusal: unknown = await client.info().catch((no: unknown) => no);
    expect(refusal).toMatchObject({ code: 'AF_BUSY' });
    expect((refusal as Error).message.length).toBeLessThan(10_000);
  });
});
