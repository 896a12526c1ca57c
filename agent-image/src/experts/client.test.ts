import type { IncomingMessage, ServerResponse } from 'node:http';
import { describe, expect, it } from 'vitest';
import { silentLog } from '@agentfleet/kube';
import type { GenerateRequest, GenerateResponse } from '@agentfleet/protocol/inference';
import type { ExpertEndpoint } from '@agentfleet/protocol/pool';
import { AttemptFailure } from '../base/failure.ts';
import { hastyClock, serveHttp } from '../testing/localHttp.ts';
import { chooseExpert, ExpertsClient } from './client.ts';

const request: GenerateRequest = {
  requestId: 'r1',
  role: 'Generalist',
  goal: 'g',
  step: 0,
  grammar: 'Edit',
  files: [{ path: 'a.py', content: 'x = 1\n' }],
  localisation: {
    spectrum: { files: [], passed: 0, failed: 0 } as unknown as GenerateRequest['localisation']['spectrum'],
    failingTests: [],
  },
  k: 1,
  maxEdits: 1,
  exclude: [],
  seed: 0,
  budgetMillis: 100,
};

const answer: GenerateResponse = {
  requestId: 'r1',
  engine: 'Synth',
  modelDigest: `sha256:${'ab'.repeat(32)}`,
  candidates: [
    {
      id: `sha256:${'cd'.repeat(32)}`,
      rank: 1,
      score: 0.5,
      edits: [{ path: 'a.py', range: { startByte: 4, endByte: 5 }, before: '1', after: '2', expectedSha256: 'ef'.repeat(32) }],
      operator: 'constant',
      rationale: 'raises the constant',
      location: { path: 'a.py', line: 1, column: 4 },
    },
  ],
  returnedMass: 0.5,
  exhausted: false,
  truncated: false,
  entropyNats: 0.7,
  margin: null,
  stats: { parsed: 1, considered: 2, millis: 3 },
};

type Handler = (request: IncomingMessage, response: ServerResponse, calls: number) => void;

async function expert(handler: Handler) {
  let calls = 0;
  const server = await serveHttp((request, response) => {
    request.resume();
    calls += 1;
    handler(request, response, calls);
  });
  const endpoint: ExpertEndpoint = { name: 'gen', role: 'Generalist', engine: 'Synth', domains: ['*'], url: server.url };
  return { ...server, endpoint, calls: () => calls };
}

const ask = (endpoint: ExpertEndpoint, signal = new AbortController().signal): Promise<GenerateResponse> =>
  new ExpertsClient({ clock: hastyClock(10_000), random: () => 0, log: silentLog }).of([endpoint]).generate(endpoint, request, signal);

const refusal = (code: string) => ({ error: { code, message: 'said by the test', field: null, cure: 'none' } });
const send = (response: ServerResponse, status: number, body: unknown, headers: Record<string, string> = {}): void => {
  response.writeHead(status, headers).end(typeof body === 'string' ? body : JSON.stringify(body));
};

