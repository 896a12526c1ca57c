import { channel, keyOf, lowPriority, ResourceClient, type Clock, type Source } from '@agentfleet/kube';
import type { AgentTask } from '@agentfleet/protocol/api';
import type { OperatorContext } from '../../runtime/context.ts';
import { resources } from '../../runtime/resources.ts';
import { usualTrackingLabels } from '../../runtime/tracking.ts';
import { slimTask } from '../../runtime/transforms.ts';
import { careDueMs } from './retention.ts';

interface Due {
  /** Monotonic ms. */
  readonly at: number;
  /** Whether it comes from a decision, which knew of the sandbox too. */
  readonly decided: boolean;
}

/**
 * Tasks that have ended and are in no cache: which of them are to be looked at again, and when. Whatever is lost here is
 * found again: live sandboxes tell of their tasks, and the rest is seen when all tasks that have ended are looked at.
 */
export class Afterlife {
  readonly source: Source;
  readonly #client: ResourceClient<AgentTask>;
  readonly #clock: Clock;
  readonly #due = new Map<string, Due>();

  constructor({ transport, clock, config, caches: { census } }: Pick<OperatorContext, 'transport' | 'clock' | 'config' | 'caches'>) {
    const { trackingLabels = usualTrackingLabels } = config;
    this.#client = new ResourceClient(transport, resources.agentTasks);
    this.#clock = clock;
    const { source, enqueue } = channel('afterlife');
    const seen = (task: AgentTask): void => {
      const afterMs = careDueMs(task, trackingLabels, clock.now());
      if (afterMs === undefined) return;
      const key = keyOf(task);
      if (this.#due.get(key)?.decided !== true) this.#due.set(key, { at: clock.monotonic() + afterMs, decided: false });
      enqueue(key, { priority: lowPriority, afterMs });
    };
    this.source = {
      ...source,
      start: (to) => {
        // Whoever led before may have left something to do: all are looked at now.
        const ends = [source.start(to), census.onSeen(seen), census.follow()];
        return () => {
          for (const end of ends) end();
        };
      },
    };
  }

  /** It is to be looked at in `afterMs`; undefined: never again. */
  note(key: string, afterMs: number | undefined): void {
    if (afterMs === undefined) this.#due.delete(key);
    else this.#due.set(key, { at: this.#clock.monotonic() + afterMs, decided: true });
  }

  /**
   * Ms for which nothing has to be done about a task in no cache; 0: it has to be looked at. `sandboxed`: a sandbox of it is
   * there, which has to go, or has a time to go at.
   */
  restMs(key: string, sandboxed: boolean): number {
    const due = this.#due.get(key);
    if (sandboxed && due?.decided !== true) return 0;
    return due === undefined ? Infinity : Math.max(0, due.at - this.#clock.monotonic());
  }

  /** The task as it is now, when it is there and has ended. One that has not will be in the cache in a moment. */
  async read(key: string, signal: AbortSignal): Promise<AgentTask | undefined> {
    const [namespace = '', name = ''] = key.split('/');
    const task = await this.#client.find({ namespace, name }, { signal });
    return task?.status?.finished === 'true' ? slimTask(task) : undefined;
  }
}
