import type { Clock } from '../runtime/clock.ts';
import { KubeError } from '../runtime/errors.ts';
import { Reachability } from '../transport/reachability.ts';
import type { ApiRequest, ApiStream, Transport } from '../transport/types.ts';

const listEnd = '{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"1","annotations":{"k8s.io/initial-events-end":"true"}}}}\n';

function unreachable(where: string): KubeError {
  return new KubeError('AF_API_UNREACHABLE', { what: 'connect ECONNREFUSED', where, cure: 'none' });
}

/** A server without sockets that comes and goes in virtual time: every watch is empty and lives until the server dies. */
export class ScriptedServer {
  up = true;
  /** Returns the error with which a watch or a list is answered instead. */
  refusal: (() => Error | undefined) | undefined;
  /** Times at which each watch was asked for and at which each was opened, virtual ms. */
  readonly asked: number[] = [];
  readonly opened: number[] = [];
  /** Times at which it was asked whether it is ready, virtual ms. */
  readonly looks: number[] = [];
  readonly transport: Transport;
  readonly #clock: Clock;
  readonly #cuts = new Set<() => void>();

  constructor(clock: Clock, random: () => number) {
    this.#clock = clock;
    const probe = (): Promise<boolean> => {
      this.looks.push(clock.monotonic());
      return Promise.resolve(this.up);
    };
    this.transport = {
      host: 'scripted',
      reachability: new Reachability({ clock, random, probe }),
      request: <T>(request: ApiRequest) => this.#ask(request.path).then(() => ({}) as T),
      stream: (request) => this.#ask(request.path).then(() => this.#open(request.query?.['sendInitialEvents'] === true)),
      close: () => Promise.resolve(),
    };
  }

  get watches(): number {
    return this.#cuts.size;
  }

  die(): void {
    this.up = false;
    for (const cut of this.#cuts) cut();
  }

  async #ask(path: string): Promise<void> {
    this.asked.push(this.#clock.monotonic());
    if (!this.up) throw unreachable(path);
    const refusal = this.refusal?.();
    if (refusal !== undefined) throw refusal;
    return Promise.resolve();
  }

  #open(initial: boolean): ApiStream {
    this.opened.push(this.#clock.monotonic());
    let end: (how: Error | undefined) => void = () => {};
    const ended = new Promise<Error | undefined>((resolve) => (end = resolve));
    const cut = (): void => end(unreachable('stream'));
    this.#cuts.add(cut);
    void ended.then(() => this.#cuts.delete(cut));
    async function* body(): AsyncGenerator<Uint8Array> {
      if (initial) yield Buffer.from(listEnd);
      const how = await ended;
      if (how !== undefined) throw how;
    }
    return { body: body(), close: () => end(undefined) };
  }
}