const failureOf = async (asked: Promise<unknown>): Promise<AttemptFailure> => {
  const error: unknown = await asked.then(
    () => new Error('it was answered'),
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(AttemptFailure);
  return error as AttemptFailure;
};

describe('asking an expert', () => {
  it('returns its proposals', async () => {
    await using bench = await expert((_, response) => send(response, 200, answer));
    expect(await ask(bench.endpoint)).toEqual(answer);
  });

  it.for([
    ['its queue is full', 429, refusal('AF_QUEUE_FULL')],
    ['it is stopping', 503, refusal('AF_STOPPING')],
    ['a proxy has nobody behind it', 503, 'no healthy upstream'],
  ] as const)('asks again when %s', async ([, status, body]) => {
    await using bench = await expert((_, response, calls) =>
      send(response, calls < 3 ? status : 200, calls < 3 ? body : answer, { 'retry-after': '1' }),
    );
    expect(await ask(bench.endpoint)).toEqual(answer);
    expect(bench.calls()).toBe(3);
  });

  it('asks again when the connection breaks, and gives up after 30 s', async () => {
    await using bench = await expert((_, response) => response.destroy());
    const failure = await failureOf(ask(bench.endpoint));
    expect([failure.failureClass, failure.reason]).toEqual(['Infrastructure', 'ExpertUnreachable']);
    expect(failure.message).toContain(bench.endpoint.url);
    expect(bench.calls()).toBeGreaterThan(5);
  });

  it('asks again when the connection breaks after a long search', async () => {
    let passed = 0;
    await using bench = await expert((_, response, calls) => {
      passed += 60_000;
      if (calls === 1) response.destroy();
      else send(response, 200, answer);
    });
    const hasty = hastyClock(10_000);
    const clock = { ...hasty, monotonic: () => hasty.monotonic() + passed };
    const client = new ExpertsClient({ clock, random: () => 0, log: silentLog }).of([bench.endpoint]);
    expect(await client.generate(bench.endpoint, request, new AbortController().signal)).toEqual(answer);
  });

  it.for([
    ['AF_RECORD_ENDED', 410, 'AgentError', 'RecordEnded'],
    ['AF_LANGUAGE_UNSUPPORTED', 400, 'AgentError', 'LanguageUnsupported'],
    ['AF_INTERNAL', 500, 'Infrastructure', 'Internal'],
    ['AF_FROM_A_LATER_VERSION', 400, 'Infrastructure', 'ExpertFailed'],
  ] as const)('takes %s for an answer', async ([code, status, failureClass, reason]) => {
    await using bench = await expert((_, response) => send(response, status, refusal(code)));
    const failure = await failureOf(ask(bench.endpoint));
    expect([failure.failureClass, failure.reason]).toEqual([failureClass, reason]);
    expect(bench.calls()).toBe(1);
  });

  it.for([
    ['is no JSON', 'hello'],
    ['has no candidates', { ...answer, candidates: undefined }],
    ['answers another request', { ...answer, requestId: 'r2' }],
  ] as const)('refuses an answer that %s', async ([, body]) => {
    await using bench = await expert((_, response) => send(response, 200, body));
    expect((await failureOf(ask(bench.endpoint))).reason).toBe('ExpertMalformed');
  });

  it('refuses an answer without end', async () => {
    await using bench = await expert((_, response) => {
      response.on('error', () => {});
      const more = (): void => {
        while (!response.destroyed && response.write('x'.repeat(65_536)));
        if (!response.destroyed) response.once('drain', more);
      };
      more();
    });
    expect((await failureOf(ask(bench.endpoint))).message).toContain('more than 16777216 bytes');
  });

  it('stops with the signal', async () => {
    await using bench = await expert(() => {});
    const stop = new AbortController();
    const asked = ask(bench.endpoint, stop.signal);
    stop.abort('Rollback');
    await expect(asked).rejects.toBe('Rollback');
  });
});

describe('choosing an expert', () => {
  const endpoint = (name: string, role: ExpertEndpoint['role'], ...domains: string[]): ExpertEndpoint => ({
    name,
    role,
    engine: 'Synth',
    domains,
    url: 'http://x',
  });
  const generalist = endpoint('gen', 'Generalist', '*');
  const python = endpoint('py', 'Specialist', 'python');
  const every = endpoint('any', 'Specialist', '*');

  it('takes the Specialist of the domain, else one for everything, else the Generalist', () => {
    expect(chooseExpert([generalist, every, python], 'python').name).toBe('py');
    expect(chooseExpert([generalist, every, python], 'go').name).toBe('any');
    expect(chooseExpert([python, generalist], 'go').name).toBe('gen');
  });

  it('passes over chat models, which make no proposals', () => {
    const chat = { contextTokens: 4096, maxOutputTokens: 512, toolCalls: 'Native' } as const;
    expect(chooseExpert([generalist, { ...python, chat }], 'python').name).toBe('gen');
  });

  it('reports what the pool lacks', () => {
    expect(() => chooseExpert([python], 'go')).toThrow('no expert of the pool answers for go; give spec.experts of the pool a Generalist');
  });
});
