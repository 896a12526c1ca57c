import { Informer, type InformerOptions } from '../cache/informer.ts';
import { systemClock } from '../runtime/clock.ts';
import { silentLog } from '../runtime/log.ts';
import { seededRandom } from './random.ts';
import { widgets, type Bed, type Widget } from './widget.ts';

/** Waits of milliseconds, for servers in the same process. */
export const fastBackoff = { baseMs: 5, factor: 2, capMs: 50, jitter: 1, resetMs: 1000 };

/** An informer whose handler holds it to its promises. */
export interface Follower extends AsyncDisposable {
  readonly informer: Informer<Widget>;
  /** The last state reported of each uid, or `deleted`. */
  readonly reported: Map<string, string>;
  /** Reports that handlers must never get. */
  readonly faults: string[];
}

/** Follows the widgets of a test bed. */
export function follow(bed: Bed, options: Partial<InformerOptions<Widget>> = {}): Follower {
  const common = { transport: bed.transport, resource: widgets, clock: systemClock, random: seededRandom(1), log: silentLog };
  const informer = new Informer<Widget>({ ...common, backoff: fastBackoff, stallMs: 2000, ...options });
  const reported = new Map<string, string>();
  const faults: string[] = [];
  const set = (object: Widget, state: string): void => void reported.set(object.metadata.uid ?? '', state);
  const known = (object: Widget): string | undefined => reported.get(object.metadata.uid ?? '');
  informer.addHandler({
    onAdd: (object) => {
      if (known(object) !== undefined) faults.push(`added twice: ${object.metadata.name} ${known(object)}`);
      set(object, String(object.spec?.size));
    },
    onUpdate: (old, object) => {
      if (old.metadata.uid !== object.metadata.uid) faults.push('update across uids');
      if (known(object) !== String(old.spec?.size)) faults.push(`update of an unknown state: ${object.metadata.name}`);
      set(object, String(object.spec?.size));
    },
    onDelete: (object) => {
      if (known(object) === undefined || known(object) === 'deleted') faults.push(`deleted twice or unknown: ${object.metadata.name}`);
      set(object, 'deleted');
    },
  });
  const stop = new AbortController();
  const running = informer.run(stop.signal);
  const close = async (): Promise<void> => {
    stop.abort();
    await running;
  };
  return { informer, reported, faults, [Symbol.asyncDispose]: close };
}

/** Names and versions, for comparison. */
export function stateOf(objects: readonly Widget[]): string[] {
  return objects.map((object) => `${object.metadata.name} ${object.metadata.resourceVersion}`).sort();
}
