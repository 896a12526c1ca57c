// operator, test/crash: watch events of one kind, delayed or coalesced on purpose. May import operator, kube and protocol.
import type { Tap } from './wire.ts';

/** Lag of the watch of one kind. */
export interface LagPlan {
  /** Plural of the kind. */
  readonly kind: string;
  /** `coalesce`: of the events that were held back only the last one of each object is shown, as after a new list. */
  readonly mode: 'freeze' | 'coalesce';
  /** Events that still come in time. */
  readonly from: number;
  /** Events that are held back before all are shown. */
  readonly events: number;
}

interface Held {
  readonly line: string;
  readonly deliver: (line: string) => void;
}

interface WatchLine {
  readonly type: string;
  readonly object: { readonly metadata: { readonly namespace?: string; readonly name?: string } };
}

const pluralOf = (path: string): string => path.slice(path.lastIndexOf('/') + 1);

/** Holds the events of a kind back, or shows a first list of the past. */
export class Lag implements Tap {
  readonly #plan: LagPlan;
  readonly #first: string | undefined;
  readonly #held: Held[] = [];
  #seen = 0;
  #over = false;
  #listed = false;

  /** `first`: version of which the first list is. */
  constructor(plan: LagPlan, first?: string) {
    this.#plan = plan;
    this.#first = first;
  }

  /** Whether events are held back now. */
  get holds(): boolean {
    return !this.#over && this.#held.length > 0;
  }

  firstVersion(path: string): string | undefined {
    return pluralOf(path) === this.#plan.kind ? this.#first : undefined;
  }

  line(path: string, line: string, deliver: (line: string) => void): void {
    const { kind, from, events } = this.#plan;
    if (this.#over || pluralOf(path) !== kind) {
      deliver(line);
      return;
    }
    // A first list comes whole: without its end the cache would wait for ever, on a real server too.
    if (!this.#listed) {
      this.#listed = this.#first !== undefined || line.includes('initial-events-end');
      if (this.#first === undefined) {
        deliver(line);
        return;
      }
    }
    const event = !line.startsWith('{"type":"BOOKMARK"');
    if (event) this.#seen += 1;
    if (this.#seen <= from) {
      deliver(line);
      return;
    }
    this.#held.push({ line, deliver });
    if (this.#seen >= from + events) this.release();
  }

  /** Shows what was held back; from here on all comes in time. */
  release(): void {
    this.#over = true;
    const held = this.#plan.mode === 'freeze' ? this.#held : coalesced(this.#held);
    for (const { line, deliver } of held) deliver(line);
    this.#held.length = 0;
  }
}

/** The last event of each object, and the last bookmark, in their order. */
function coalesced(held: readonly Held[]): readonly Held[] {
  const last = new Map<string, Held>();
  for (const one of held) {
    const { type, object } = JSON.parse(one.line) as WatchLine;
    const key = type === 'BOOKMARK' ? type : `${object.metadata.namespace ?? ''}/${object.metadata.name ?? ''}`;
    last.delete(key);
    last.set(key, one);
  }
  return [...last.values()];
}
