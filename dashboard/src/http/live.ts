import { once } from 'node:events';
import type { FastifyInstance, FastifyReply } from 'fastify';
import { bounds } from '../base/config.ts';
import { DashboardError } from '../base/failure.ts';
import { isName } from '../base/resources.ts';
import { callerOf, type Context, untilGone } from './context.ts';
import { pageHeaders } from './headers.ts';

/** Ms between two signs of life, so that proxies keep the stream and browsers see that it is there. */
const heartbeatMs = 10_000;

function namespacesOf(query: unknown): readonly string[] {
  const { ns } = query as { readonly ns?: unknown };
  const names = typeof ns === 'string' && ns !== '' ? ns.split(',') : [];
  const wrong = names.find((name) => !isName(name));
  if (wrong !== undefined || names.length > bounds.namespacesPerUser)
    throw new DashboardError(
      400,
      'AF_DASHBOARD_NAMESPACES',
      'the list of namespaces has what is no name, or too many',
      'Write names between commas',
    );
  return names;
}

/** Server-sent events to one browser. */
class EventStream {
  readonly #reply: FastifyReply;
  readonly #gone: AbortSignal;
  readonly #beat: NodeJS.Timeout;

  constructor(reply: FastifyReply, gone: AbortSignal) {
    this.#reply = reply;
    this.#gone = gone;
    reply.hijack();
    reply.raw.writeHead(200, {
      ...pageHeaders,
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-store',
      'x-accel-buffering': 'no',
    });
    this.#beat = setInterval(() => this.#write('event: beat\ndata: {}\n\n'), heartbeatMs);
  }

  send(event: string, content: unknown): void {
    this.#write(`event: ${event}\ndata: ${JSON.stringify(content)}\n\n`);
  }

  /** Resolves when what was sent is on its way, or the browser is gone. */
  async room(): Promise<void> {
    const { raw } = this.#reply;
    if (raw.writableNeedDrain) await once(raw, 'drain', { signal: this.#gone }).catch(() => undefined);
  }

  /** The browser then connects again, or learns that its login is over. */
  end(): void {
    this.stop();
    this.#reply.raw.end();
  }

  stop(): void {
    clearInterval(this.#beat);
  }

  #write(text: string): void {
    const { raw } = this.#reply;
    if (!raw.destroyed) raw.write(text);
  }
}

/** Number of pages that each user has open. */
class OpenPages {
  readonly #counts = new Map<string, number>();

  /** One more of a user; the function returned takes it off. @throws DashboardError for one too many */
  enter(user: string): () => void {
    const count = this.#counts.get(user) ?? 0;
    if (count >= bounds.streamsPerUser)
      throw new DashboardError(429, 'AF_DASHBOARD_STREAMS', `you have ${count} pages open`, 'Close some of them');
    this.#counts.set(user, count + 1);
    return () => {
      const left = (this.#counts.get(user) ?? 1) - 1;
      if (left === 0) this.#counts.delete(user);
      else this.#counts.set(user, left);
    };
  }
}

/** `GET /api/live?ns=a,b`: all kinds that the page follows, in one stream. */
export function liveRoute(app: FastifyInstance, context: Context): void {
  const pages = new OpenPages();
  app.get('/api/live', async (request, reply) => {
    const wanted = [...new Set([...namespacesOf(request.query), ...context.config.namespaces])];
    // Before anything is waited for: a page that leaves meanwhile leaves nothing behind.
    const gone = untilGone(reply);
    const { user } = await callerOf(context, request);
    const leave = pages.enter(user.id);
    const borrowed = await context.feeds
      .borrow(user, wanted, () => context.users.hold(user.id))
      .catch((error: unknown) => {
        leave();
        throw error;
      });
    if (gone.aborted) {
      reply.hijack();
      borrowed.release();
      return leave();
    }
    const stream = new EventStream(reply, gone);
    const stop = borrowed.feed.listen({
      change: (change) => stream.send('change', change),
      room: () => stream.room(),
      state: (states) => stream.send('state', states),
      end: () => stream.end(),
    });
    const end = (): void => {
      stop();
      stream.stop();
      borrowed.release();
      leave();
    };
    gone.addEventListener('abort', end, { once: true });
  });
}
