import type { ServerResponse } from 'node:http';
import { fastify, type FastifyInstance } from 'fastify';
import type { Gate } from '@agentfleet/protocol/tokens';
import { answerRefusals, guard } from '../http/guard.ts';
import type { Driver } from './driver.ts';
import type { UseState } from './member.ts';
import type { TurnstileMetrics } from './metrics.ts';
import type { Turns } from './turns.ts';
import type { Asking, Greeting, UseLine } from './wire.ts';

export interface TurnstileAppOptions {
  readonly turns: Turns;
  readonly driver: Pick<Driver, 'poke'>;
  readonly metrics: TurnstileMetrics;
  readonly gate: Gate;
}

/** A stream of a use has a line at least so often: who hears none for longer asks anew, ms. */
const beatMs = 2_000;
/** More than all requests of all engines of a slot. */
const mostUses = 4096;
const bodyLimit = 256 * 1024;

const text = { type: 'string', minLength: 1, maxLength: 253 } as const;
const origin = { type: 'string', pattern: '^http://(\\[[0-9a-fA-F:.]+\\]|[-.a-zA-Z0-9]+):[0-9]{1,5}$' } as const;
const known = {
  type: 'object',
  required: ['item', 'pod', 'engine', 'state'],
  properties: { item: text, pod: text, engine: origin, state: { enum: ['Unknown', 'Absent', 'Loading', 'Asleep', 'Awake'] } },
} as const;
const identity = {
  item: text,
  pod: text,
  engine: origin,
  boot: { type: ['string', 'null'], default: null },
  members: { type: 'array', maxItems: 256, default: [], items: known },
} as const;
const greeting = {
  type: 'object',
  required: ['item', 'pod', 'engine'],
  properties: { ...identity, load: { type: ['string', 'null'], default: null } },
} as const;
const asking = {
  type: 'object',
  required: ['id', 'item', 'pod', 'engine', 'purpose'],
  properties: { ...identity, id: text, purpose: { enum: ['Load', 'Serve'] }, held: { type: 'boolean', default: false } },
} as const;

/** The turnstile over HTTP. Not listening yet. */
export function createTurnstileApp(options: TurnstileAppOptions): FastifyInstance {
  const { turns, driver, metrics, gate } = options;
  const app = fastify({ logger: false, forceCloseConnections: true, exposeHeadRoutes: false, bodyLimit });
  guard(app, gate);
  answerRefusals(app);
  app.get('/healthz', () => ({ ok: true }));
  app.get('/v1/members', () => ({ members: turns.views() }));
  app.get('/metrics', async (_request, reply) => reply.type(metrics.registry.contentType).send(await metrics.registry.metrics()));
  app.post<{ Body: Greeting }>('/v1/members', { schema: { body: greeting } }, ({ body }) => {
    const welcome = turns.greet(body);
    driver.poke();
    return welcome;
  });
  app.delete<{ Params: { pod: string } }>('/v1/members/:pod', ({ params }, reply) => {
    turns.leave(params.pod);
    driver.poke();
    return reply.code(204).send();
  });
  app.delete<{ Params: { id: string } }>('/v1/uses/:id', ({ params }, reply) => {
    turns.end(params.id);
    driver.poke();
    return reply.code(204).send();
  });
  useRoute(app, options);
  return app;
}

/** A use is a stream: one line for each change, and again and again; it ends with the use. */
function useRoute(app: FastifyInstance, { turns, driver }: TurnstileAppOptions): void {
  const streams = new Set<() => void>();
  const beat = setInterval(() => streams.forEach((send) => send()), beatMs);
  app.addHook('onClose', () => clearInterval(beat));
  app.post<{ Body: Asking }>('/v1/uses', { schema: { body: asking } }, ({ body }, reply) => {
    if (streams.size >= mostUses) return reply.code(429).send({ error: `${streams.size} uses are there already; repeat it later` });
    reply.hijack();
    stream(body, reply.raw);
    driver.poke();
    return reply;
  });

  function stream(body: Asking, raw: ServerResponse): void {
    let state: UseState = 'Waiting';
    const send = (): void => {
      const { boot, members } = turns.welcome(body.pod);
      const line: UseLine = { state, boot, members };
      raw.write(`${JSON.stringify(line)}\n`);
    };
    const tell = (told: UseState): void => {
      state = told;
      send();
      if (told === 'Ended') raw.end();
    };
    raw.writeHead(200, { 'content-type': 'application/x-ndjson' });
    raw.on('close', () => {
      streams.delete(send);
      turns.broken(body.id, tell);
      driver.poke();
    });
    streams.add(send);
    turns.ask(body, tell);
  }
}
