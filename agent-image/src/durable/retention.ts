import type { Log } from '@agentfleet/kube';
import type { ArtifactStore } from '../store/index.ts';
import { placesOf } from './manifest.ts';

/** Notes that a task of a pool has something in the store, and since when nobody has seen it active. No namespace has such a name. */
const tasksFolder = '.tasks/';

interface Kept {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
}

const noteKey = (pool: string, { namespace, name, uid }: Kept): string => `${tasksFolder}${pool}/${namespace}/${name}/${uid}`;

/** Notes that a task of a pool is active now. Idempotent. @throws StoreFailure */
export async function noteActive(store: ArtifactStore, pool: string, task: Kept, signal: AbortSignal): Promise<void> {
  await store.put(noteKey(pool, task), '', 'application/octet-stream', signal);
}

/** Tasks of a pool that have not ended. */
export interface ActiveTasks {
  /** Uid of the pool: others that store in the same place may be of another cluster, whose tasks this one does not know. */
  readonly pool: string;
  /** Returns the uids of those of a namespace, as of now; undefined: they cannot be listed. */
  readonly list: (namespace: string, signal: AbortSignal) => Promise<ReadonlySet<string> | undefined>;
}

interface RetentionOptions {
  readonly store: ArtifactStore;
  readonly active: ActiveTasks;
  readonly mostSeconds: number;
  readonly log: Log;
  /** Time of the store, ms. */
  readonly now: number;
}

/**
 * Removes all that is kept of tasks of the pool, artifacts and checkpoints, which were last seen active longer ago than the bound of
 * the pool; returns how many there were. A note goes last, so that the next call goes on where this one was cut off.
 */
export async function removeOutlived({ store, active, mostSeconds, log, now }: RetentionOptions, signal: AbortSignal): Promise<number> {
  const prefix = `${tasksFolder}${active.pool}/`;
  const notes = (await store.entries(prefix, signal)).map(({ key, modifiedAt }) => {
    const [namespace = '', name = '', uid = ''] = key.slice(prefix.length).split('/');
    return { key, namespace, name, uid, seenAt: modifiedAt };
  });
  let removed = 0;
  for (const [namespace, tasks] of Map.groupBy(notes, (note) => note.namespace)) {
    const there = await active.list(namespace, signal);
    if (there === undefined) continue;
    for (const { key, seenAt, ...task } of tasks) {
      if (there.has(task.uid)) await noteActive(store, active.pool, task, signal);
      else if (now - seenAt > mostSeconds * 1000) {
        for (const folder of [`${namespace}/${task.name}/${task.uid}/`, placesOf(task).folder])
          await store.remove(await store.list(folder, signal), signal);
        await store.remove([key], signal);
        removed += 1;
        log.info('all that was kept of a task has outlived the bound of its pool', { namespace, task: task.name, uid: task.uid });
      }
    }
  }
  return removed;
}
