import type { Snapshot, WorkerView } from './snapshot.ts';

/** The worker that had the task comes first: it knows it. Else the one with the fewest tasks, by name where they are equal. */
export function leastLoaded(workers: readonly WorkerView[], before: { readonly worker: string } | undefined): WorkerView | undefined {
  const first = workers.find(({ name }) => name === before?.worker);
  return first ?? [...workers].sort((a, b) => a.load - b.load || (a.name < b.name ? -1 : 1))[0];
}

/** The ready worker that takes over what has to be undone; slots do not matter for that. */
export function rescuer({ workers }: Snapshot): WorkerView | undefined {
  return leastLoaded(
    workers.filter(({ ready }) => ready),
    undefined,
  );
}
